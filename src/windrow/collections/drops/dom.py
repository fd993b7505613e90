"""Read documents of the drops element by element, with the safe parser's own settings."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from lxml import etree

from windrow.formats import xml
from windrow.model import Limits

Node = etree._Element  # noqa: SLF001 - the only name that lxml has for an element


def parse(view: BinaryIO, limits: Limits) -> Node:
    """Read a whole document; return its root."""
    return xml.parse(_content(view), limits)


def stream(view: BinaryIO, limits: Limits) -> Iterator[tuple[str, Node]]:
    """Read a document as it comes: `start` and `end` of each element."""
    text = xml.rooted(xml.admit(_content(view), limits))
    events: Any = etree.iterparse(io.BytesIO(text.content), events=("start", "end"), **xml.OPTIONS)
    try:
        yield from events
    except etree.XMLSyntaxError as error:
        raise xml.refusal(error, events.error_log) from None


def line(element: Node) -> int | None:
    """Return the line that an element stands in; exact to any number only in a whole document."""
    found: Any = element.sourceline
    return int(found) if found else None


def attribute(element: Node, name: str) -> str:
    """Return an attribute's text, empty where it is not there."""
    return str(element.get(name) or "")


def _content(view: BinaryIO) -> bytes:
    view.seek(0)
    return view.read()  # who opens the view bounds it
