"""Read one document with a parser of a test's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from windrow.collections.events.parser import EventParser, ParserRules
from windrow.collections.events.reading import ReadEvent, read_document, source_document

VISITED = datetime(2026, 9, 1, 12, tzinfo=UTC)


def parser(reader: str, zone: str = "America/New_York", **rules: Any) -> EventParser:
    return EventParser("p", "Other", "Senate", zone=zone, versions=(ParserRules("1", reader, **rules),))


def read(
    content: bytes | str, reader: str = "", zone: str = "America/New_York", media: str = "", visited: datetime = VISITED,
    by: EventParser | None = None, url: str = "http://a.example/x", **rules: Any,
) -> tuple[list[ReadEvent], list[Any]]:  # fmt: skip
    """Return the events of a document, and what could not be read of it."""
    made = by or parser(reader, zone, **rules)
    given = source_document(made, content if isinstance(content, bytes) else content.encode(), url, visited, media)
    told = list(read_document(made, given))
    return [one for one in told if isinstance(one, ReadEvent)], [one for one in told if not isinstance(one, ReadEvent)]
