"""Read documents of the drops element by element, with the safe parser's own settings."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

from lxml import etree

from windrow.formats import xml
from windrow.model import Limits

Node = etree._Element  # noqa: SLF001 - the only name that lxml has for an element


def contents(view: BinaryIO) -> bytes:
    """Return all bytes of a document; who opened the view bounds them."""
    view.seek(0)
    return view.read()


def parse(content: bytes, limits: Limits) -> Node:
    """Read a whole document; return its root."""
    return xml.tree(xml.rooted(xml.admit(content, limits)).content)


def stream(content: bytes, limits: Limits) -> Iterator[tuple[str, Node]]:
    """Read a document element by element: `start` and `end` of each."""
    text = xml.rooted(xml.admit(content, limits))
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


_FEW = 8


def child(element: Node, name: str) -> Node | None:
    """Return the first child of a name in any namespace; of a few it is found twice as fast by looking at each."""
    if len(element) > _FEW:
        return next(element.iterchildren(f"{{*}}{name}"), None)
    for one in element:
        if _local(one.tag) == name:
            return one
    return None


def children(element: Node, name: str) -> list[Node]:
    """Return the children of a name in any namespace."""
    return list(element.iterchildren(f"{{*}}{name}"))


def local_name(element: Node) -> str:
    """Return an element's name without its namespace; `etree.QName` takes five times as long."""
    return _local(element.tag)


@lru_cache(maxsize=4096)
def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
