"""Lists of pages in a Summary Database: those of an origin, and those that a page links to or that link to it."""

from __future__ import annotations

from typing import NamedTuple

from windrow.stores.sqlite import SqliteReader

# Addresses of an origin follow each other in the order of addresses, from `?1` on and before `?2`.
_PRESENT_PAGES = """
SELECT u.str_url, coalesce(d.title, d.primary_headline, ''), coalesce(d.description, ''), g.first_seen_unix_utc
FROM url u JOIN entity_generation g ON g.url_id = u.url_id
LEFT JOIN document_description d ON d.entity_generation_id = g.entity_generation_id
WHERE u.str_url >= ?1 AND u.str_url < ?2 AND g.confirmed_end_unix_utc IS NULL AND g.url_fragment IS NULL
ORDER BY u.str_url, g.entity_generation_id LIMIT ?3
"""
_LINKS_FROM = """
SELECT u.str_url, max(coalesce(l.text, '')), EXISTS (SELECT 1 FROM entity_generation g WHERE g.url_id = u.url_id)
FROM link_summary l JOIN url u ON u.url_id = l.link_to_url
WHERE l.entity_generation_id = ? GROUP BY u.url_id ORDER BY min(l.link_summary_id) LIMIT ?
"""
_LINKS_TO = """
SELECT DISTINCT u.str_url, coalesce(l.text, ''), 1 FROM link_summary l
JOIN entity_generation g ON g.entity_generation_id = l.entity_generation_id AND g.confirmed_end_unix_utc IS NULL
JOIN url u ON u.url_id = g.url_id WHERE l.link_to_url = (SELECT url_id FROM url WHERE str_url = ?) LIMIT ?
"""


class PresentPage(NamedTuple):
    """A page that is present now: its title or headline, its description, and since when it is so, as UNIX seconds."""

    url: str
    title: str
    description: str
    first_seen: int


class PageLink(NamedTuple):
    """A link: the address at its other end, its text, and whether a version of the page there is kept."""

    url: str
    text: str
    is_kept: bool


def list_present(reader: SqliteReader, origin: str, after: str, limit: int) -> list[PresentPage]:
    """Return present pages of an origin, such as `https://a.example`, in the order of addresses.

    They begin behind the address `after`, or with the front page if it is empty.
    """
    start = f"{after} " if after else f"{origin}/"  # no address has a space, which sorts before all that they have
    with reader.reading() as connection:
        rows = connection.execute(_PRESENT_PAGES, (start, f"{origin}0", limit))  # 0 follows the slash
        return [PresentPage._make(row) for row in rows]


def list_links_from(reader: SqliteReader, generation: int, limit: int) -> list[PageLink]:
    """Return the first links of a generation, in the order of the page; an address is listed once."""
    with reader.reading() as connection:
        return [_make_link(row) for row in connection.execute(_LINKS_FROM, (generation, limit))]


def list_links_to(reader: SqliteReader, url: str, limit: int) -> list[PageLink]:
    """Return links of present pages to an address."""
    with reader.reading() as connection:
        return [_make_link(row) for row in connection.execute(_LINKS_TO, (url, limit))]


def _make_link(row: tuple[str, str, int]) -> PageLink:
    return PageLink(row[0], row[1], bool(row[2]))
