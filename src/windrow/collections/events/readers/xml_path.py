"""XML by path: `items` and fields name elements from the outside in (`a/b`), `@name` or `a/@name` an attribute.

Of several kinds of items each has a path: `a/b|a/c`.

Names are local ones: prefixes and namespaces are left out. A document type that names only a DTD elsewhere is left out
too, as nothing of it is ever read; one with declarations of its own is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from lxml import etree

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.paragraph import clean
from windrow.model import Limits
from windrow.reasons import Reason

MOST = 10_000
"""Events of one document that are read."""

_LIMITS = Limits(member=64 << 20, elements=2_000_000)
_DOCTYPE = re.compile(rb"<!DOCTYPE\s+[\w:.-]+(?:\s+(?:PUBLIC|SYSTEM)(?:\s+(?:\"[^\"<>]*\"|'[^'<>]*'))*)?\s*>")
_STEP = re.compile(r"(^|/)(?=[A-Za-z_])")


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a document."""
    root = parsed(given)
    found = 0
    paths = given.rules.items.split("|") if given.rules.items else []
    items = chain.from_iterable(root.iterfind(local(path)) for path in paths) if paths else iter([root])
    for one in items:
        if found >= MOST:
            yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")
            return
        found += 1
        text = etree.tostring(one, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, one=one: told(one, path), text)  # type: ignore[misc]
    if not found and not given.rules.root:
        raise StepError(f"there is nothing at {given.rules.items!r}; name `root` where that may be", Reason.WRONG_ROOT)


def parsed(given: ParserInput) -> etree._Element:
    """Return the root of a document; StepError where it is not the one that its parser wants."""
    content = _DOCTYPE.sub(b"", given.content.lstrip(b" \t\r\n"), count=1)
    admitted = xml.admit(content, _LIMITS)
    wanted = given.rules.root
    if wanted and admitted.root != wanted:
        raise StepError(f"the root is {admitted.root[:60]!r}, not {wanted!r}", Reason.WRONG_ROOT)
    return xml.tree(admitted.content)


def local(path: str) -> str:
    """Return a path that finds elements whatever their namespace.

    >>> local("a/b-c"), local("./a")
    ('{*}a/{*}b-c', './{*}a')
    """
    return _STEP.sub(r"\1{*}", path)


def told(one: etree._Element, path: str) -> str | None:
    """Return the text of the element at a path, all texts of several joined by commas, or that of an attribute."""
    elements, _, attribute = path.partition("@")
    elements = elements.rstrip("/")
    found = one.findall(local(elements)) if elements else [one]
    if attribute:
        values = [value for each in found if (value := each.get(attribute))]
    else:
        values = [text for each in found if (text := " ".join("".join(map(str, each.itertext())).split()))]
    return clean(", ".join(values)) if found else None
