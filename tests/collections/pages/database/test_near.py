"""Near-duplicates: found, apart when they change or close, and the same whatever came first."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collections.pages.place import Page, fill, schema
from windrow.collections.pages.database.near_duplicates import update_near_duplicates
from windrow.collections.pages.database.writer import schema as made
from windrow.formats.sketch import NEAR_DUPLICATE_SIMILARITY, estimate_similarity, make_sketch

WORDS = [
    f"{a}{b}" for a in ("harbour", "lantern", "meadow", "copper", "winter") for b in ("light", "stone", "gate", "s")
]


def prose(seed: int, count: int = 60) -> str:
    """Return a text of its own for each seed."""
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) + str(chance.randrange(50)) for _ in range(count))


def database() -> sqlite3.Connection:
    link = sqlite3.connect(":memory:", isolation_level=None)
    link.execute("PRAGMA foreign_keys = ON")
    link.executescript(schema() + made("near"))
    return link


@pytest.fixture
def link() -> Iterator[sqlite3.Connection]:
    with closing(database()) as opened:
        yield opened


def close(link: sqlite3.Connection, number: int) -> None:
    sql = "UPDATE entity_generation SET confirmed_end_unix_utc = last_seen_unix_utc WHERE entity_generation_id = ?"
    link.execute(sql, (number,))


def clusters(link: sqlite3.Connection) -> set[tuple[str, str, float]]:
    """Return what is joined to what, by addresses."""
    return set(
        link.execute(
            "SELECT u.str_url, v.str_url, n.similarity FROM windrow_near_duplicate n"
            " JOIN entity_generation g ON g.entity_generation_id = n.generation_id JOIN url u ON u.url_id = g.url_id"
            " JOIN entity_generation h ON h.entity_generation_id = n.other_id JOIN url v ON v.url_id = h.url_id"
        )
    )


def groups(link: sqlite3.Connection) -> set[frozenset[str]]:
    stars: dict[str, set[str]] = {}
    for joined, first, _ in clusters(link):
        stars.setdefault(first, {first}).add(joined)
    return {frozenset(members) for members in stars.values()}


def test_edits_across_sites_are_found_and_others_are_not(link: sqlite3.Connection) -> None:
    news, story = prose(1, 120), prose(2, 120)
    ids = fill(
        link,
        [
            Page("https://a.example/news", f"Posted on 3 May 2026. {news}"),
            Page("https://b.example/copied", f"Posted on 11 June 2027. {news}"),
            Page("https://c.example/more", f"{news} {prose(3, 12)}"),
            Page("https://a.example/story", f"{story} Read 17 times."),
            Page("https://a.example/print/story", f"{story} Read 1234 times."),
            Page("https://a.example/other", prose(4, 120)),
            Page("https://a.example/half", f"{news} {prose(5, 130)}"),
            Page("https://a.example/empty", ""),
            Page("https://b.example/short", "Page not found"),
            Page("https://a.example/short", "Page not found"),
        ],
    )
    update_near_duplicates(link, ids)
    assert groups(link) == {
        frozenset({"https://a.example/news", "https://b.example/copied", "https://c.example/more"}),
        frozenset({"https://a.example/story", "https://a.example/print/story"}),
    }
    assert all(NEAR_DUPLICATE_SIMILARITY <= share < 1 for _, _, share in clusters(link))


def test_what_closes_leaves_and_its_cluster_stays(link: sqlite3.Connection) -> None:
    text = prose(1, 200)
    ids = fill(link, [Page(f"https://{n}.example/", f"{text} visit {n}") for n in range(12)])
    update_near_duplicates(link, ids)
    assert [len(group) for group in groups(link)] == [12]
    first = link.execute("SELECT DISTINCT other_id FROM windrow_near_duplicate").fetchone()[0]
    close(link, first)
    changed = update_near_duplicates(link, [first])
    assert first in changed
    assert [len(group) for group in groups(link)] == [11]
    for number in ids:
        close(link, number)
    update_near_duplicates(link, ids)
    for table in ("windrow_signature", "windrow_band", "windrow_near_duplicate"):
        assert link.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_doing_it_again_changes_nothing(link: sqlite3.Connection) -> None:
    ids = fill(link, [Page(f"https://{n}.example/", f"{prose(n // 3, 90)} visit {n}") for n in range(9)])
    update_near_duplicates(link, ids)
    before = "\n".join(link.iterdump())
    assert update_near_duplicates(link, ids) == set()
    assert "\n".join(link.iterdump()) == before


def test_generations_that_are_gone_leave(link: sqlite3.Connection) -> None:
    ids = fill(link, [Page(f"https://{n}.example/", f"{prose(1)} {n}") for n in range(2)])
    update_near_duplicates(link, ids)
    for table in ("document_description", "file_summary", "entity_generation"):
        link.execute(f"DELETE FROM {table} WHERE entity_generation_id = ?", (ids[0],))
    update_near_duplicates(link, ids)
    assert clusters(link) == set()
    assert link.execute("SELECT generation_id FROM windrow_signature").fetchall() == [(ids[1],)]


# A page is a mixture of a few paragraphs, so that many are somewhat alike and clusters meet.
PARAGRAPHS = [prose(100 + n, 20) for n in range(8)]
TEXTS = st.lists(st.integers(0, 7), min_size=2, max_size=6).map(lambda chosen: "\n".join(PARAGRAPHS[n] for n in chosen))
STEP = st.tuples(st.integers(0, 11), st.one_of(st.none(), TEXTS))


def play(steps: Iterable[tuple[int, str | None]], sizes: Iterable[int]) -> sqlite3.Connection:
    """Let pages get texts, or go, one after another, and compare after every so many steps."""
    link = database()
    at: dict[int, int] = {}
    touched: list[int] = []
    due = iter(sizes)
    left = next(due, 1)
    for page, text in steps:
        if page in at:
            close(link, at[page])
            touched.append(at.pop(page))
        if text is not None:
            at[page] = fill(link, [Page(f"https://{page}.example/", text)])[0]
            touched.append(at[page])
        left -= 1
        if left == 0:
            update_near_duplicates(link, touched)
            touched.clear()
            left = next(due, 1)
    update_near_duplicates(link, touched)
    return link


@settings(max_examples=150)
@given(st.lists(STEP, max_size=40), st.lists(st.integers(1, 20), max_size=10), st.randoms(use_true_random=False))
def test_any_order_in_any_pieces_gives_the_same(
    steps: list[tuple[int, str | None]], sizes: list[int], chance: random.Random
) -> None:
    last = dict(steps)
    plain = [(page, text) for page, text in last.items() if text is not None]
    chance.shuffle(plain)
    with closing(play(steps, sizes)) as near, closing(play(plain, [1000])) as expected:
        assert clusters(near) == clusters(expected)
        bands = "SELECT band, rank FROM windrow_band ORDER BY 1, 2"
        assert near.execute(bands).fetchall() == expected.execute(bands).fetchall()
        for generation, first, share in clusters(near):
            assert share == round(
                estimate_similarity(
                    *(make_sketch(last[int(url[8:].partition(".")[0])] or "") for url in (generation, first))
                ),
                4,
            )
            assert share >= NEAR_DUPLICATE_SIMILARITY
        joined = {generation for generation, _, _ in clusters(near)}
        assert not joined & {hub for _, hub, _ in clusters(near)}, "clusters are stars"


@pytest.mark.parametrize("count", [400])
def test_a_large_cluster_is_one(link: sqlite3.Connection, count: int) -> None:
    text = prose(1, 300)
    ids = fill(link, [Page(f"https://{n % 7}.example/{n}", f"{text} page {n}") for n in range(count)])
    for start in range(0, count, 50):
        update_near_duplicates(link, ids[start : start + 50])
    assert [len(group) for group in groups(link)] == [count]
