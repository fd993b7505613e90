"""RSS, Atom and JSON Feed: each entry an event at the time of its publication."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.collections.events.readers.json_path import read as read_json
from windrow.errors import StepError
from windrow.formats import xml
from windrow.formats.feed import ENTRIES
from windrow.formats.paragraph import clean
from windrow.model import Limits
from windrow.reasons import Reason

_LIMITS = Limits(member=64 << 20, elements=1_000_000)
_FIELDS = {
    "id": "guid|id", "title": "title", "start": "pubDate|date|published|issued|updated|modified",
    "description": "description|summary|encoded|content", "url": "link|guid",
}  # fmt: skip
_JSON_FIELDS = {
    "id": "id", "title": "title", "start": "date_published|date_modified",
    "description": "content_text|summary|content_html", "url": "url|id",
}  # fmt: skip


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the entries of a feed."""
    start = given.content.lstrip(b" \t\r\n\xef\xbb\xbf")
    if start.startswith(b"{"):
        rules = replace(given.rules, items="items", fields={**_JSON_FIELDS, **given.rules.fields})
        yield from read_json(given._replace(rules=rules))
        return
    admitted = xml.admit(given.content.lstrip(b" \t\r\n"), _LIMITS)
    if admitted.root not in {"rss", "RDF", "feed"}:
        raise StepError(f"this is no feed: its root is {admitted.root[:40]!r}", Reason.WRONG_ROOT)
    tree = xml.tree(admitted.content, recover=True)
    given = given._replace(rules=replace(given.rules, fields={**_FIELDS, **given.rules.fields}))
    for number, entry in enumerate(tree.iterdescendants("{*}item", "{*}entry")):
        if number >= ENTRIES:
            yield Unread(Reason.TOO_LARGE, f"more than {ENTRIES} entries")
            return
        text = etree.tostring(entry, encoding="unicode", with_tail=False)
        yield event_of(given, lambda path, entry=entry: _look(entry, path), text)  # type: ignore[misc]


def _look(entry: etree._Element, path: str) -> str | None:
    """Return what an element of this local name says: of a link its address, else its text."""
    name, _, attribute = path.partition("@")
    for child in entry.iterchildren(f"{{*}}{name}"):
        if attribute:
            return child.get(attribute)
        href = child.get("href")
        if name == "link" and href and child.get("rel", "alternate") != "alternate":
            continue
        told = href if name == "link" and href else "".join(map(str, child.itertext()))
        if name == "guid" and path == "guid" and child.get("isPermaLink") == "false" and told.strip() == "":
            continue
        if told and told.strip():
            return clean(told)
    return None
