"""The representative of a group of pages with the same text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collections.pages.database.test_near import close, prose
from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.database import near_duplicates as following
from windrow.collections.pages.database.near_duplicates import SECONDS_PER_DAY, update_touched
from windrow.collections.pages.database.writer import schema as made

TEXT = prose(1, 90)
LAST_SEEN = 3 * SECONDS_PER_DAY


class ChangingDatabase:
    """A Summary Database whose pages can be changed; the groups are updated at once."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.executescript(schema() + made("near", "representative"))
        self.connection.execute("CREATE TABLE windrow_touched (generation_id INTEGER PRIMARY KEY)")
        self.at: dict[str, int] = {}

    def close(self) -> None:
        self.connection.close()

    def put(self, *pages: Page, later: bool = False) -> None:
        """Give addresses another text."""
        for page in pages:
            self.drop(page.url, later=True)
            self.at[page.url] = fill(self.connection, [page])[0]
            self.touch(self.at[page.url])
        if not later:
            self.follow()

    def drop(self, url: str, *, later: bool = False) -> None:
        """Mark an address gone."""
        if url in self.at:
            close(self.connection, self.at[url])
            self.touch(self.at.pop(url))
        if not later:
            self.follow()

    def touch(self, number: int) -> None:
        self.connection.execute("INSERT OR IGNORE INTO windrow_touched VALUES (?)", (number,))

    def follow(self, size: int = 1_000) -> None:
        while update_touched(self.connection, size):
            pass
        assert self.connection.execute("SELECT count(*) FROM windrow_touched").fetchone() == (0,)

    def groups(self) -> dict[str, set[str]]:
        """Return the addresses by their representative."""
        name = {number: url for url, number in self.at.items()}
        members: dict[str, set[str]] = {}
        for member, representative in self.connection.execute("SELECT * FROM windrow_representative"):
            members.setdefault(name[representative], set()).add(name[member])
        return members


@pytest.fixture
def database() -> Iterator[ChangingDatabase]:
    with closing(ChangingDatabase()) as opened:
        yield opened


def pages(*urls: str, text: str = TEXT, first: int = 1_000) -> list[Page]:
    return [Page(url, f"{text} {number}", first=first, last=LAST_SEEN) for number, url in enumerate(urls)]


@pytest.mark.parametrize(
    ("best", "others"),
    [
        ("https://b.example/long/path", ["http://a.example/"]),
        ("https://b.example/quite/long", ["https://a.example/?p=1"]),
        ("https://b.example/?id=12345", ["https://a.example/?a=1&b=2"]),
        ("https://b.example/p", ["https://a.example/pp", "http://a.example/"]),
    ],
)
def test_the_best_address_stands_for_a_group(database: ChangingDatabase, best: str, others: list[str]) -> None:
    database.put(*pages(*others, best))
    assert database.groups() == {best: {best, *others}}


def test_among_equals_the_one_seen_first(database: ChangingDatabase) -> None:
    database.put(Page("https://a.example/x", TEXT, first=1_500), Page("https://b.example/x", TEXT, first=1_400))
    assert set(database.groups()) == {"https://b.example/x"}


def test_no_copy_at_another_host_stands_for_the_first(database: ChangingDatabase) -> None:
    first = Page("http://a.example/a/long/path?with=parameters", TEXT, first=1_400, last=LAST_SEEN)
    database.put(first, Page("https://b.example/x", f"{TEXT} copied", first=1_401, last=LAST_SEEN))
    assert set(database.groups()) == {first.url}
    database.put(Page("https://a.example/b", f"{TEXT} again", first=1_402, last=LAST_SEEN))
    assert set(database.groups()) == {"https://a.example/b"}


def test_who_is_chosen_stays(database: ChangingDatabase) -> None:
    database.put(*pages("http://a.example/long", "http://a.example/longer"))
    database.put(*pages("https://a.example/", first=SECONDS_PER_DAY))
    assert set(database.groups()) == {"http://a.example/long"}
    database.put(Page("http://a.example/long", prose(9, 90)))
    assert database.groups() == {"http://a.example/longer": {"https://a.example/", "http://a.example/longer"}}
    database.drop("http://a.example/longer")
    assert database.groups() == {}


def test_on_the_day_of_the_first_copy_the_best_address_takes_over(database: ChangingDatabase) -> None:
    database.put(*pages("http://a.example/long", "http://a.example/longer"))
    database.put(*pages("https://a.example/", first=SECONDS_PER_DAY - 1))
    assert set(database.groups()) == {"https://a.example/"}


def test_a_page_named_canonical_takes_over(database: ChangingDatabase) -> None:
    database.put(*pages("https://a.example/p", "http://a.example/print/p"))
    assert set(database.groups()) == {"https://a.example/p"}
    database.put(Page("https://a.example/p", f"{TEXT} new", canonical="http://a.example/print/p"))
    assert database.groups() == {"http://a.example/print/p": {"https://a.example/p", "http://a.example/print/p"}}


def test_a_copy_at_another_host_stands_for_the_first_page_only_if_that_page_names_it(
    database: ChangingDatabase,
) -> None:
    first, canonical, copy = "https://v.example/the/story?from=feed", "https://x.example/c2", "https://x.example/c1"
    database.put(Page(first, TEXT, first=1_000, last=LAST_SEEN))
    database.put(
        Page(copy, f"{TEXT} copied", canonical=canonical, first=1_001), Page(canonical, f"{TEXT} too", first=1_002)
    )
    assert set(database.groups()) == {first}
    database.put(Page(first, f"{TEXT} by x", canonical=canonical, first=1_000, last=LAST_SEEN))
    assert set(database.groups()) == {canonical}


def test_canonical_pages_of_the_same_origin_join_and_others_do_not(database: ChangingDatabase) -> None:
    mixed = f"{prose(2, 60)} {prose(3, 60)}"
    database.put(
        Page("https://a.example/all", mixed),
        Page("https://a.example/half", prose(2, 60), canonical="https://a.example/all"),
        Page("https://b.example/half", prose(4, 60), canonical="https://c.example/all"),
        Page("https://c.example/all", f"{prose(4, 60)} {prose(5, 60)}"),
        Page("https://a.example/missing", prose(6, 60), canonical="https://a.example/never-crawled"),
        Page("https://a.example/wrong", prose(7, 60), canonical="https://a.example/all"),
    )
    assert database.groups() == {"https://a.example/all": {"https://a.example/all", "https://a.example/half"}}


def test_short_texts_that_name_one_canonical_page_join_only_if_they_are_equal(database: ChangingDatabase) -> None:
    front, notice, long = "https://a.example/", "https://a.example/notice", "https://a.example/long"
    database.put(
        Page(front, "The Gazette"),
        Page(notice, "The pond is drained", canonical=front),
        Page(long, prose(8, 60), canonical=front),
        Page(f"{front}?from=feed", "The Gazette", canonical=front),
    )
    assert database.groups() == {front: {front, f"{front}?from=feed"}}


def test_the_canonical_page_may_come_later_and_go_again(database: ChangingDatabase) -> None:
    database.put(Page("https://a.example/half", prose(2, 60), canonical="https://a.example/all"))
    assert database.groups() == {}
    database.put(Page("https://a.example/all", f"{prose(2, 60)} {prose(3, 60)}"))
    assert database.groups() == {"https://a.example/all": {"https://a.example/all", "https://a.example/half"}}
    database.drop("https://a.example/all")
    assert database.groups() == {}


def test_canonical_pages_in_a_ring_are_one_group(database: ChangingDatabase) -> None:
    ring = ["https://a.example/1", "https://a.example/2", "https://a.example/3"]
    database.put(*(replace(page, canonical=ring[n - 2]) for n, page in enumerate(pages(*ring))))
    assert database.groups() == {"https://a.example/1": set(ring)}


def test_short_texts_belong_together_where_they_are_equal(database: ChangingDatabase) -> None:
    database.put(
        Page("https://a.example/no", "Not here"),
        Page("https://b.example/none", "Not here"),
        Page("https://b.example/other", "Not there"),
    )
    assert database.groups() == {"https://a.example/no": {"https://a.example/no", "https://b.example/none"}}


URLS = [
    f"{scheme}://{host}.example/{path}" for scheme in ("http", "https") for host in "ab" for path in ("", "x", "y?q=1")
]
TEXTS = st.sampled_from([TEXT, f"{TEXT} {prose(8, 10)}", prose(2, 50), f"{prose(2, 50)} {TEXT}", "Not here", "", None])
STEP = st.tuples(
    st.sampled_from(URLS), TEXTS, st.one_of(st.none(), st.sampled_from(URLS)), st.integers(0, 2), st.booleans()
)


@settings(max_examples=150)
@given(st.lists(STEP, max_size=30), st.integers(1, 7))
def test_groups_are_as_if_made_at_once(
    steps: Iterable[tuple[str, str | None, str | None, int, bool]], size: int
) -> None:
    with closing(ChangingDatabase()) as database:
        for url, text, canonical, day, wait in steps:
            if text is None:
                database.drop(url, later=True)
            else:
                named = canonical if canonical != url else None
                page = Page(url, text, canonical=named, first=day * SECONDS_PER_DAY, last=LAST_SEEN)
                database.put(page, later=True)
            if not wait:
                database.follow(size)
        database.follow(size)
        groups = database.groups()
        assert all(representative in members for representative, members in groups.items()), (
            "who stands for a group belongs to it"
        )
        assert all(len(members) > 1 for members in groups.values())
        database.connection.execute("DELETE FROM windrow_representative")
        for table in ("windrow_near_duplicate", "windrow_signature", "windrow_band"):
            database.connection.execute(f"DELETE FROM {table}")
        for number in database.at.values():
            database.touch(number)
        database.follow()
        assert groups == database.groups()


def test_small_batches_end(database: ChangingDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "GENERATIONS_PER_TRANSACTION", 1)
    database.put(*pages(*URLS), later=True)
    database.follow(1)
    assert len(database.groups()) == 1


def test_a_long_chain_of_canonical_pages_takes_linear_time() -> None:
    """Each of 20,000 generations is the child of the next one; the last three are in a ring."""
    with closing(sqlite3.connect(":memory:")) as connection:
        groups = following._Groups(connection)
        count = 20_000
        groups.members = dict.fromkeys(range(count))  # type: ignore[arg-type]
        groups._parents = {number: number + 1 for number in range(count - 1)} | {count - 1: count - 3}
        assert [len(group) for group in groups.list_groups()] == [count]
        assert groups._find_root(0, {}) == count - 3
