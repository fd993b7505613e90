"""A page as a flat list: boxes, blocks, anchors."""

from __future__ import annotations

import pytest

from windrow.content.markup import find_meaning
from windrow.content.outline import Outline, PageLocation, hides
from windrow.content.page import read_page
from windrow.content.tree import find_unseen_blocks


def outline(html: str) -> Outline:
    return read_page(html.encode()).outline


def test_blocks_end_where_boxes_do() -> None:
    page = outline("a <p>one <b>t</b>wo<div>three</div> four<ul><li>five<li>six</ul>seven")
    assert page.blocks.text == ["a", "one two", "three", "four", "five", "six", "seven"]


def test_a_line_break_stays_within_its_block() -> None:
    assert outline("<p>one<br>two<br><br> three").blocks.text == ["one\ntwo\nthree"]


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>from <a href=/v>Vinci</a>, which", "from Vinci, which"),
        ("<p>old <a href=/c>canal</a>s of <span class=x>Venice</span>.", "old canals of Venice."),
        ("<p>(<a href=/a>see</a> <span>b</span>)", "(see b)"),
        ("<p>on <time datetime=2024-01-02>2 Jan</time>, at noon", "on 2 Jan, at noon"),
        ("<p><span>some te</span><span>xt</span>", "some text"),
        ("<p><span class=drop>C</span><span class=rest>innamon</span>", "Cinnamon"),
        ("<p>one<img src=x>two", "one two"),
        ("<p><b>B</b>old", "Bold"),
        ("<p>go <a href=/a>there</a><a href=/b>and here</a><a href=/c>.</a>", "go there and here."),
        ("<p><span class=name>Jane Doe</span><span class=role>Editor</span>", "Jane Doe Editor"),
        ("<p><span class=a>9</span><span class=b>EUR</span>", "9 EUR"),
    ],
)
def test_spaces_stand_only_where_they_are_shown(html: str, shown: str) -> None:
    assert outline(html).blocks.text == [shown]


def test_soft_hyphens_are_not_seen_and_letters_are_composed() -> None:
    page = outline("<p>Donau&shy;dampf\xadschiff cafe\u0301 <a href='/e\u0301'>re\u0301sume\u0301</a>")
    assert page.blocks.text == ["Donaudampfschiff café résumé"]
    assert (page.anchors[0].text, page.anchors[0].href) == ("résumé", "/e\u0301")


def test_readings_of_ruby_do_not_tear_words_apart() -> None:
    assert outline("<p><ruby>漢<rp>(</rp><rt>かん</rt>字<rt>じ</rt></ruby>だ").blocks.text == ["漢字だ"]


def test_mathematics_and_unknown_elements_stay_in_their_paragraph() -> None:
    math = "<math><semantics><mrow><mi>x</mi><mo>+</mo><mn>1</mn></mrow><annotation>x+1</annotation></semantics></math>"
    page = outline(
        f"<p>let {math} be <blink>odd</blink> and <x-term>named</x-term>. <p>next<x-card><p>own</p></x-card>"
    )
    assert page.blocks.text == ["let x+1 be odd and named.", "next", "own"]


def test_words_of_scripts_without_spaces_are_counted_by_their_length() -> None:
    blocks = outline("<p>我们今天在公园里散步、天气非常好。<p>ฉันชอบกินข้าวกับเพื่อน<p>café au lait").blocks
    assert blocks.words[0] > 5
    assert blocks.words[1] > 3
    assert blocks.words[2] == 3


def test_signs_that_point_at_a_headline_are_not_part_of_it() -> None:
    page = outline(
        "<h2>Tea<a class=headerlink href='#tea'>¶</a></h2><h3>Cups<span class=mw-editsection>[<a href=/e title='Edit'>"
        "edit</a>]</span></h3><p>see <a href='#n'>†</a>"
    )
    assert page.blocks.text == ["Tea", "Cups", "see †"]
    assert [each.href for each in page.anchors] == ["#tea", "/e", "#n"]


@pytest.mark.parametrize(
    ("style", "hidden"),
    [
        ("display:none", True),
        (" DISPLAY : None !important ; color: red", True),
        ("color:red;display:none!important", True),
        ("display: block; display: none", True),
        ("display: none; display: block", False),
        ("--display: none", False),
        ("-x-display:none", False),
        ("background: url(display:none.png)", False),
        ("display: none-such", False),
        ("", False),
    ],
)
def test_a_style_hides_by_its_declaration_of_display_alone(style: str, hidden: bool) -> None:
    assert hides(style.encode()) is hidden
    page = outline(f"<p>shown</p><div style='{style}'>perhaps</div>")
    assert ("perhaps" in [page.blocks.text[at] for at in find_unseen_blocks(page)]) is hidden


def test_what_is_hidden_in_the_line_is_no_text_and_its_links_stay() -> None:
    page = outline("<p>shown<span hidden>no <a href=/a>x</a></span> and<b style='display: none'>no</b> on")
    assert page.blocks.text == ["shown and on"]
    assert [each.href for each in page.anchors] == ["/a"]


def test_links_in_a_drawing_are_links() -> None:
    page = outline("<p>a<svg><a xlink:href=/x><text>Go  there</text></a></svg>b")
    assert [(each.href, each.text) for each in page.anchors] == [("/x", "Go there")]


def test_pre_keeps_its_lines_and_indents() -> None:
    page = outline("<pre>def f():\n    return 1  \n\n</pre>")
    assert page.blocks.text == ["def f():\n    return 1"]


def test_what_shows_nothing_is_no_text() -> None:
    page = outline(
        "<style>a{}</style><script>b</script><template>c</template><svg><title>d</title></svg><!-- e -->"
        "<title>g</title><p>f<i popover>h</i>"
    )
    assert page.blocks.text == ["f"]


def test_text_in_a_drawing_and_in_a_frame_of_the_page_itself_is_read() -> None:
    page = outline(
        "<p>a<svg><title>t</title><defs><text>no</text></defs><text>Budget<tspan>2026</tspan></text>"
        "<g><text>Parks</text></g></svg>b<svg><foreignObject><script>no</script><p>Hall <a href=/h>A</a>"
        "<iframe srcdoc='&lt;p>Deep'></iframe></foreignObject></svg>"
        '<iframe src=/x srcdoc="<title>no</title><p>One &amp;amp; two <a href=/i>in</a><style>no</style>'
        "<iframe srcdoc='&lt;b>three'></iframe>\">no</iframe><p>c"
    )
    assert page.blocks.text == ["a Budget 2026 Parks b", "Hall A", "Deep", "One & two in", "three", "c"]
    assert [each.href for each in page.anchors] == ["/h", "/x", "/i"]


def test_words_in_links_are_counted() -> None:
    blocks = outline("<p>see <a href=/a>this and that</a> now").blocks
    assert (blocks.words, blocks.linked, blocks.links) == ([5], [3], [1])


def test_code_and_quotations_in_the_line() -> None:
    blocks = outline("<p>no<p>use <code>x = 1</code> and <q>so it was</q>").blocks
    assert (blocks.code, blocks.quote) == ({1: ["x = 1"]}, {1: ["so it was"]})


def test_code_that_holds_boxes_marks_them() -> None:
    page = outline("<code><div>a</div><code>b</code></code>")
    assert [bool(page.boxes.locations[box] & PageLocation.CODE) for box in page.blocks.box] == [True, False]
    assert page.blocks.code == {1: ["b"]}


def test_an_anchor_knows_where_it_lies_and_what_lies_in_it() -> None:
    page = outline(
        "<nav><ul><li><a href=/a rel='x nofollow'> A  b </a></ul></nav><main><a href=b><h2>H</h2>t</a></main>"
    )
    first, second = page.anchors
    assert (first.tag, first.href, first.rel, first.text, first.headline) == ("a", "/a", "x nofollow", "A b", False)
    assert PageLocation(first.locations) == PageLocation.NAV | PageLocation.LIST | PageLocation.ITEM
    assert (second.text, second.headline, PageLocation(second.locations)) == ("H t", True, PageLocation.MAIN)


def test_a_link_without_text_takes_its_label_or_its_picture() -> None:
    page = outline("<a href=1><img src=x alt='A  cat'></a><a href=2 aria-label=Menu><i></i></a><a href=3></a>")
    assert [each.text for each in page.anchors if each.tag == "a"] == ["A cat", "Menu", ""]


def test_paths_and_kinds_tell_equal_boxes() -> None:
    boxes = outline("<div class=a><p>1<p>2<p class=b>3</div><div class=c><p>4</div>").boxes
    paths = [path for path, tag in zip(boxes.path, boxes.tag, strict=True) if tag == "p"]
    assert paths[0] == paths[1]
    assert len(set(paths)) == 3


def test_boxes_nested_too_deep_are_none() -> None:
    page = outline("<div>" * 300 + "deep" + "</div>" * 300 + "<p>flat")
    assert max(page.boxes.depth) == 200
    assert page.blocks.text == ["deep", "flat"]


def test_comments_hold_no_tags() -> None:
    assert outline("<p>a<!-- <p>b</p> > --> c<!-- d --><!----> e").blocks.text == ["a c e"]


def test_raw_text_is_not_taken_for_tags() -> None:
    page = outline("<p>a<iframe src=/x><p>b</p></iframe>c<xmp><b>&amp;</xmp>d")
    assert page.blocks.text == ["a c", "<b>&amp;", "d"]
    assert [each.href for each in page.anchors] == ["/x"]


def test_signs_in_attributes_and_texts_are_no_tags() -> None:
    page = outline("<a href='/?a=1&amp;b=<c>' title='x>\"y\"'></a><p>1 &lt; 2 &amp;lt; 3&nbsp;&gt;<p class=a\">4")
    assert page.blocks.text == ["1 < 2 &lt; 3 >", "4"]
    assert (page.anchors[0].href, page.anchors[0].text) == ("/?a=1&b=<c>", 'x>"y"')


def test_broken_tags_are_read_as_browsers_do() -> None:
    assert outline('<div <p>a</div><div<b>c</div>d<p "x"">e').blocks.text == ["a", "cd", "e"]


def test_highlighted_code_is_not_torn_apart() -> None:
    page = outline("<pre><code><span>a</span><span>.b</span>\n  <span>c</span></code></pre><p><span>d</span><span>e")
    assert page.blocks.text == ["a.b\n  c", "de"]


def test_boxes_tell_which_blocks_they_hold_and_those_without_text_are_none() -> None:
    boxes = outline("<ul><li>1<li><p>2<p></ul><div><img></div><p>3").boxes
    assert (boxes.tag, boxes.first, boxes.stop) == (
        ["body", "ul", "li", "li", "p", "p"],
        [0, 0, 0, 1, 1, 2],
        [3, 2, 1, 2, 2, 3],
    )


def test_a_page_without_anything() -> None:
    assert outline("").blocks.text == []


def test_what_a_tag_means_is_worked_out_once() -> None:
    assert find_meaning(b'div class="once"') is find_meaning(b'div class="once"')
