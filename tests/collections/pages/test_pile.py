"""The text pile: six texts and their digest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.collections.pages.reading import read_html_page
from windrow.collections.pages.reading.document import Pile, make_pile
from windrow.content.page import read_page

EMPTY = (
    "fa68d024060ee4ea36546196df250fc7cce7aad173f1963f093c02de375c4df1"
    "acc46db9d3d89ca1d288eb6088deb3b97f10f8929d7218db4243aa6013623462"
)
HELLO = (
    "c8c9d5dcdc2a7b50e97d2168beaa2f38c733390ee543733d1d34b8143675f3f8"
    "7357d3b09d4ebd6d44bfa6b07b59cb99b3a4bfddb3af7093c08d2e88830c11ac"
)
PAGE = """<header>Site <h1>Brand</h1></header><main><h1>Tea</h1><p>Boil <code>1 l</code> of water.
<h2>Pot<br>and cup</h2><blockquote><p>Warm it.</blockquote><h1>Again</h1><h4>Small</h4><pre>a
  b</pre><p>He said <q>no</q>.</main><footer>End</footer>"""


def read_pile(html: str, start: str = "Tea", end: str = "End") -> Pile:
    outline = read_page(html.encode()).outline
    texts = outline.blocks.text
    first, last = texts.index(start), texts.index(end)
    return make_pile(outline, [first <= at < last for at in range(len(texts))])


def test_hidden_text_is_no_text_so_that_what_changes_in_it_makes_no_version() -> None:
    page = "<main><h1>Tea</h1><p>Hot.{}</main>End"
    hidden = (
        "<div hidden>nonce 1</div><div style='display: none'>secret</div><noscript>Scripts, please</noscript>"
        "<span hidden>x</span>"
    )
    with_hidden, plain = (read_html_page(page.format(each).encode(), "http://a.example/").pile for each in (hidden, ""))
    assert with_hidden == plain
    assert "secret" not in "".join(with_hidden.fields())


def test_hidden_panels_and_answers_that_a_script_shows_are_text() -> None:
    answer = (
        "<dt>{0}?<dd hidden><p>The office in room {0} takes the form on Tuesdays from nine to noon; cash is not taken."
    )
    page = (
        "<main><h1>Office</h1><div role=tabpanel hidden><p>Open from nine to five.</div>"
        f"<dl>{''.join(answer.format(number) for number in (1, 2, 3))}</dl><div class=box hidden><p>Secret.</div></main>"
    )
    text = "".join(read_html_page(page.encode(), "http://a.example/").pile.fields())
    assert [word in text for word in ("nine to five", "room 1", "room 2", "room 3", "Secret")] == [True] * 4 + [False]


def test_the_text_of_a_shadow_tree_is_text_and_that_of_other_templates_is_not() -> None:
    shadow = "<x-tea><template shadowrootmode='open'><style>p{}</style><p>Shown <a href=/a>link</a></template></x-tea>"
    page = f"<main><h1>Tea</h1><p>Hot.</p>{shadow}<template><p>Kept for a script</template></main>"
    document = read_html_page(page.encode(), "http://a.example/")
    assert document.pile.text == "Tea\nHot.\nShown link"
    assert [link.url for link in document.links] == ["http://a.example/a"]


def test_the_cells_of_a_row_stand_in_one_line() -> None:
    texts = read_pile(
        "<main><h1>Tea</h1><table><tr><th>Cup<th>Price<tr><td>one<td>2<tr><td><p>a<p>b<td>c</table></main>End"
    )
    assert texts.text == "Tea\nCup\tPrice\none\t2\na\nb\nc"


def test_the_vectors() -> None:
    assert Pile().digest().hex() == EMPTY
    assert Pile("Hello world", "Menu", "Hello").digest().hex() == HELLO


def test_the_six_texts() -> None:
    assert read_pile(PAGE) == Pile(
        text="Tea\nBoil 1 l of water.\nPot\nand cup\nWarm it.\nAgain\nSmall\na\n  b\nHe said no.",
        secondary_text="Site\nBrand\nEnd",
        big_headlines="Pot and cup\nAgain",
        small_headlines="Small",
        code_text="1 l\na\n  b",
        quote_text="Warm it.\nno",
    )


def test_an_empty_pile_is_false() -> None:
    assert (bool(Pile()), bool(Pile(secondary_text="x"))) == (False, True)


plain = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=5)
six = st.tuples(plain, plain, plain, plain, plain, plain)


@given(six, six)
def test_digests_are_equal_exactly_when_the_texts_are(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert (Pile(*left).digest() == Pile(*right).digest()) == (left == right)


@given(
    st.lists(st.sampled_from(["<p>", "<div>", "a", "b ", "<b>", "</b>", "<h2>", "</h2>", "<li>", "<br>", "é"])).map(
        "".join
    )
)
def test_text_and_secondary_text_are_the_whole_page(html: str) -> None:
    outline = read_page(html.encode()).outline
    chosen = [at % 2 == 0 for at in range(len(outline.blocks.text))]
    texts = make_pile(outline, chosen)
    words = sorted(f"{texts.text}\n{texts.secondary_text}".split())
    assert words == sorted("\n".join(outline.blocks.text).split())
