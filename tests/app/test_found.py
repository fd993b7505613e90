"""The pages found for queries of every kind; an index that grew finds the same as one made at once."""

# ruff: noqa: RUF001 letters that look like others are what is tried here

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.query.word import address_text, index_words

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
TEXTS = {page.url.partition("://")[2]: page.text or page.url for page in PAGES}
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
MANY = {f"many.example/{n}" for n in range(90)}
FOUND: dict[str, set[str]] = {
    "a word": {"tea.example/green-tea/h%C3%A4lfte"},
    "a word with an accent": {"tea.example/green-tea/h%C3%A4lfte"},
    "a name of others": {"hidden.example/x"},
    "a word of an address": {"tea.example:8443/admin"},
    "a title of another page with that text": {"mirror.example/two"},
    "a title without text": {"empty.example/"},
    "a linker's error": {"linker.example/"},
    "a linker's error with a label": {"linker.example/"},
    "a long word": {"lump.example/"},
    "a longer word": {"lump.example/"},
    "another long word": set(),
    "a long beginning": {"lump.example/"},
    "an emoji": set(),
    "signs": set(),
    "signs beside a filter": {
        "tea.example/",
        "tea.example/green-tea/h%C3%A4lfte",
        "tea.example/plain",
        "tea.example:8443/admin",
    },
    "nothing": MANY
    | {
        "ar.example/",
        "back.example/",
        "copy.example/one",
        "cpp.example/",
        "docs.example/queue",
        "empty.example/",
        "gtk.example/",
        "he.example/",
        "hi.example/",
        "hidden.example/x",
        "jp.example/",
        "ko.example/",
        "linker.example/",
        "links.example/",
        "lump.example/",
        "new.example/",
        "old.example/",
        "sub.xn--bcher-kva.example/",
        "tea.example/",
        "tea.example/green-tea/h%C3%A4lfte",
        "tea.example/plain",
        "tea.example:8443/admin",
        "th.example/",
        "tr.example/",
        "xn--bcher-kva.example/a?q=b%20c",
    },
    "a beginning of one letter": MANY
    | {
        "docs.example/queue",
        "gtk.example/",
        "he.example/",
        "hi.example/",
        "hidden.example/x",
        "lump.example/",
        "tea.example/",
        "tea.example/green-tea/h%C3%A4lfte",
        "tea.example/plain",
    },
    "a long list of beginnings": MANY | {"gtk.example/", "he.example/", "hidden.example/x", "lump.example/"},
    "a beginning behind a word": {
        "many.example/1",
        "many.example/10",
        "many.example/11",
        "many.example/12",
        "many.example/13",
        "many.example/14",
        "many.example/15",
        "many.example/16",
        "many.example/17",
        "many.example/18",
        "many.example/19",
    },
    "a beginning of a title": {"tea.example/", "tea.example/green-tea/h%C3%A4lfte"},
    "a beginning of a headline": {"gtk.example/"},
    "without C++": {"tea.example/", "tea.example/green-tea/h%C3%A4lfte", "tea.example/plain", "tea.example:8443/admin"},
    "with C++": {"cpp.example/", "xn--bcher-kva.example/a?q=b%20c"},
    "a name with dots": {"docs.example/queue"},
    "a name with colons": {"docs.example/queue"},
    "an address": {"tea.example/green-tea/h%C3%A4lfte"},
    "the middle of a word of an address": set(),
    "an escaped address": {"tea.example/green-tea/h%C3%A4lfte"},
    "a beginning in an address": {"tea.example:8443/admin"},
    "a site": {"tea.example/", "tea.example/green-tea/h%C3%A4lfte", "tea.example/plain", "tea.example:8443/admin"},
    "a site with a port": {"tea.example:8443/admin"},
    "a site with its usual port": {"tea.example/", "tea.example/green-tea/h%C3%A4lfte"},
    "a site as an address": {
        "tea.example/",
        "tea.example/green-tea/h%C3%A4lfte",
        "tea.example/plain",
        "tea.example:8443/admin",
    },
    "a site in its own letters": {"sub.xn--bcher-kva.example/", "xn--bcher-kva.example/a?q=b%20c"},
    "a site in escapes": {"sub.xn--bcher-kva.example/", "xn--bcher-kva.example/a?q=b%20c"},
    "a host in its own letters": {"xn--bcher-kva.example/a?q=b%20c"},
    "a host with a port": {"tea.example:8443/admin"},
    "ends of hosts": set(),
    "an address as such": {"tea.example/green-tea/h%C3%A4lfte"},
    "an address in its own letters": {"xn--bcher-kva.example/a?q=b%20c"},
    "an address with a port": {"tea.example:8443/admin"},
    "links to a site": {"links.example/"},
    "links to a page": {"links.example/"},
    "the text of a link": {"links.example/"},
    "the text of a Turkish link": {"links.example/"},
    "the beginning of a text of a link": {"links.example/"},
    "Turkish": {"tr.example/"},
    "Turkish without a dot": {"tr.example/"},
    "Turkish with a dot": {"tr.example/"},
    "Arabic": {"ar.example/"},
    "Arabic with vowels": {"ar.example/"},
    "Arabic with hamza": {"ar.example/"},
    "Hebrew": {"he.example/"},
    "Hindi": {"hi.example/"},
    "a part of Hindi": set(),
    "Japanese": {"jp.example/"},
    "voiced Japanese": set(),
    "Thai": {"th.example/"},
    "Korean": {"ko.example/"},
    "other Korean": set(),
    "German": {"sub.xn--bcher-kva.example/", "xn--bcher-kva.example/a?q=b%20c"},
    "young letters": {"new.example/"},
    "the beginning of young letters": {"new.example/"},
    "ligatures": {"new.example/"},
    "other times": {"old.example/"},
    "a title of other times": {"old.example/"},
    "seen": {"back.example/", "old.example/"},
    "some of many": {"copy.example/one", "tea.example/green-tea/h%C3%A4lfte", "tea.example/plain"},
    "either": {"hidden.example/x", "tea.example:8443/admin"},
    "neither": {"sub.xn--bcher-kva.example/", "xn--bcher-kva.example/a?q=b%20c"},
    "copies": {"mirror.example/three"},
    "words across lines": {"gtk.example/"},
    "words across names": set(),
    "the word any": set(),
    "rest of a page": {"links.example/"},
    "quotes": {"hidden.example/x"},
    "code": {"docs.example/queue"},
}
"""The addresses of the pages found, by query."""
RELAXED = {"a name with colons", "some of many"}
NOTES = {
    "a linker's error": "'-lssl' does not exclude a word here",
    "a long word": "the first 64 characters",
    "an emoji": "'😀'",
    "signs": "'+++', '!!!'",
    "with C++": "'c++' is searched for as 'c'",
    "a name with dots": "searched for separately",
    "a linker's error with a label": "'-lssl' does not exclude a word here; -\"lssl\" does",
    "a longer word": "only the first 64 characters of a word are searched for",
    "a long beginning": "only the first 64 characters of a word are searched for",
    "signs beside a filter": "left out, since only letters and digits are searched for: '😀'",
    "without C++": "punctuation is left out: '-c++' is searched for as 'c'",
    "a name with colons": "no page contains a name such as 'a.b' as it was typed, so its words are searched for separately",
}


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Search, Search]]:
    """Yield a search of an index made at once, and one of an index that grew with new and changed pages."""
    folder = tmp_path_factory.mktemp("same")
    path = folder / "summary.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        link.executescript(schema())
        for start in range(0, len(PAGES), 11):
            fill(link, PAGES[start : start + 11])
            link.execute("UPDATE document_description SET title = title || ' as it was' WHERE title IS NOT NULL")
            index_pages(path, folder / "grown")
            link.execute("UPDATE document_description SET title = replace(title, ' as it was', '')")
    index_pages(path, folder / "grown")
    index_pages(path, folder / "index")
    with closing(Search(path, folder / "index")) as whole, closing(Search(path, folder / "grown")) as grown:
        yield whole, grown


def find_texts(search: Search, text: str) -> tuple[set[str], bool, tuple[str, ...]]:
    """Return the texts found (either of two pages with the same text may be shown), whether relaxed, and the notes."""
    answer = search(text, now=NOW, limit=200)
    texts = {TEXTS[result.url.partition("://")[2]] for result in answer.results}
    return texts, answer.relaxed, answer.notes


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_found(searches: tuple[Search, Search], name: str) -> None:
    whole, grown = (find_texts(search, QUERIES[name]) for search in searches)
    assert whole == grown
    results, relaxed, notes = whole
    assert results == {TEXTS[url] for url in FOUND[name]}
    assert relaxed is (name in RELAXED)
    assert bool(notes) is (name in NOTES)
    if name in NOTES:
        assert NOTES[name] in " ".join(notes)


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
    ).flatmap(lambda words: st.sampled_from((" ".join(words), "".join(words)))),
)


@settings(max_examples=150)
@given(_TYPED)
def test_any_text_finds_the_same_in_an_index_that_grew(searches: tuple[Search, Search], text: str) -> None:
    whole, grown = (find_texts(search, text) for search in searches)
    assert whole == grown


LINK_TEXTS = {url.partition("://")[2]: text for page in PAGES for url, text in page.links}


def has_words(page: Page, sought: list[str]) -> bool:
    """Return whether the words follow each other in one of the texts by which a page is found."""
    address = page.url.partition("://")[2]
    texts = (page.text, page.title, page.description, page.headline, page.secondary, page.big, page.small)
    cut = (index_words(text or "") for text in (*texts, address_text(page.url), LINK_TEXTS.get(address)))
    return any(sought == words[at : at + len(sought)] for words in cut for at in range(len(words)))


@example(["three"])
@example(["three", "about"])
@settings(max_examples=150)
@given(st.lists(st.one_of(_WORDS, _WORDS.map(lambda word: word.strip(".,;").upper())), min_size=1, max_size=3))
def test_words_are_found_in_the_pages_that_have_them_all_and_nowhere_else(
    searches: tuple[Search, Search], typed: list[str]
) -> None:
    assume(all(word[0].isalnum() and word not in {"OR", "AND"} and "." not in word[:-1] for word in typed))
    sought = [words for word in typed if (words := index_words(word))]
    assume(sought)
    assume(not any(":" in word or '"' in word for word in typed))
    # A duplicate is found by what is its own, such as its title, and not by the text that it has from another page.
    now = [
        (page.text or page.url, replace(page, text="") if page.duplicate else page)
        for page in PAGES
        if page.end is None
    ]
    expected = {shown for shown, page in now if all(has_words(page, words) for words in sought)}
    results, relaxed, _ = find_texts(searches[0], " ".join(f'"{word}"' for word in typed))  # without other word forms
    assert (results == expected and not relaxed) or (not expected and (relaxed or not results))
