"""Read one document with a parser that a test defines."""

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
    """Return the events of a document, and the parts that could not be read."""
    by = by or parser(reader, zone, **rules)
    content = content if isinstance(content, bytes) else content.encode()
    parts = list(read_document(by, source_document(by, content, url, visited, media)))
    read_events = [part for part in parts if isinstance(part, ReadEvent)]
    return read_events, [part for part in parts if not isinstance(part, ReadEvent)]
