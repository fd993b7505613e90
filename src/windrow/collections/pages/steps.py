"""Summarise: what a visit saw, as the Summary Database is told of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from windrow.collections.pages import books
from windrow.collections.pages.books import became
from windrow.collections.pages.code import CrawlType, ExitCode, InformationSource, Mime, mime
from windrow.collections.pages.database.entries import (
    HEADED,
    CrawlEntry,
    RedirectEntry,
    Sighted,
    SummaryEntry,
    TextSummary,
    hash_of_links,
)
from windrow.collections.pages.database.entries import MimeEntry as Type
from windrow.collections.pages.reading import PageDocument, read
from windrow.collections.pages.redirect import MOVED, canonical, linked, move, sent_on
from windrow.collections.pages.scope import Scope, scope
from windrow.contract import Task
from windrow.errors import StepError
from windrow.formats import robots
from windrow.formats.http import plain
from windrow.formats.moment import moment
from windrow.formats.robots import Directives
from windrow.model import Attempt, Reading, RecordedAttempt, Source
from windrow.reasons import Reason

MOST = 32 << 20
"""Bytes of a document that is read, without its codings."""

LINKS = 20_000
"""Links of one page that are kept, the first of them: 16 MiB have room for a million."""

_SAME = 304
_SIGHTS = {_SAME: Sighted.SAME, 404: Sighted.MISSING, 410: Sighted.GONE}
_PARTIAL = 206
_BEGIN = datetime.fromtimestamp(0, UTC)  # nothing expires where no time is known
_HIDING = re.compile(r"no(?:index|ne\b)|unavailable_after", re.IGNORECASE)
_REASONS = frozenset(one.value for one in Reason)


def wants(one: RecordedAttempt) -> bool:
    """Tell whether the bytes of a visit are to be read: those of a page that answered with a document."""
    return one.attempt.kind == CrawlType.FILE_CRAWL and _there(one.attempt)


def _there(attempt: Attempt) -> bool:
    return attempt.status is not None and 200 <= attempt.status < 300 and attempt.status != _PARTIAL


def summarise(task: Task) -> TextSummary:
    """Read a kept body; one that cannot be read is a file without text, with the reason.

    `task.item` has the page's address as its key and the digest of the kept bytes.
    """
    fields = task.fields
    kind = mime(fields.get("content-type", ""))
    try:
        raw = plain(_kept(task), fields, most=MOST, ratio=task.limits.ratio)
    except StepError as error:
        return _file(kind, None, task.item.digest, error.reason)
    found = _page(read(raw, task.item.key, fields, _site(task.source)), task, len(raw))
    return found._replace(headed=_hides(fields) or found.until is not None)


def known_as(one: RecordedAttempt) -> str:
    """Name the bytes of an answer with what its head says of them; empty where none came.

    The same bytes with another media type or date are described anew.
    """
    kept, modified = one.attempt.kept, one.attempt.validators[1]
    if kept is None or not (kept.mime or modified):
        return kept.digest if kept else ""
    return f"{kept.digest} {blake2b(f'{kept.mime} {modified}'.encode(), digest_size=8).hexdigest()}"


def expires(summary: TextSummary) -> int | None:
    """Return when a page is no more to be found, in seconds since 1970; None where it does not say."""
    return summary.until


def _site(source: Source | None) -> Scope | None:
    """Return the site of a source: `*` names no host, and so none is its own by that."""
    if source is None or "seeds" not in source.options:
        return None
    told = source.options
    return _scope(tuple(told["seeds"]), tuple(one for one in told["hosts"] if one != "*"), tuple(told["paths"]))


@lru_cache(maxsize=64)
def _scope(seeds: tuple[str, ...], hosts: tuple[str, ...], paths: tuple[str, ...]) -> Scope:
    return scope(seeds, hosts, paths)


def refers(one: RecordedAttempt, fields: Mapping[str, str]) -> bool:
    """Tell whether an answer that brought a page's known bytes, or none, asks in its head that it be not found."""
    attempt = one.attempt
    return attempt.kind == CrawlType.FILE_CRAWL and (_there(attempt) or attempt.status == _SAME) and _hides(fields)


def _hides(fields: Mapping[str, str]) -> bool:
    return bool(_HIDING.search(fields.get("x-robots-tag", "")))


def _kept(task: Task) -> bytes:
    kept = task.view.read(MOST + 1)
    if len(kept) > MOST:
        raise StepError(f"longer than {MOST} bytes", Reason.TOO_LARGE)
    return kept


def _page(found: PageDocument, task: Task, size: int) -> TextSummary:
    """Put together what a document says; its text is left out where it asks for that or has none."""
    fields, url, kind = task.fields, task.item.key, found.mime
    told = [*found.canonicals] or ([found.canonical] if found.canonical else [])
    links = _clean(tuple(tuple(link) for link in found.links[:LINKS]))
    about = TextSummary(
        b"", links=links, linked=hash_of_links((link[0], link[10] or "") for link in links), size=size,
        mime=_type(kind),
        canonical=canonical(url, told + linked(fields.get("link", ""), "canonical")),
        move=_onward(found, url, fields.get("refresh", "")),
    )  # fmt: skip
    pile = _clean(found.pile.fields())
    digest = type(found.pile)(*pile).digest()
    asked, now = asks(found, fields, task.options.get("agent", "")), answered(fields, task.visited)
    if reason := asked.refusal(now):
        return about._replace(identity=books.of_hidden(digest, reason), reason=reason.value)
    about = about._replace(until=int(asked.until.timestamp()) if asked.until else None)
    described = _clean(astuple(found.description))
    if not any(pile):
        return about._replace(
            identity=books.of_file(kind, size, task.item.digest), reason=_unread(found), described=described
        )
    return about._replace(identity=digest, pile=pile, described=described)


def _onward(found: PageDocument, url: str, header: str) -> RedirectEntry | None:
    """Return where a page sends its readers on to: by its `Refresh` header, or else by its `meta` element."""
    to = sent_on(header, url)
    if to is not None and to.url and to.url != url:
        return RedirectEntry(to.url, to.fragment, int(InformationSource.RESPONSE_HEADER))
    on = found.refresh
    return RedirectEntry(on.url, on.fragment, int(InformationSource.FILE_METADATA)) if on is not None else None


def _unread(found: PageDocument) -> str:
    """Return why there is no text, empty where the document has none to read."""
    reasons = [finding.kind for finding in found.findings if finding.kind in _REASONS]
    if reasons:
        return reasons[0]
    return "" if found.encoding or found.mime is None else Reason.UNSUPPORTED.value


def asks(found: PageDocument, fields: Mapping[str, str], agent: str) -> Directives:
    """Return what a page asks of those who keep and show it, in its header and in itself."""
    return robots.header(fields.get("x-robots-tag", "").split("\n"), agent).join(robots.meta(found.asks, agent))


def answered(fields: Mapping[str, str], visited: datetime | None) -> datetime:
    """Return when an answer was given: as it says itself, else when it was asked for."""
    return moment(fields.get("date", "")) or visited or _BEGIN


def _file(kind: Mime | None, size: int | None, mark: str, reason: Reason) -> TextSummary:
    return TextSummary(books.of_file(kind, size, mark), reason.value, size=size, mime=_type(kind))


def _type(kind: Mime | None) -> Type | None:
    return Type(*kind) if kind else None


def _clean(value: Any) -> Any:
    """Return texts without halves of surrogate pairs, which no database takes; nearly all come back as they are."""
    if isinstance(value, tuple):
        if _is_sound("".join(_texts(value))):  # all at once: the links of a page are thousands of values
            return value
        return tuple(map(_clean, value))
    if isinstance(value, str) and not _is_sound(value):
        return value.encode("utf-8", "replace").decode()
    return value


def _texts(values: tuple[Any, ...]) -> list[str]:
    """Return the texts of a tuple and of the tuples in it."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [value for row in rows for value in row if isinstance(value, str)]


def _is_sound(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def tell(one: RecordedAttempt, result: TextSummary | Reading | None) -> SummaryEntry | None:
    """Say what a visit saw: `result` is the reading of its bytes, where they had to be read.

    None of a visit to something else than a page, or without an answer: it says nothing of the address.
    """
    attempt = one.attempt
    if attempt.kind != CrawlType.FILE_CRAWL:
        return None
    if attempt.status is None and attempt.reason is not Reason.TOO_LARGE:
        return None
    sight, summary = _saw(attempt, result)
    payload = known_as(one)
    if summary and summary.headed and attempt.kept:
        payload = f"{attempt.kept.digest} {HEADED}"
    crawl = CrawlEntry(
        one.seq, attempt.url, int(attempt.started.timestamp()),
        books.crawl_uuid(attempt.started, one.session, attempt.target, attempt.kind), sight,
        books.agent_uuid(one.opened, one.session), attempt.kind, attempt.allowed, int(_became(attempt, summary)),
        round(attempt.seconds * 1000) if attempt.seconds else None, attempt.status, attempt.validators[0] or None,
        payload,
    )  # fmt: skip
    return SummaryEntry(crawl, summary)


def _became(attempt: Attempt, summary: TextSummary | None) -> ExitCode:
    """Return the exit code of a visit: a file whose text was read was ingested, whatever its server calls it."""
    code = became(attempt)
    read_all_the_same = code is ExitCode.FILE_OF_UNKNOWN_TYPE and summary is not None and summary.pile is not None
    return ExitCode.FILE_INGESTED if read_all_the_same else code


def _saw(attempt: Attempt, result: TextSummary | Reading | None) -> tuple[Sighted, TextSummary | None]:
    """Say what a visit saw of its address, and what it was."""
    status = attempt.status
    if attempt.reason is Reason.TOO_LARGE and (status is None or _there(attempt)):
        return Sighted.CONTENT, _file(None, None, attempt.validators[0], Reason.TOO_LARGE)
    if status in MOVED:
        return _moved(attempt, status)
    if status == _SAME and isinstance(result, TextSummary):
        return Sighted.CONTENT, result
    if not _there(attempt):
        return _SIGHTS.get(status or 0, Sighted.UNKNOWN), None
    if attempt.kept is None:
        return Sighted.UNKNOWN, None
    if isinstance(result, Reading):
        result = _file(None, attempt.kept.size, attempt.kept.digest, result.reason or Reason.STEP_FAILED)
    return Sighted.CONTENT, result


def _moved(attempt: Attempt, status: int) -> tuple[Sighted, TextSummary | None]:
    """Read a redirect; one to nowhere says nothing of what is at its address."""
    to = move(attempt.url, status, attempt.location)
    if to is None or to.reason:
        return Sighted.UNKNOWN, None
    led = RedirectEntry(to.url, to.fragment, int(to.source))
    return Sighted.CONTENT, TextSummary(books.of_move(to.url, to.fragment), file=False, move=led)
