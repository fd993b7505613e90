"""Find suspected soft 404s: pages of one origin with the same title, headline and short text at different addresses.

Such a page is suspected if no long word of its address's name (`name_of`) is in the text. The suspected pages must
have at least `MIN_NAMES` different names. Pages with any names are suspected if the text replaced at least `MIN_TEXTS`
different texts of theirs, as one does that says that a site is closed for maintenance. For some days, searches
find the texts that were replaced (`search_view.DAYS_KEPT`), and the pages are requested again.

A server that answers all addresses with one page does not have the requested documents. A page that several addresses
show on purpose, such as a licence, usually has a word from its address in its text, or names a canonical address.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from windrow.collections.pages.database.search_view import IS_KEPT, MIN_TEXTS, WAS_REPLACED
from windrow.content.substitute import recognise_substitute
from windrow.query.word import words

MIN_NAMES = 3
"""The minimum number of different names that the addresses of suspected pages with the same text must have."""
_MAX_TEXT_CHARACTERS = 4_000  # of the main text; a page with a longer one is not suspected
_MIN_WORD_CHARACTERS = 4  # of a word from an address that is looked for in the text
_COMPARED_CHARACTERS = 6  # at the beginning of such a word; the rest may differ
_DEFAULT_NAMES = {"index", "default", "home"}

_SELECT_REPEATED_TEXTS = """
SELECT text_pile_id FROM entity_generation
WHERE text_pile_id IN (SELECT value FROM json_each(?)) AND confirmed_end_unix_utc IS NULL
GROUP BY text_pile_id HAVING count(*) >= ?
"""
_SELECT_EQUAL_PAGES = f"""
SELECT later.text_pile_id, u.origin_id, coalesce(d.title, '') AS title, coalesce(d.primary_headline, '') AS headline,
  u.str_url, later.entity_generation_id, (SELECT n.text_pile_id FROM entity_generation n
    WHERE {WAS_REPLACED} AND n.text_pile_id <> later.text_pile_id ORDER BY n.confirmed_end_unix_utc DESC LIMIT 1)
FROM entity_generation later JOIN url u ON u.url_id = later.url_id
LEFT JOIN document_description d ON d.entity_generation_id = later.entity_generation_id
LEFT JOIN file_summary f ON f.entity_generation_id = later.entity_generation_id
WHERE later.text_pile_id IN (SELECT value FROM json_each(?)) AND later.confirmed_end_unix_utc IS NULL
AND coalesce(f.canonical_url_id, later.url_id) = later.url_id
ORDER BY later.text_pile_id, u.origin_id, title, headline, u.str_url, later.entity_generation_id
"""
_SELECT_SHORT_TEXTS = """
SELECT text_pile_id, text, big_headlines || ' ' || small_headlines FROM text_pile
WHERE text_pile_id IN (SELECT value FROM json_each(?)) AND length(text) <= ?
"""
_SELECT_DOUBTFUL = f"""
SELECT max(o.attempt), g.last_seen_unix_utc + max(3600, g.last_seen_unix_utc - g.first_seen_unix_utc)
FROM windrow_soft_404 x JOIN entity_generation g ON g.entity_generation_id = x.generation_id
JOIN windrow_observation o ON o.url_id = g.url_id AND o.entity_generation_id = g.entity_generation_id
WHERE g.confirmed_end_unix_utc IS NULL
AND EXISTS (SELECT 1 FROM entity_generation n WHERE n.url_id = g.url_id AND {IS_KEPT}) GROUP BY g.entity_generation_id
"""
_COUNT_BY_ORIGIN = """
SELECT o.str_origin, count(*), min(u.str_url) FROM windrow_soft_404 s
JOIN entity_generation g ON (g.entity_generation_id, g.text_pile_id) = (s.generation_id, s.text_pile_id)
JOIN url u ON u.url_id = g.url_id JOIN origin o ON o.origin_id = u.origin_id
WHERE g.confirmed_end_unix_utc IS NULL GROUP BY o.origin_id ORDER BY o.str_origin
"""
HAS_TABLE = "SELECT count(*) FROM sqlite_master WHERE name = 'windrow_soft_404'"


def update_suspects(connection: sqlite3.Connection, pile_ids: Sequence[int]) -> None:
    """Update which present pages with these text piles are suspected, within the open transaction of `connection`."""
    piles = json.dumps(list(pile_ids))
    connection.execute("DELETE FROM windrow_soft_404 WHERE text_pile_id IN (SELECT value FROM json_each(?))", (piles,))
    repeated = [pile_id for (pile_id,) in connection.execute(_SELECT_REPEATED_TEXTS, (piles, MIN_NAMES))]
    if not repeated:
        return
    piles = json.dumps(repeated)
    rows = connection.execute(_SELECT_EQUAL_PAGES, (piles,)).fetchall()
    groups = [(key, [*group]) for key, group in groupby(rows, key=lambda row: row[:4])]
    texts = {id_: texts for id_, *texts in connection.execute(_SELECT_SHORT_TEXTS, (piles, _MAX_TEXT_CHARACTERS))}
    for (pile_id, _, title, headline), group in groups:
        text, headlines = texts.get(pile_id, ("", None))
        if headlines is None or recognise_substitute((title, headline), text):  # too long, or known to be a soft 404
            continue
        suspects = {
            *find_suspects([(url, id_) for *_, url, id_, _ in group], f"{title} {headline} {headlines} {text}"),
            *find_replacing([(id_, former_pile) for *_, id_, former_pile in group]),
        }
        connection.executemany(
            "INSERT INTO windrow_soft_404 VALUES (?, ?)", [(id_, pile_id) for id_ in sorted(suspects)]
        )


def find_suspects(pages: Iterable[tuple[str, int]], text: str) -> list[int]:
    """Return the ids of the suspected pages among `pages`: (address, id) of pages of one origin with the same `text`.

    A page is suspected if no long word of its address's name is in the text (`_is_mentioned`). An address whose name
    has no long word, such as `/n/1`, is ignored. The list is empty if the suspected pages have fewer than `MIN_NAMES`
    different names, or if they are fewer than half of the pages that are not ignored.

    >>> pages = [("https://a.example/teas", 1), ("https://a.example/cups/", 2), ("https://a.example/news-2", 3)]
    >>> find_suspects([*pages, ("https://a.example/n/4", 4)], "Welcome to our shop")
    [1, 2, 3]
    >>> find_suspects(pages, "Our cups and our shop")
    []
    """
    text_words = f" {' '.join(words(text))}"
    named_pages = [(name, id_) for url, id_ in pages if _long_words(name := name_of(url))]
    suspects = [(name, id_) for name, id_ in named_pages if not _is_mentioned(name, text_words)]
    if len({name for name, _ in suspects}) < MIN_NAMES or 2 * len(suspects) < len(named_pages):
        return []
    return [id_ for _, id_ in suspects]


def find_replacing(pages: Sequence[tuple[int, int | None]]) -> list[int]:
    """Return the ids of the pages whose one text replaced at least `MIN_TEXTS` different texts.

    `pages` has the id of each page with this text, and the id of the text that it replaced there, or None. The list is
    empty if it replaced no text at most of them.

    >>> find_replacing([(1, 7), (2, 8), (3, 9), (4, None)]), find_replacing([(1, 7), (2, 8), (3, 8)])
    ([1, 2, 3], [])
    """
    former_piles = {id_: former_pile for id_, former_pile in pages if former_pile is not None}
    is_suspected = len({*former_piles.values()}) >= MIN_TEXTS and 2 * len(former_piles) >= len(pages)
    return list(former_piles) if is_suspected else []


def find_doubtful(connection: sqlite3.Connection) -> dict[int, int]:
    """Return when to request pages again whose text a suspected one replaced, by the number of their last attempt.

    The time, in UNIX seconds, is an hour after the attempt, or as long as the suspected text has been there.
    """
    return dict(connection.execute(_SELECT_DOUBTFUL).fetchall())


def name_of(url: str) -> str:
    """Return the last part of an address's path in lower case, without a file ending; "" if there is none.

    Parts such as `index` are skipped.

    >>> name_of("https://a.example/News/tea-time.html?page=2"), name_of("https://a.example/"), name_of("https://a.example/b/index.php")
    ('tea-time', '', 'b')
    """
    for part in reversed(unquote(urlsplit(url).path).split("/")):
        name = part.partition(".")[0]
        if name and name.lower() not in _DEFAULT_NAMES:
            return name.lower()
    return ""


def _long_words(name: str) -> list[str]:
    """Return the words of an address's name that are looked for in the text: neither short words nor numbers."""
    return [word for word in words(name) if len(word) >= _MIN_WORD_CHARACTERS and not word.isdigit()]


def _is_mentioned(name: str, text_words: str) -> bool:
    """Return whether a text has a word that begins like a long word of an address's name.

    `text_words` contains the words of the text, with a space before each.
    """
    return any(f" {word[:_COMPARED_CHARACTERS]}" in text_words for word in _long_words(name))


class SuspectCount(NamedTuple):
    """The number of suspected pages of an origin, and the address of one of them."""

    origin: str
    pages: int
    example: str


def count_suspects(connection: sqlite3.Connection) -> list[SuspectCount]:
    """Count the present suspected pages of each origin; a database from another tool has none."""
    if not connection.execute(HAS_TABLE).fetchone()[0]:
        return []
    return [SuspectCount(*row) for row in connection.execute(_COUNT_BY_ORIGIN)]
