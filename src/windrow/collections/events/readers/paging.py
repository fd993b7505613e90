"""Find the next page of a list in JSON, and whether a list has more entries than a page and those before it."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from windrow.collections.events.parser import SourceDocument
from windrow.collections.events.readers.by_fields import join_url, parse_json, value_at_path
from windrow.errors import StepError
from windrow.formats.json_page import find_pages, find_total, states_next_page
from windrow.formats.url import has_web_scheme
from windrow.reasons import Reason

_SIZE_PARAMETERS = frozenset(
    {
        "limit",
        "per_page",
        "perpage",
        "page_size",
        "pagesize",
        "rows",
        "max_results",
        "maxresults",
        "results_per_page",
        "top",
    }
)
"""Parameters of an address, in lower case and without `$`, that state how many entries a page has at most."""

_OFFSET_PARAMETERS = frozenset({"offset", "skip", "start", "startindex"})
"""Parameters that state how many entries are before a page; others state the number of the page."""

_TOTAL_HEADERS, _PAGES_HEADERS = ("x-wp-total", "x-total-count", "x-total"), ("x-wp-totalpages", "x-total-pages")
_NEXT_LINK = re.compile(r"rel\s*=\s*\"?(?:[\w-]+ )*next\b", re.IGNORECASE)


class EntryCount(NamedTuple):
    """How many entries a page has, how many its whole list has as it states (or 0), and whether it has a next page.

    `has_more` means that the page states so, or has as many entries as its address asks for.
    """

    listed: int
    total: int = 0
    has_more: bool = False


def count_entries(document: SourceDocument) -> EntryCount:
    """Return the counts of a page in JSON."""
    tree = parse_json(document)
    entries = value_at_path(tree, document.rules.details.partition(":")[0] or document.rules.items)
    listed = len(entries) if isinstance(entries, list) else int(bool(entries))
    total = find_total(tree) or _header_number(document, _TOTAL_HEADERS)
    is_full = not total and not document.rules.next_page and listed > 1 and listed == _asked_entries(document.url)
    has_link = _NEXT_LINK.search(document.headers.get("link", "")) is not None
    has_more = has_link or states_next_page(tree) or bool(_count_pages_left(document)) or is_full
    return EntryCount(listed, total, has_more)


def _count_pages_left(document: SourceDocument) -> int | None:
    """Return how many pages the list has after this one, or None if the document does not state it."""
    page, pages = find_pages(parse_json(document))
    pages = pages or _header_number(document, _PAGES_HEADERS)
    query = dict(parse_qsl(urlsplit(document.url).query))
    number = query.get(document.rules.next_page.removeprefix("?"), "") or query.get("page", "")
    page = page or (int(number) if number.isdecimal() and len(number) < 10 else 1)
    return max(0, pages - page) if pages else None


def _header_number(document: SourceDocument, names: tuple[str, ...]) -> int:
    digits = next((document.headers[name] for name in names if name in document.headers), "").strip()
    return int(digits) if digits.isdecimal() and len(digits) < 18 else 0


def _asked_entries(url: str) -> int:
    """Return how many entries an address asks for, or 0 if it does not say so."""
    query = parse_qsl(urlsplit(url).query)
    sizes = [number for name, number in query if name.lower().lstrip("$") in _SIZE_PARAMETERS and number.isdecimal()]
    return int(sizes[0][:9]) if sizes else 0


def _next_numbered_page(document: SourceDocument, name: str) -> str:
    """Return the address in which the parameter `name` counts up; empty if the page is empty or states to be the last.

    Without such a statement, a page with fewer entries than its address asks for is the last one.
    """
    counts, asked = count_entries(document), _asked_entries(document.url)
    is_offset = name.lower().lstrip("$") in _OFFSET_PARAMETERS
    query = dict(parse_qsl(urlsplit(document.url).query, keep_blank_values=True))
    number = int(query[name]) if query.get(name, "").isdecimal() else 0 if is_offset else 1
    listed_before = number if is_offset else (number - 1) * (asked or counts.listed)
    is_last = listed_before + counts.listed >= counts.total if counts.total else counts.listed < asked
    pages_left = _count_pages_left(document)
    if not counts.listed or (pages_left == 0 if pages_left is not None else is_last and not counts.has_more):
        return ""
    return count_up(document.url, name, number + (counts.listed if is_offset else 1))


def count_up(url: str, name: str, number: int) -> str:
    """Return an address with another number for one of its parameters.

    >>> count_up("https://a.example/events?$top=9&page=1", "page", 2)
    'https://a.example/events?$top=9&page=2'
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | {name: str(number)}
    return urlunsplit(parts._replace(query=urlencode(query, safe="$,':*")))


def next_json_page(document: SourceDocument) -> str:
    """Return the address of the next page, which is at the path in the rule `next_page`, or in which `?NAME` counts up.

    Return an empty text if the value at the path is missing, null, false or empty. Raise StepError if it is any other
    value that is not the address of another page.
    """
    path = document.rules.next_page
    if path.startswith("?"):
        return _next_numbered_page(document, path[1:])
    address = value_at_path(parse_json(document), path) if path else None
    if address is None or address is False or address == "":
        return ""
    if not isinstance(address, str):
        raise StepError(f"the value at {path!r} (`next_page`) is not an address: {address!r}"[:300], Reason.WRONG_ROOT)
    return next_address(document, address)


def next_address(document: SourceDocument, address: str) -> str:
    """Resolve the address of the next page; raise StepError if it is not a web address, or is the document's own."""
    url = join_url(document.base or document.url, address.strip())
    if not has_web_scheme(url) or url == document.url:
        raise StepError(
            f"the address of the next page, {address[:200]!r}, is not valid or is that of this page", Reason.BAD_ADDRESS
        )
    return url
