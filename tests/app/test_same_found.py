"""Whatever is asked, the index beside the database and its full-text tables find the same pages, and say the same."""

# ruff: noqa: RUF001 letters that look like others are what is tried here

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.adapter.indexing import index_pages
from windrow.collections.pages.adapter.search import Search
from windrow.query.word import pieces, readable
from windrow.stores.databases import connect
from windrow.stores.index.fulltext_index import there

NOW = 1_750_000_000
LUMP = "abcdef0123456789" * 5  # 80 characters
PAGES = [
    Page("https://tea.example/", "Welcome. Shop. Prices.", "Tea House", indexiness=80),
    Page(
        "https://tea.example/green-tea/h%C3%A4lfte", "A cup of green leaves. The café's open.", "Green tea", code="c()"
    ),
    Page("https://tea.example:8443/admin", "Behind the port stands a teapot.", "Port"),
    Page("http://tea.example/plain", "Over http alone, a cup.", "Plain", canonical="https://tea.example/"),
    Page("https://xn--bcher-kva.example/a?q=b%20c", "Bücher für Straße und Weiß", "Bücherei", language="de-AT"),
    Page("https://sub.xn--bcher-kva.example/", "Noch ein Buch, STRASSE", "Zweig", language="de"),
    Page("https://tr.example/", "İstanbul ve IĞDIR, ısırgan ile Işık", "DİYARBAKIR", language="tr"),
    Page("https://ar.example/", "مُحَمَّد يقرأ الـكتاب في المدرسة أحمد", "العربيّة", language="ar"),
    Page("https://he.example/", "שָׁלוֹם עולם", language="he"),
    Page("https://hi.example/", "हिन्दी में लिखा हुआ पाठ", "हिन्दी", language="hi"),
    Page("https://jp.example/", "東京都の天気は晴れ。ガラス", "天気予報", language="ja"),
    Page("https://th.example/", "ภาษาไทย กุ้ง", "ไทย", language="th"),
    Page("https://ko.example/", "한국어 서울 날씨", "한국", language="ko"),
    Page("https://new.example/", "𞤀𞤣𞤤𞤢𞤥 ⵜⵉⴼⵉⵏⴰⵖ 𠮷野家 ½ x² ﬁne ＡＢＣ", "Ⅳ"),
    Page("https://lump.example/", f"A lump {LUMP} and {LUMP}more here", "Lump"),
    Page("https://cpp.example/", "C++ and C# beside .NET; tea c", "C++"),
    Page("https://docs.example/queue", "class asyncio.Queue has put_nowait(item) and get", "Queues", code="put_nowait"),
    Page("https://linker.example/", "ld: cannot find -lssl: No such file", "Linker error"),
    Page("https://gtk.example/", "cannot find lgtk", "Other", headline="A headline of its own", big="Big head\nSmall"),
    Page("https://copy.example/one", "One text on two sites, about zebras.", "Zebra one"),
    Page("https://mirror.example/two", "One text on two sites, about zebras.", "Zebra two", description="striped"),
    Page("https://mirror.example/three", "One text on two sites, about zebras.", "Zebra three", duplicate=True),
    Page("https://empty.example/", "", "A title alone"),
    Page("https://old.example/", "The mayor is Smith.", "Mayor once", first=1_000, last=2_000, end=5_000),
    Page("https://old.example/", "The mayor is Jones.", "Mayor now", first=5_000, last=9_000),
    Page("https://back.example/", "The mayor is Smith.", "Other mayor", first=6_000, last=9_000),
    Page(
        "https://links.example/",
        "A list.",
        links=(("https://hidden.example/x", "the quiet HÂRBOUR"), ("https://tr.example/", "İstanbul")),
        secondary="menu imprint",
    ),
    Page("https://hidden.example/x", "Nothing here says what it is.", quote="to be or not"),
    *(Page(f"https://many.example/{n}", f"he{n:03}x harvest", f"Harvester {n}") for n in range(90)),
]
TEXTS = {one.url.partition("://")[2]: one.text or one.url for one in PAGES}
QUERIES = {
    "a word": "cafe",
    "a word with an accent": "CAFÉ",
    "a name of others": "quiet harbour",
    "a word of an address": "admin",
    "a title of another page with that text": "striped zebras",
    "a title without text": '"title alone"',
    "a linker's error": "cannot find -lssl",
    "a linker's error with a label": "ld: cannot find -lssl",
    "a long word": LUMP,
    "a longer word": LUMP + "more",
    "another long word": "z" * 64,
    "a long beginning": LUMP[:70] + "*",
    "an emoji": "😀",
    "signs": "+++ !!!",
    "signs beside a filter": "😀 site:tea.example",
    "nothing": "   ",
    "a beginning of one letter": "h*",
    "a long list of beginnings": "he*",
    "a beginning behind a word": '"harvester" title:"harvester 1*"',
    "a beginning of a title": "title:te*",
    "a beginning of a headline": "headline:hea*",
    "without C++": "tea -c++",
    "with C++": "c++",
    "a name with dots": "asyncio.Queue.put_nowait",
    "a name with colons": "asyncio::Queue tea",
    "an address": "inurl:green",
    "the middle of a word of an address": "inurl:ree",
    "an escaped address": "inurl:h%C3%A4lfte",
    "a beginning in an address": "inurl:adm*",
    "a site": "site:tea.example",
    "a site with a port": "site:tea.example:8443",
    "a site with its usual port": "site:tea.example:443",
    "a site as an address": "site:http://tea.example/",
    "a site in its own letters": "site:bücher.example",
    "a site in escapes": "site:b%C3%BCcher.example",
    "a host in its own letters": "host:BÜCHER.example",
    "a host with a port": "host:tea.example:8443",
    "ends of hosts": "host:.example host:t.",
    "an address as such": "url:tea.example/green-tea/h%c3%a4lfte",
    "an address in its own letters": "url:https://bücher.example/a?q=b%20c",
    "an address with a port": "url:tea.example:8443/admin",
    "links to a site": "links-to:hidden.example:443",
    "links to a page": "links-to:https://hidden.example/%78",
    "the text of a link": "link-text:harbour",
    "the text of a Turkish link": "link-text:istanbul",
    "the beginning of a text of a link": 'link-text:"quiet harb*"',
    "Turkish": "istanbul",
    "Turkish without a dot": "ISIRGAN",
    "Turkish with a dot": "diyarbakır",
    "Arabic": "محمد",
    "Arabic with vowels": "الكتابُ",
    "Arabic with hamza": "احمد",
    "Hebrew": "שלום",
    "Hindi": "हिन्दी",
    "a part of Hindi": "हिन",
    "Japanese": "天気",
    "voiced Japanese": "カラス",
    "Thai": "กุ้ง",
    "Korean": "서울",
    "other Korean": "소울",
    "German": "strasse",
    "young letters": "𞤀𞤣𞤤𞤢𞤥",
    "the beginning of young letters": "ⵜⵉⴼ*",
    "ligatures": "fine ABC x2",
    "other times": "mayor as-of:1970-01-01T00:30",
    "a title of other times": "once as-of:1970-01-01T00:30",
    "seen": "mayor seen:1970",
    "some of many": "zebras patience unheardof cup",
    "either": "teapot OR (harbour -list)",
    "neither": "-(tea OR harvest) lang:de",
    "copies": "is:duplicate zebras",
    "words across lines": 'headline:"head small"',
    "words across names": '"harbour istanbul"',
    "the word any": "any",
    "rest of a page": "imprint",
    "quotes": "quote:be -title:x",
    "code": "code:put_nowait",
}
ENDS = {
    "a linker's error": {"linker.example/"},
    "a long word": {"lump.example/"},
    "another long word": set(),
    "an emoji": set(),
    "signs": set(),
    "without C++": {url for url in TEXTS if url.startswith("tea.example")},
    "a name with dots": {"docs.example/queue"},
    "a site with a port": {"tea.example:8443/admin"},
    "a site in its own letters": {"xn--bcher-kva.example/a?q=b%20c", "sub.xn--bcher-kva.example/"},
    "an address as such": {"tea.example/green-tea/h%C3%A4lfte"},
    "an address in its own letters": {"xn--bcher-kva.example/a?q=b%20c"},
    "an escaped address": {"tea.example/green-tea/h%C3%A4lfte"},
    "the middle of a word of an address": set(),
    "the text of a link": {"links.example/"},
    "Turkish": {"tr.example/"},
    "Turkish without a dot": {"tr.example/"},
    "Arabic": {"ar.example/"},
    "Arabic with vowels": {"ar.example/"},
    "Hebrew": {"he.example/"},
    "Hindi": {"hi.example/"},
    "a part of Hindi": set(),
    "voiced Japanese": set(),
    "other Korean": set(),
    "German": {"xn--bcher-kva.example/a?q=b%20c", "sub.xn--bcher-kva.example/"},
    "young letters": {"new.example/"},
    "a title of other times": {"old.example/"},
    "words across lines": {"gtk.example/"},
}
TOLD = {
    "a linker's error": "'-lssl' excludes nothing here",
    "a long word": "the first 64 characters",
    "an emoji": "'😀'",
    "signs": "'+++', '!!!'",
    "with C++": "'c++' as 'c'",
    "a name with dots": "searched for one by one",
}

pytestmark = pytest.mark.skipif(not there(), reason="the extra 'search' is not installed")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Search, Search]]:
    folder = tmp_path_factory.mktemp("same")
    with closing(sqlite3.connect(folder / "summary.sqlite")) as link, link:
        link.executescript(schema())
        fill(link, PAGES)
    link.close()
    engine = connect(f"sqlite:///{folder / 'summary.sqlite'}", durable=False)
    index_pages(engine, folder / "index")
    with closing(Search(engine, folder / "index")) as beside, closing(Search(engine)) as tables:
        yield beside, tables
    engine.dispose()


def told(search: Search, text: str) -> tuple[set[str], bool, tuple[str, ...]]:
    """Return the texts found (which of two pages with one text is shown is a matter of their order), and what is said."""
    answer = search(text, now=NOW, limit=200)
    found = {TEXTS[one.url.partition("://")[2]] for one in answer.results}
    return found, answer.relaxed, answer.notes


@pytest.mark.parametrize("name", QUERIES)
def test_both_indexes_find_the_same(both: tuple[Search, Search], name: str) -> None:
    beside, tables = (told(one, QUERIES[name]) for one in both)
    assert beside == tables
    if name in ENDS:
        assert beside[0] == {TEXTS[url] for url in ENDS[name]}
    if name in TOLD:
        assert TOLD[name] in " ".join(beside[2])


_WORDS = st.sampled_from(sorted({word for page in PAGES for word in f"{page.text} {page.title}".split()}))
_TYPED = st.one_of(
    st.text(),
    st.lists(
        st.one_of(
            _WORDS,
            _WORDS.map(lambda word: word[:2] + "*"),
            _WORDS.map(str.swapcase),
            _WORDS.map(lambda word: unicodedata.normalize("NFD", word)),
            st.sampled_from(
                (*QUERIES.values(), "OR", "-", "(", ")", '"', "title:", "inurl:", "link-text:", "-title:", "*")
            ),
        ),
        max_size=6,
    ).flatmap(lambda some: st.sampled_from((" ".join(some), "".join(some)))),
)


@settings(max_examples=150)
@given(_TYPED)
def test_any_text_finds_the_same_on_both_indexes(both: tuple[Search, Search], text: str) -> None:
    beside, tables = (told(one, text) for one in both)
    assert beside == tables


def test_both_indexes_make_the_same_words_of_every_letter() -> None:
    import tantivy  # noqa: PLC0415 the extra need not be there

    cutter = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()
    codes = [code for code in (*range(0x3100), *range(0x3100, 0x110000, 199)) if not 0xD800 <= code < 0xE000]
    texts = {code + 1: f"a{chr(code)}b {chr(code)}" for code in codes}
    with closing(sqlite3.connect(":memory:")) as link:
        link.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'unicode61 remove_diacritics 2')")
        link.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance')")
        link.executemany(
            "INSERT INTO t (rowid, x) VALUES (?, ?)", ((number, readable(text)) for number, text in texts.items())
        )
        found: dict[int, list[tuple[int, str]]] = {}
        for word, document, place in link.execute("SELECT term, doc, offset FROM v"):
            found.setdefault(document, []).append((place, word))
    for document, text in texts.items():
        expected = cutter.analyze(" ".join(pieces(text)))
        # SQLite knows no small letters of Cherokee, which are folded to its capitals; both are one letter for it
        assert [word.lower() for _, word in sorted(found.get(document, []))] == expected, text
