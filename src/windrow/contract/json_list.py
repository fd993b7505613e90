"""Declare a collection of JSON records as one value: a list that an API returns page by page.

The discovery reads the whole list each time, so new, changed and removed records are found wherever they are in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from windrow.contract.answers import Answer, FollowResult, Observation, Offering, Request, Skip, WholeListing
from windrow.contract.discoveries import Requests
from windrow.contract.steps import OK, Settle, Task
from windrow.formats.json_page import find_error, find_total, load_json
from windrow.formats.url import normalise
from windrow.model import Finding, Source
from windrow.reasons import Reason

NOT_FOUND = 404
"""The HTTP status with which some APIs answer a request for the page after the last one."""

EVERY = "every"
"""The name of a source's setting for the time between two readings of the list, in seconds."""


LISTED, TOTAL, INCOMPLETE = "listed", "total", "listed in part"
"""Names of values that are learned about a source while its list is read.

LISTED names the number of items on the pages so far, TOTAL the number of all items that the last page stated, and
INCOMPLETE whether one of the pages stated an error or has an item without a key.
"""


class JsonPage(NamedTuple):
    """A page of a list: its items by key, a fault for each item without a usable key, and what leads to the next page.

    `following` is the address of the next page or the value of the parameter for it, or "" if the page states neither.
    `error` is the error that the page states beside its items, or "". `total` is the number of items that the page
    states for the whole list, or 0. `unnamed` is the number of items without a key.
    """

    items: dict[str, Mapping[str, Any]]
    faults: tuple[str, ...] = ()
    following: str = ""
    error: str = ""
    total: int = 0
    unnamed: int = 0


@dataclass(frozen=True)
class JsonList:
    """A list of records that an API returns as JSON.

    `first` is the address of the first page, relative to the `url` of a source. `items` and `key` are the names of the
    list in a page and of the key in an item; dots lead into objects. If `items` is empty, the page itself is the list.
    `following` is the name of the address of the next page. If `parameter` is set, `following` is the name of the value
    that this parameter of the address has for the next page; if `following` is empty, the parameter is a number, which
    is increased by `step` until a page has no items or is not found (404). `read` turns an item into a record, an
    Observation with the given key, which is `SOURCE/KEY`, or returns a Skip. A record is gone when it has been missing
    from the whole list `gone_after` times in a row; 0: it is never gone.
    """

    first: str
    read: Callable[[str, Mapping[str, Any]], Observation | Skip]
    items: str = "items"
    key: str = "id"
    following: str = ""
    parameter: str = ""
    step: int = 1
    gone_after: int = 2

    def requests(self) -> Requests:
        """Return the discovery of a collection with this list."""
        return Requests(self.begin, self.follow)

    def settle(self, phase: str, version: str) -> Settle:
        """Return the step that turns pages into records. Raise `version` when `read` would return other records."""
        return Settle(phase, version, self.read_page, missing=self.find_gone)

    def begin(self, source: Source, _learned: Mapping[str, Any]) -> tuple[Request, ...]:
        """Return the request for the first page. It is sent again after `every` seconds; 0: in each run."""
        return (Request(self.first, "first", every=max(1, int(source.options[EVERY]))),)

    def follow(self, source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
        """Offer the items of a page, and request the next page if there is one.

        An answer that is not a page is skipped, unless it is the 404 after the last numbered page, which ends the list.
        If a page names itself as the next page, its items are offered, but the answer is skipped and no page is
        requested. The next page is requested in each run in which this one was requested. The list is not complete, and
        none of its records is gone, if a page states an error or has an item without a key, which may be any of the
        records, or if a page states a larger total than the number of items that were listed. So an item that moved to
        an earlier page, because another was removed, is not gone.
        """
        page = self.parse_page(answer.view) if answer.status == OK else None
        if page is None and self._ends_at(answer):
            missing_items = _find_missing_items(int(learned.get(LISTED, 0)), int(learned.get(TOTAL, 0)))
            is_whole = not learned.get(INCOMPLETE) and not missing_items
            return FollowResult(end="the last page", findings=missing_items, ends_listing=is_whole)
        if page is None:
            return FollowResult(skip=Reason.PROTOCOL_ERROR)
        findings = [Finding(Reason.INCOMPLETE_RECORD.class_name, fault) for fault in page.faults]
        offers = tuple(Offering(f"{source.name}/{key}") for key in page.items)
        url = self._next_address(answer.request.url, page)
        requests = (Request(url, "next", when_named=True),) if url else ()
        if url and normalise(url, answer.request.url).url == answer.request.url:
            findings.append(Finding(Reason.CRAWLER_TRAP.class_name, "the page names itself as the next page"))
            return FollowResult((), offers, skip=Reason.CRAWLER_TRAP, findings=tuple(findings))
        is_first = answer.request.name == "first"
        before = {} if is_first else learned
        listed = int(before.get(LISTED, 0)) + len(page.items) + len(page.faults)
        if page.error:
            findings.append(Finding(Reason.PROTOCOL_ERROR.class_name, f"the page states an error: {page.error}"))
        is_counted = not url and (is_first or LISTED in before)
        total = max(page.total, int(before.get(TOTAL, 0)))  # if it fell, items moved to pages that were read before
        missing_items = _find_missing_items(listed, total) if is_counted else ()
        findings += missing_items
        is_incomplete = bool(page.error or page.unnamed or before.get(INCOMPLETE))
        remembered: dict[str, Any] = {}
        if total or is_incomplete or learned:
            remembered = {LISTED: listed, TOTAL: total, INCOMPLETE: is_incomplete}
        return FollowResult(
            requests, offers, remembered, end="" if url else "the last page", findings=tuple(findings),
            begins_listing=is_first, ends_listing=not url and not is_incomplete and not missing_items,
        )  # fmt: skip

    def _ends_at(self, answer: Answer) -> bool:
        """Return whether an answer is a 404 for a numbered page: the page before it was the last one."""
        is_counted = bool(self.parameter and not self.following)
        return is_counted and answer.request.name == "next" and answer.status == NOT_FOUND

    def parse_page(self, view: BinaryIO) -> JsonPage | None:
        """Return the page in a document, or None if the document is not a page.

        It is not a page if it is not JSON, has no list at `items`, has an empty list beside an error, or has something
        at `following` that is neither a text nor a whole number, null or false.
        """
        try:
            document = load_json(view.read())
        except (ValueError, RecursionError):  # a ValueError also if it is not UTF-8
            return None
        found_items = _at_path(document, self.items)
        error = find_error(document)
        if not isinstance(found_items, list) or (error and not found_items):
            return None
        items: dict[str, Mapping[str, Any]] = {}
        faults, unnamed = [], 0
        for number, item in enumerate(found_items, 1):
            key = _at_path(item, self.key) if isinstance(item, Mapping) else None
            if not isinstance(item, Mapping) or not isinstance(key, str | int) or isinstance(key, bool) or key == "":
                faults.append(f"item {number} has no {self.key}")
                unnamed += 1
            elif str(key) in items:
                faults.append(f"item {number} has the {self.key} of an earlier item, {str(key)[:100]!r}")
            else:
                items[str(key)] = item
        following = _at_path(document, self.following) if self.following else None
        if following is None or following is False:
            following = ""
        if isinstance(following, bool) or not isinstance(following, str | int):
            return None  # it is not known whether there are further pages
        return JsonPage(items, tuple(faults), str(following), error, find_total(document), unnamed)

    def read_page(self, task: Task) -> list[Observation | Skip]:
        """Return a record or a skip for each item of a page.

        Return a single skip instead if the source is not configured any more, or if the document is not a page of the
        list.
        """
        if task.source is None:
            return [Skip(Reason.SOURCE_INACTIVE, "", "its records are named after its source, which is not configured")]
        page = self.parse_page(task.view)
        if page is None:
            return [Skip(Reason.PROTOCOL_ERROR)]
        skips = [Skip(Reason.INCOMPLETE_RECORD, "", fault) for fault in page.faults]
        return [*(self.read(f"{task.source.name}/{key}", item) for key, item in page.items.items()), *skips]

    def find_gone(self, listing: WholeListing) -> Iterator[Observation]:
        """Yield an observation without a value for each record that is gone.

        Yield nothing if the list is empty, or if `gone_after` is 0.
        """
        if self.gone_after and listing.offers:
            for missing in listing.missing:
                if missing.value is not None and missing.listings >= self.gone_after:
                    yield Observation(missing.key, None)

    def _next_address(self, url: str, page: JsonPage) -> str:
        if not self.parameter:
            return page.following
        if self.following:
            return _with_parameter(url, self.parameter, page.following) if page.following else ""
        if not page.items and not page.faults:
            return ""
        number = dict(parse_qsl(urlsplit(url).query)).get(self.parameter, "")
        next_number = (int(number) if number.isdecimal() else 0) + self.step
        return _with_parameter(url, self.parameter, str(next_number))


def _find_missing_items(listed: int, total: int) -> tuple[Finding, ...]:
    """Return a finding if the pages of a list have fewer items than the list states, otherwise nothing."""
    if listed >= total:
        return ()
    message = f"the list states {total} items, but its pages have {listed}"
    return (Finding(Reason.PROTOCOL_ERROR.class_name, message),)


def _at_path(value: Any, path: str) -> Any:
    """Return what `value` has at a path such as `a.b`, or None. An empty path leads to `value` itself."""
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _with_parameter(url: str, name: str, value: str) -> str:
    """Return the address `url` with the parameter `name` set to `value`, whatever values it had before.

    >>> _with_parameter("https://a.example/items?page=1&sort=id", "page", "2")
    'https://a.example/items?sort=id&page=2'
    """
    parts = urlsplit(url)
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != name]
    return urlunsplit(parts._replace(query=urlencode([*pairs, (name, value)])))
