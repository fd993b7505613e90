"""HTML to Markdown: every rule of the news standard, and further constructs, one by one."""

import gzip
import re
import unicodedata
from itertools import product

import pytest
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from tests.cpu import cpu_seconds
from windrow.content import clutter
from windrow.content.article import read_article
from windrow.content.markdown import html_to_markdown

BASE = "https://news.example/2025/11/"

SENTENCE = "The mayor, who has opposed the plan for two years, told the meeting that no tender was made."
PASSAGE = f"<p>{SENTENCE}</p>" * 3
PASSAGE_TEXT = "\n\n".join([SENTENCE] * 3)

CASES = {
    # the rules of the standard
    "<h1>A</h1><h2>B</h2>": "# A\n\n## B",
    '<p>a <a href="https://e.example/x">link</a></p>': "a [link](https://e.example/x)",
    "<p>one</p><p>two</p>": "one\n\ntwo",
    "<strong>a</strong> and <b>b</b>": "**a** and **b**",
    "<em>a</em> and <i>b</i>": "*a* and *b*",
    "a &lt; b &amp; c&nbsp;d &#8217;": "a < b & c d \u2019",
    # escapes, decoded once
    "<p>&lt;script&gt;x&lt;/script&gt; &amp;lt;</p>": "\\<script>x\\</script> \\&lt;",
    "<p>2 * 3 snake_case _a_ [sic] f[0](x)</p>": "2 \\* 3 snake_case \\_a\\_ [sic] f[0\\](x)",
    "<p># no headline</p><p>- none<br>1. none</p><p>2025. A year</p>": (
        "\\# no headline\n\n\\- none  \n1\\. none\n\n2025\\. A year"
    ),
    "<script>x()</script><style>p{}</style><!-- c --><p>a</p><noscript>b</noscript>": "a\n\nb",
    # the line
    "<p><b>bold </b>text<b> more</b></p>": "**bold** text **more**",
    "<p><b>a</b><b>b</b> <strong><b>c</b></strong></p>": "**ab** **c**",
    "<p>x<em>,</em> y<b></b></p>": "x, y",
    "<p><b>Note:</b>text <b>Yes!?</b><i>no.</i>x <b>a</b>: <b>[b]</b>c</p>": (
        "**Note**:text **Yes**!?*no*.x **a**: **[b**\\]c"
    ),
    "<p><b>a<p>b</b> c": "**a**\n\n**b** c",
    "<p>a<br>b<br><br>c</p>": "a  \nb\n\nc",
    "<p>H<sub>2</sub>O, x<sup>2</sup>, 1<sup>st</sup></p>": "H\u2082O, x\u00b2, 1st",
    "<p><del>old</del> <ins>new</ins> <q>said</q> <u>u</u> <mark>m</mark></p>": "~~old~~ new \u201csaid\u201d u m",
    "<p>use <code>a_b`c</code> and <kbd>Ctrl</kbd></p>": "use ``a_b`c`` and `Ctrl`",
    "<p>so\u00adft ze\u200bro e\u0301</p>": "soft zero \u00e9",
    # links and images
    '<a href="/a b(1)">x</a> <a href="#n">n</a> <a href="javascript:y()">y</a>': (
        "[x](https://news.example/a%20b%281%29) [n](https://news.example/2025/11/#n) y"
    ),
    '<p>so!<a href="/x" title="t">l</a> <a href="https://e.example/">https://e.example/</a></p>': (
        'so\\![l](https://news.example/x "t") <https://e.example/>'
    ),
    '<a href="/x"><h2>Head</h2><p>text</p></a>': "## [Head](https://news.example/x)\n\n[text](https://news.example/x)",
    '<img src="p.jpg" alt="a [b]" title="t"> <img src="data:image/gif;base64,x" data-src="/l.jpg" alt="">': (
        '![a \\[b\\]](https://news.example/2025/11/p.jpg "t") ![](https://news.example/l.jpg)'
    ),
    '<p><img src="data:image/gif;base64,x" data-unknown="/l.jpg" alt="w"><img alt="w"> <a name="n">a</a> <a href="">b</a>': (
        "a b"
    ),
    '<img src="data:," data-orig-file="/o.jpg" alt="">': "![](https://news.example/o.jpg)",
    '<video><source src="/f.webm"><source src="/f.mp4"></video><video></video><picture><source srcset="/p"></picture>': (
        "[news.example](https://news.example/f.webm)"
    ),
    '<img src="/p.jpg" alt="A &amp;amp; B *c*">': "![A \\&amp; B \\*c\\*](https://news.example/p.jpg)",
    '<p>a<img src="/dot.gif" width="1" height="1"></p>': "a",
    "<figure><img src=/p.jpg alt=p><figcaption>By <b>Ann</b></figcaption></figure>": (
        "![p](https://news.example/p.jpg)\n\n*By **Ann***"
    ),
    '<iframe src="https://www.youtube.com/embed/x" title="A film"></iframe>': (
        "[A film](https://www.youtube.com/embed/x)"
    ),
    # lists
    "<ul><li>a<ul><li>b<ol><li>c<li>d</ol></ul><li>e</ul>": "- a\n  - b\n    1. c\n    2. d\n- e",
    "<ul><li>a</li><ul><li>b</li></ul></ul>": "- a\n  - b",
    '<ol start="3"><li>a<li>b</ol>': "3. a\n4. b",
    "<ol><li value=7>a<li>b</ol>": "7. a\n8. b",
    "<ol reversed><li>a<p>b</p><li>c</ol>": "- 2\\. a\n\n  b\n\n- 1\\. c",
    "<ol start=5 reversed><li>a<li>b</ol>": "- 5\\. a\n- 4\\. b",
    "<ol><li>a<li value=9>b<li><pre>c</pre></ol>": "- 1\\. a\n\n- 9\\. b\n\n- 10\\.\n\n  ```\n  c\n  ```",
    "<ol start=-1><li>a<li>b</ol>": "- -1\\. a\n- 0\\. b",
    "<ul><li><p>a<p>b<li>c</ul>": "- a\n\n  b\n\n- c",
    "<ul><li>a</ul><ul><li>b</ul>": "- a\n\n* b",
    "<ul><li><input type=checkbox checked>done<li><input type=checkbox>not</ul>": "- [x] done\n- [ ] not",
    "<dl><dt>T<dd>D</dl>": "**T**\n\nD",
    # quotations, code, rules
    "<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>": "> a\n>\n> b\n>\n> > c",
    '<pre><code class="language-py">def f():\n    return `x` &lt; 1\n</code></pre>': (
        "```py\ndef f():\n    return `x` < 1\n```"
    ),
    "<pre>a ``` b</pre>": "````\na ``` b\n````",
    "<ol><li>a<pre>x\n\ny</pre></ol>": "1. a\n\n   ```\n   x\n\n   y\n   ```",
    "a<hr>b": "a\n\n---\n\nb",
    # tables
    "<table><tr><th>A<th align=right>B<tr><td>1|2<td>x<br>y</table>": "| A | B |\n| --- | --: |\n| 1\\|2 | x y |",
    "<table><caption>C</caption><tr><td rowspan=2>a<td>b<tr><td>c<tr><td colspan=2>d</table>": (
        "*C*\n\n|  |  |\n| --- | --- |\n| a | b |\n|  | c |\n| d |  |"
    ),
    "<table><tr><td><h2>A</h2><ul><li>b</ul><td>c</table>": "## A\n\n- b\n\nc",
    "<table><tr><td>a<td><table><tr><td>b<td>c</table></table>": "a\n\n|  |  |\n| --- | --- |\n| b | c |",
    # not part of the text
    '<p>a</p><div class="related-posts"><a href=/x>Other</a></div><form><input><button>Go</button></form>': "a",
    '<p>a</p><div class="sharedaddy sd-sharing-enabled">Share</div><figure class="inline-editorial-x">r</figure>': "a",
    '<aside class="tncms-inline-relcontent"><h4>More</h4></aside><p>b</p><nav><a href=/>Home</a></nav>': "b",
    # text that only looks like clutter
    "<p>a</p><form><div><p>A paragraph of the article.</p></div></form><form><p>b</p><button>Vote</button></form>": (
        "a\n\nA paragraph of the article.\n\nb"
    ),
    f"<form id=aspnetForm><input type=hidden><input type=text>{PASSAGE}</form>": PASSAGE_TEXT,
    f"<form><p>{SENTENCE}</p><input type=radio><label>Yes</label></form>": f"{SENTENCE}\n\nYes",
    "<form><p>Poll</p><input type=radio><label>Yes</label></form><form><p>Your name</p><input></form>": "",
    f"<form><p>{SENTENCE}</p><input type=email></form>": "",
    f'<div class="related-content"><h2>Related content</h2><p>{SENTENCE}</p></div>': f"## Related content\n\n{SENTENCE}",
    f'<div class="related-posts"><p>{SENTENCE} <a href=/x>Read</a></p></div><div class="related-links">Two words</div>': "",
    "<nav><p>In this article text</p></nav><nav>In: <a href=/a>Section one</a> <a href=/b>Section two</a></nav>": (
        "In this article text"
    ),
    "<dialog open><p>shown</p></dialog><dialog><p>not shown</p></dialog>": "shown",
    f"<div hidden>{PASSAGE}<p hidden>b</p></div><p hidden>c</p><p hidden=until-found>d</p>": f"{PASSAGE_TEXT}\n\nb\n\nd",
    f"<div hidden><script>{PASSAGE_TEXT}</script></div>": "",
    '<h2 id="social-benefits">Social benefits</h2><aside>A note.</aside>': "## Social benefits\n\nA note.",
}


@pytest.mark.parametrize("html", CASES)
def test_each_construct_is_written_as_markdown_has_it(html):
    assert html_to_markdown(html, BASE) == CASES[html]


@pytest.mark.parametrize("html", [
    "", "<", "<p", "<table><tr><td>", "</li></ul></table>x", "<li>a", "<td>x</td>", "<b>" * 3000 + "x", "\x00\x01a",
    "<blockquote>" * 400 + "deep", "<ul><li>" * 400 + "deep", "<table><tr><td>" * 60 + "deep", "<a href='//['>x</a>",
    "<pre>" * 50 + "x", "<svg><a href=x>y</a></svg>", "<math><mi>x</mi></math>", "<td rowspan=9999999 colspan=0>y",
    "\ud800", "<ol start=99999999999><li>x</ol>", "<a href='https://[::1'>z</a>", "<img src='//\t'>",
])  # fmt: skip
def test_any_html_becomes_some_markdown(html):
    assert isinstance(html_to_markdown(html, BASE), str)


@pytest.mark.parametrize(("element", "test"), [
    ("<div class=related>", "_is_mostly_links"), ("<div class=related-posts>", "_lists_other_articles"),
    ("<div id=taboola>", "_is_short"), ("<nav>", "_has_content"), ("<form><div></form>", "_has_content"),
])  # fmt: skip
def test_of_nested_elements_that_are_kept_only_the_outermost_are_examined(monkeypatch, element, test):
    examined = []
    examine = getattr(clutter, test)
    monkeypatch.setattr(clutter, test, lambda node: examined.append(node) or examine(node))
    text = "word " * 1_500
    assert html_to_markdown(element * 300 + text) == text.strip()
    assert len(examined) < 20


def test_time_grows_with_the_size_alone():
    def seconds(times):
        html = "<ul><li><p>a <b>b</b> [x](y) <a href=/z>z</a><blockquote>q</blockquote>" * times
        return cpu_seconds(lambda: html_to_markdown(html, BASE))

    small = max(seconds(500), 0.01)
    assert seconds(4000) < 40 * small


def spaceless(text):
    kept = re.sub("[\u00ad\u200b\u2060\ufeff\x00-\x20\x7f\u2007\u202f\u201c\u201d]", "", text)
    return "".join(unicodedata.normalize("NFKC", kept).split())


def test_the_markdown_of_real_pages_is_read_again_as_the_text_that_they_have(shared):
    """Nine in ten are equal; the others have films and buttons, whose labels are not text of the page."""
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    same = []
    for path in sorted((shared / "data/extraction/html").iterdir())[:60]:
        page = read_article(gzip.decompress(path.read_bytes()))
        back = LexborHTMLParser(reader.render(html_to_markdown(page.markup, BASE))).text()
        text = LexborHTMLParser(f"<p>{page.markup}").text()
        same.append(spaceless(back) == spaceless(text))
    assert sum(same) >= 0.8 * len(same)


@pytest.mark.parametrize("before", ["", "x", "彼は", "x ", "(", "€", "5"])
@pytest.mark.parametrize("tag", ["b", "i", "s"])
def test_emphasis_beside_letters_is_recognised_with_the_punctuation_outside(before: str, tag: str) -> None:
    reader = MarkdownIt("commonmark").enable("strikethrough")
    marks = ["", "(", "『", "„", "$", "\u2013", ".", "!", "*", '"', "\u2013 ", "[", "\\"]
    for first, last, after in product(marks, [*marks, ")", "』", "%", " \u2013"], ["", "y", "を", " y", ")", "€"]):
        html = f"<p>{before}<{tag}>{first}tea{last}</{tag}>{after}</p>"
        markdown = html_to_markdown(html)
        shown = LexborHTMLParser(reader.render(markdown)).body
        assert shown is not None
        assert " ".join(shown.text().split()) == " ".join(f"{before}{first}tea{last}{after}".split()), (html, markdown)
        if not {"[", "\\"} & {first, last}:
            assert shown.css_first("strong, em, s"), (html, markdown)


def test_punctuation_that_begins_emphasis_after_a_letter_is_before_it() -> None:
    assert html_to_markdown("<p>彼は<strong>『本』</strong>を読む") == "彼は『**本**』を読む"
    assert html_to_markdown("<p>a<b><code>b</code></b>c") == "a`b`c"
    assert html_to_markdown("<p>see <b><a href=http://a.b/>tea</a>.</b>Then") == "see **[tea](http://a.b/)**.Then"
