"""Invented crawls of a few addresses, written to a Summary Database, and the rows of its tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from windrow.collections.pages.code import Mime
from windrow.collections.pages.database.entries import (
    CrawlEntry,
    RedirectEntry,
    Sight,
    SummaryEntry,
    TextSummary,
)
from windrow.collections.pages.database.store import SummaryStore

URLS = ("http://a.example/1", "http://a.example/2", "https://a.example/2", "http://b.example/1")
TEXTS = "ABC"


class Event(NamedTuple):
    """A crawl that saw a text, a `file`, a `move`, a text with a `refresh`, or a sight.

    `number` orders crawls in the same second.
    """

    url: str
    at: int
    kind: str
    number: int


def uuid(event: Event) -> bytes:
    return event.at.to_bytes(6) + b"\x70\x00" + b"\x80" + event.number.to_bytes(7)


def pile(text: str) -> tuple[str, str, str, str, str, str]:
    return text, f"menu {text}", "", "", "", ""


def digest(text: str) -> bytes:
    return blake2b("\n\n\n".join(pile(text)).encode()).digest()


def payload(event: Event) -> str:
    """Return the digest of a body: each text comes with one of two titles."""
    return f"sha256:{title(event) if event.kind in TEXTS else event.kind}"


def title(event: Event) -> str:
    return f"{event.kind} {event.number % 2}"


def summary(event: Event) -> TextSummary:
    """Return the summary of an event; the link depends on its number."""
    event_kind, name, odd = event.kind, title(event), event.number % 2
    if event_kind == "file":
        return TextSummary(b"f" * 32, "unsupported", size=9, mime=Mime("image", "png"))
    if event_kind == "move":
        return TextSummary(b"m" * 32, file=False, move=RedirectEntry("http://a.example/target", "there"))
    links = ((f"http://b.example/{odd}", None, False, True, False, 0b10, False, 0, 2, "a", name),)
    described = (None, odd, "en", name, None, None, odd)
    move = RedirectEntry("http://a.example/target") if event_kind == "refresh" else None
    html = Mime("text", "html")
    return TextSummary(digest(event_kind), "", pile(event_kind), described, links, True, 5 + odd, html, move=move)


def is_content(event: Event) -> bool:
    return event.kind in {*TEXTS, "file", "move", "refresh"}


def entry(event: Event, *, read: bool = True) -> SummaryEntry:
    """Return the entry that the store gets for an event; without `read`, without a summary of its bytes."""
    content = is_content(event)
    sight = Sight.CONTENT if content else Sight(event.kind)
    status = {"same": 304, "missing": 404, "gone": 410, "unknown": 503, "move": 302}.get(event.kind, 200)
    crawl = CrawlEntry(
        event.number, event.url, event.at, uuid(event), sight, b"agent-of-16-byte", 0, True, 20, 7, status,
        f'"{event.kind}"', payload(event) if content and status == 200 else "",
    )  # fmt: skip
    return SummaryEntry(crawl, summary(event) if content and read else None)


def settle_events(store: SummaryStore, events: Sequence[Event], size: int = 100) -> None:
    """Write events in batches, as the engine does: a payload that is known at its address is not read again."""
    for start in range(0, len(events), size):
        batch = events[start : start + size]
        entries = [entry(seen, read=not store.same(seen.url, payload(seen))) for seen in batch]
        store.settle(entries, start + len(batch))


def read_owed(store: SummaryStore, events: Iterable[Event]) -> None:
    """Read the pages that the store still needs, one at a time."""
    by_number = {event.number: event for event in events}
    while owed := store.to_read_again(1):
        store.read_again({number: entry(by_number[number]) for number in owed})


def query(store: SummaryStore, sql: str) -> list[tuple[Any, ...]]:
    return store._connection.execute(sql).fetchall()


_GENERATIONS = """
SELECT u.str_url, g.first_seen_unix_utc, g.last_seen_unix_utc, g.confirmed_end_unix_utc, g.marked_duplicate, p.text,
  d.title, f.file_size, m.mime_type, r.to_url_fragment,
  (SELECT json_group_array(l.text || l.rel_me || l.in_footer) FROM link_summary l
    WHERE l.entity_generation_id = g.entity_generation_id),
  (SELECT json_group_array(x) FROM (SELECT hex(c.crawl_uuid) || coalesce(h.status_code, '') AS x FROM crawl_summary c
    LEFT JOIN http_summary h USING (crawl_summary_id) WHERE c.entity_generation_id = g.entity_generation_id ORDER BY x)),
  hex(g.entity_generation_uuid)
FROM entity_generation g JOIN url u USING (url_id) LEFT JOIN text_pile p USING (text_pile_id)
LEFT JOIN document_description d USING (entity_generation_id) LEFT JOIN file_summary f USING (entity_generation_id)
LEFT JOIN mimetype m USING (mimetype_id) LEFT JOIN redirect_summary r USING (entity_generation_id)
"""
_VERSIONS = """
SELECT str_url, first_seen_unix_utc, last_seen_unix_utc, confirmed_end_unix_utc, title, primary_language, indexiness
FROM windrow_version JOIN url USING (url_id)
"""
_PAST_LINKS = """
SELECT u.str_url, hex(l.linked), t.str_url, l.text FROM windrow_past_link l JOIN url u ON u.url_id = l.url_id
JOIN url t ON t.url_id = l.link_to_url
"""
_DUPLICATES = """
SELECT s.str_url, o.str_url FROM duplicate_summary d
JOIN entity_generation g ON g.entity_generation_id = d.subject_entity_generation_id JOIN url s ON s.url_id = g.url_id
JOIN entity_generation h ON h.entity_generation_id = d.duplicate_of_entity_generation_id JOIN url o ON o.url_id = h.url_id
WHERE d.duplicate_status_end_unix_utc IS NULL ORDER BY 1
"""


def tables(store: SummaryStore) -> dict[str, Any]:
    """Return the rows of the standard's tables, without row numbers and times of copies."""
    looks = [(*row[:10], json.loads(row[10]), json.loads(row[11]), row[12]) for row in query(store, _GENERATIONS)]
    return {
        "generations": sorted(looks, key=repr),
        "duplicates": query(store, _DUPLICATES),
        "piles": sorted(row[0] for row in query(store, "SELECT text FROM text_pile")),
        "http": len(query(store, "SELECT 1 FROM http_summary")),
        "crawls": len(query(store, "SELECT 1 FROM crawl_summary")),
        "links": len(query(store, "SELECT 1 FROM link_summary")),
        "owed": query(store, "SELECT * FROM windrow_owed"),
        "versions": sorted(query(store, _VERSIONS), key=repr),
        "past links": sorted(query(store, _PAST_LINKS)),
    }


def rows(store: SummaryStore) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table but the checkpoint's."""
    names = [row[0] for row in query(store, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    kept = [name for name in names if "full_text" not in name and name != "unobtanium_database_info"]
    return {name: sorted(query(store, f"SELECT * FROM {name}"), key=repr) for name in kept}
