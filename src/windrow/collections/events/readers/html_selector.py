"""HTML by selector: `items` selects the events in a page, a field what is within one: `SELECTOR`, `SELECTOR@attribute`.

An empty selector is the item itself, and `column:NAME` the cell of a table's row below the heading NAME.
"""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from windrow.collections.events.parser import ParserInput, RawEvent, Unread
from windrow.collections.events.readers.by_fields import event_of
from windrow.collections.events.readers.decoded import text_of
from windrow.errors import StepError
from windrow.formats.paragraph import clean
from windrow.reasons import Reason

MOST = 10_000
"""Events of one page that are read."""

_CAP = 32 << 20
_COLUMN = "column:"


def read(given: ParserInput) -> Iterator[RawEvent | Unread]:
    """Yield the events of a page."""
    page = parsed(given)
    if given.rules.root and _first(page.root, given.rules.root) is None:
        raise StepError(f"there is nothing at {given.rules.root!r}", Reason.WRONG_ROOT)
    items = _all(page.root, given.rules.items)
    if not items and not given.rules.root:
        raise StepError(f"there is nothing at {given.rules.items!r}; name `root` where that may be", Reason.WRONG_ROOT)
    columns: dict[int, list[str]] = {}
    size = 0
    for one in items[:MOST]:
        text = one.html or ""
        size += len(text)
        if size > _CAP:
            yield Unread(Reason.TOO_LARGE, "its events lie within one another: what is in all of them is too much")
            return
        yield event_of(given, lambda path, one=one: _told(one, path, columns), text)  # type: ignore[misc]
    if len(items) > MOST:
        yield Unread(Reason.TOO_LARGE, f"more than {MOST} events")


def next_page(given: ParserInput) -> str:
    """Return the address of the next page: that of the link that `next` selects."""
    found = _first(parsed(given).root, given.rules.next) if given.rules.next else None
    return (found.attributes.get("href") or "") if found is not None else ""


def parsed(given: ParserInput) -> LexborHTMLParser:
    """Parse a page."""
    if len(given.content) > _CAP:
        raise StepError(f"{len(given.content)} bytes, at most {_CAP} allowed", Reason.TOO_LARGE)
    return LexborHTMLParser(text_of(given.content, given.media))


def _all(node: LexborNode | None, selector: str) -> list[LexborNode]:
    try:
        return list(node.css(selector)) if node is not None else []
    except (SelectolaxError, ValueError) as error:
        raise StepError(f"{selector!r} is no selector: {error}"[:300], Reason.STEP_FAILED) from None


def _first(node: LexborNode | None, selector: str) -> LexborNode | None:
    found = _all(node, selector)
    return found[0] if found else None


def _told(item: LexborNode, path: str, columns: dict[int, list[str]]) -> str | None:
    """Return what a path of an item finds."""
    if path.startswith(_COLUMN):
        return _cell(item, path.removeprefix(_COLUMN), columns)
    selector, _, attribute = path.rpartition("@") if "@" in path else (path, "", "")
    found = _first(item, selector) if selector else item
    if found is None:
        return None
    text = (found.attributes.get(attribute) or "") if attribute else found.text(separator=" ")
    return clean(" ".join(text.split()))


def _cell(row: LexborNode, name: str, columns: dict[int, list[str]]) -> str | None:
    """Return the cell of a row below a heading."""
    table = row.parent
    while table is not None and table.tag != "table":
        table = table.parent
    if table is None:
        return None
    if table.mem_id not in columns:
        head = _first(table, "tr:has(th)")
        cells = _all(head, "th, td") if head is not None else []
        columns[table.mem_id] = [" ".join(cell.text(separator=" ").split()).casefold() for cell in cells]
    headings = columns[table.mem_id]
    cells = [cell for cell in row.iter() if cell.tag in {"td", "th"}]
    wanted = name.casefold()
    if wanted not in headings or headings.index(wanted) >= len(cells):
        return None
    return clean(" ".join(cells[headings.index(wanted)].text(separator=" ").split()))
