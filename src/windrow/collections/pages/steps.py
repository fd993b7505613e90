"""The step `summarise`: turn each attempt to fetch a page into an entry of the Summary Database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from windrow.caps import PAGE_BYTES, PAGE_LINKS, Excess
from windrow.collections.pages import crawl_log
from windrow.collections.pages.code import DAY, CrawlType, ExitCode, InformationSource, Mime, parse_mime
from windrow.collections.pages.crawl_log import classify_attempt
from windrow.collections.pages.database.entries import (
    DEPENDS_ON_HEADER,
    CrawlEntry,
    RedirectEntry,
    Sight,
    SummaryEntry,
    TextSummary,
    hash_link_set,
)
from windrow.collections.pages.reading import PageDocument, read
from windrow.collections.pages.reading.document import UNREAD_JSON_LD, Description
from windrow.collections.pages.reading.ignored import NOTHING_IGNORED, find_ignored
from windrow.collections.pages.redirect import (
    REDIRECTS,
    find_canonical,
    find_link_targets,
    read_redirect,
    resolve_refresh,
)
from windrow.collections.pages.scope import Scope, make_scope
from windrow.content.head import HIDING_DIRECTIVE
from windrow.content.substitute import recognise_substitute
from windrow.contract import Skip, Task, skip_excess
from windrow.errors import StepError
from windrow.formats import robots
from windrow.formats.http import decode_body
from windrow.formats.moment import read_utc_time
from windrow.formats.robots import Directives
from windrow.model import Attempt, KeptResponse, Reading, RecordedAttempt, Source
from windrow.reasons import OWN_FAULTS, TOO_LARGE_REASONS, Reason

MAX_DOCUMENT_BYTES = PAGE_BYTES.number
"""The maximum size, in bytes, of a document that is read, both as stored and after decompression."""

_HTTP_NOT_MODIFIED = 304
_SIGHT_OF_STATUS = {_HTTP_NOT_MODIFIED: Sight.SAME, 404: Sight.MISSING, 410: Sight.GONE}
_NOT_DOCUMENTS = frozenset({204, 205, 206})  # statuses of answers without a body, or with a part of one
_ACCEPTED = 202  # the status of an answer that comes in place of the document
_CHALLENGE_FIELDS = {"x-amzn-waf-action": ("challenge", "captcha"), "cf-mitigated": ("challenge",)}
_EPOCH = datetime.fromtimestamp(0, UTC)  # used if the time of an answer is unknown: its page has not expired then
_REFUSED_LINKS = "links whose address is not valid or too long are left out"
_REASON_NAMES = frozenset(reason.value for reason in Reason)
_UNREADABLE = TOO_LARGE_REASONS | OWN_FAULTS | {Reason.CORRUPT, Reason.TRUNCATED, Reason.TOO_MANY_ELEMENTS}
"""Reasons why nothing of an answer could be read, so that it does not tell what is at its address now."""


def needs_body(recorded: RecordedAttempt) -> bool:
    """Return whether the body that an attempt received must be read: only if it is the whole document of a page."""
    return recorded.attempt.kind == CrawlType.FILE_CRAWL and _is_document(recorded.attempt)


def _is_document(attempt: Attempt) -> bool:
    return attempt.status is not None and 200 <= attempt.status < 300 and attempt.status not in _NOT_DOCUMENTS


def summarise(task: Task) -> TextSummary:
    """Summarise a stored body; if it is too large or cannot be decompressed, the summary has a reason and no text.

    `task.item.key` is the address of the page, `task.item.digest` is the digest of the stored bytes.
    """
    fields = task.fields
    media_type = parse_mime(fields.get("content-type", ""))
    try:
        raw, _ = decode_body(_read_body(task), fields, most=MAX_DOCUMENT_BYTES, ratio=task.limits.ratio)
    except StepError as error:
        return _summarise_file(media_type, None, task.item.digest, error.reason)
    ignored = find_ignored(task.source) if task.source else NOTHING_IGNORED
    page = read(raw, task.item.key, fields, find_scope(task.source), task.limits, ignored=ignored)
    summary = _summarise_page(page, task, len(raw))
    return summary._replace(depends_on_header=_has_hiding_directive(fields) or summary.until is not None)


def name_payload(recorded: RecordedAttempt) -> str:
    """Return the digest of a body, followed by a hash of its media type and `Last-Modified`; "" without a body.

    The name differs for the same bytes with another media type or date, so that they are read again. The name is only
    the digest if the answer has neither of these headers.
    """
    capture, last_modified = recorded.attempt.kept, recorded.attempt.validators[1]
    if capture is None or not (capture.mime or last_modified):
        return capture.digest if capture else ""
    return f"{capture.digest} {blake2b(f'{capture.mime} {last_modified}'.encode(), digest_size=8).hexdigest()}"


def find_expiry(summary: TextSummary) -> int | None:
    """Return the UNIX time from which searches must not find the page, or from which an empty one is requested again.

    Return None if there is no such time, or if the page is hidden.
    """
    return summary.until


def find_scope(source: Source | None) -> Scope | None:
    """Return a source's scope without the host `*` (all links would be internal); None without a source or seeds."""
    if source is None or "seeds" not in source.options:
        return None
    options = source.options
    hosts = (host for host in options["hosts"] if host.partition(":")[0] != "*")
    return _get_scope(tuple(options["seeds"]), tuple(hosts), tuple(options["paths"]))


@lru_cache(maxsize=64)
def _get_scope(seeds: tuple[str, ...], hosts: tuple[str, ...], paths: tuple[str, ...]) -> Scope:
    return make_scope(seeds, hosts, paths)


def is_hidden_by_header(recorded: RecordedAttempt, fields: Mapping[str, str]) -> bool:
    """Return whether a page's answer, a document or 304, has an `X-Robots-Tag` that may hide the page from searches."""
    attempt = recorded.attempt
    return (
        attempt.kind == CrawlType.FILE_CRAWL
        and (_is_document(attempt) or attempt.status == _HTTP_NOT_MODIFIED)
        and _has_hiding_directive(fields)
    )


def _has_hiding_directive(fields: Mapping[str, str]) -> bool:
    return bool(HIDING_DIRECTIVE.search(fields.get("x-robots-tag", "")))


def _read_body(task: Task) -> bytes:
    content = task.view.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise StepError(f"the body is longer than {MAX_DOCUMENT_BYTES} bytes", Reason.TOO_LARGE)
    return content


def find_excess(page: PageDocument, max_links: int) -> tuple[Excess, ...]:
    """Return what the caps leave out of a document, of which at most `max_links` links are stored."""
    if len(page.links) <= max_links:
        return page.left_out
    return page.left_out + PAGE_LINKS._replace(number=max_links).find_excess(len(page.links))


def _summarise_page(page: PageDocument, task: Task, size: int) -> TextSummary:
    """Summarise a document of `size` decompressed bytes; leave its text out if robots directives ask for that."""
    fields, url = task.fields, task.item.key
    canonicals = [*page.canonicals] or ([page.canonical] if page.canonical else [])
    links = _replace_surrogates(tuple(tuple(link) for link in page.links[: task.limits.links]))
    has_excess = page.left_out or len(page.links) > task.limits.links
    left_out = tuple(map(skip_excess, find_excess(page, task.limits.links))) if has_excess else ()
    skips = [Skip(Reason.NOT_WELL_FORMED, "", found.message) for found in page.findings if found.kind == UNREAD_JSON_LD]
    skips += [Skip(reason, "", _REFUSED_LINKS, number) for reason, number in page.refused_links.items()]
    summary = TextSummary(
        b"", links=links, linked=hash_link_set((target, text or "") for target, *_, text in links),
        size=size, mime=page.mime,
        canonical=find_canonical(url, canonicals + find_link_targets(fields.get("link", ""), "canonical")),
        move=_find_refresh(page, url, fields.get("refresh", "")), left_out=(*left_out, *skips),
    )  # fmt: skip
    pile = _replace_surrogates(page.pile.fields())
    digest = type(page.pile)(*pile).digest()
    directives = read_directives(page, fields, task.options.get("agent", ""))
    if reason := directives.refusal(find_answer_time(fields, task.visited)):
        return summary._replace(identity=crawl_log.identify_hidden(digest, reason), reason=reason.value)
    summary = summary._replace(until=int(directives.until.timestamp()) if directives.until else None)
    described = _replace_surrogates(
        astuple(_remove_late_times(page.description, find_answer_time(fields, task.visited)))
    )
    is_challenge = _is_challenge(fields)
    if (is_challenge or not size) and task.visited:
        summary = summary._replace(until=int(task.visited.timestamp() + DAY))
    if is_challenge or not any(pile):
        return summary._replace(
            identity=crawl_log.identify_file(page.mime, size, task.item.digest),
            reason=Reason.BOT_WALL.value
            if is_challenge
            else explain_missing_text(page, leads_on=summary.move is not None),
            described=described,
        )
    defect = _explain_defect(page) or (Reason.CAPPED.value if left_out else "")
    return summary._replace(identity=digest, pile=pile, described=described, reason=defect)


def _find_refresh(page: PageDocument, url: str, header: str) -> RedirectEntry | None:
    """Return the target of the header `Refresh` or else of a `meta` refresh; None if neither leads to another page."""
    target = resolve_refresh(header, url)
    if target is not None and target.url and target.url != url:
        return RedirectEntry(target.url, target.fragment, int(InformationSource.RESPONSE_HEADER))
    refresh = page.refresh
    return (
        RedirectEntry(refresh.url, refresh.fragment, int(InformationSource.FILE_METADATA))
        if refresh is not None
        else None
    )


def _remove_late_times(description: Description, answered_at: datetime) -> Description:
    """Return a description without times that are more than a day after the answer, because a page cannot know them.

    All times are kept if `answered_at` is `_EPOCH`, which means that the time of the answer is unknown.
    """
    latest = answered_at.timestamp() + DAY
    if max(description.created or 0, description.updated or 0) <= latest:
        return description
    created, updated = (
        time if time is None or answered_at == _EPOCH or time <= latest else None
        for time in (description.created, description.updated)
    )
    return replace(description, created=created, updated=updated)


def _explain_defect(page: PageDocument) -> str:
    """Return why a document with text is not the requested page or was read only in part; "" if neither is true."""
    titles = (page.description.title or "", page.description.headline or "")
    if substitute := recognise_substitute(titles, page.pile.text):
        return substitute.value
    return next((finding.kind for finding in page.findings if finding.kind in _REASON_NAMES), "")


def explain_missing_text(page: PageDocument, *, leads_on: bool) -> str:
    """Return the reason why a document has no text, or "" if it only leads on to another page, by a refresh."""
    reasons = [finding.kind for finding in page.findings if finding.kind in _REASON_NAMES]
    if reasons:
        return reasons[0]
    if not page.encoding:
        return Reason.UNSUPPORTED.value
    return "" if leads_on else Reason.NO_TEXT.value


def _is_challenge(fields: Mapping[str, str]) -> bool:
    """Return whether a header says that a firewall answered in place of the server."""
    return any(fields.get(name, "").lower() in values for name, values in _CHALLENGE_FIELDS.items())


def read_directives(page: PageDocument, fields: Mapping[str, str], agent: str) -> Directives:
    """Return the robots directives of a page for the user agent `agent`, from X-Robots-Tag and `meta` elements."""
    return robots.read_header_directives(fields.get("x-robots-tag", "").split("\n"), agent).join(
        robots.read_meta_directives(page.robots_metas, agent)
    )


def find_answer_time(fields: Mapping[str, str], visited: datetime | None) -> datetime:
    """Return the time in the header Date; without a valid one, `visited` (the time of the attempt), or `_EPOCH`."""
    return read_utc_time(fields.get("date", "")) or visited or _EPOCH


def _summarise_file(media_type: Mime | None, size: int | None, validator: str, reason: Reason) -> TextSummary:
    """Summarise a file without text. `validator` is the digest of its bytes, or its ETag if they were not kept."""
    identity = crawl_log.identify_file(media_type, size, validator)
    return TextSummary(identity, reason.value, size=size, mime=media_type)


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which databases cannot store, with `?` in a text, or in a tuple of texts or rows."""
    if isinstance(value, tuple):
        if _is_encodable("".join(_collect_texts(value))):  # all at once: the links of a page have thousands of texts
            return value
        return tuple(map(_replace_surrogates, value))
    if isinstance(value, str) and not _is_encodable(value):
        return value.encode("utf-8", "replace").decode()
    return value


def _collect_texts(values: tuple[Any, ...]) -> list[str]:
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [value for row in rows for value in row if isinstance(value, str)]


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def make_entry(recorded: RecordedAttempt, reading: TextSummary | Reading | None) -> SummaryEntry | None:
    """Return the entry for an attempt; `reading` is the summary of its body, or the failed reading.

    `reading` is None if the body was not read. Return None if the attempt was not for a page, or if it got no answer.
    An answer that was refused as too large also gets an entry.
    """
    attempt = recorded.attempt
    if attempt.kind != CrawlType.FILE_CRAWL:
        return None
    if attempt.status is None and attempt.reason is not Reason.TOO_LARGE:
        return None
    sight, summary = _classify_sight(attempt, reading)
    payload = name_payload(recorded)
    if summary and summary.depends_on_header and attempt.kept:
        payload = f"{attempt.kept.digest} {DEPENDS_ON_HEADER}"
    crawl = CrawlEntry(
        attempt=recorded.seq, url=attempt.url, started_at=int(attempt.started.timestamp()),
        uuid=crawl_log.make_crawl_uuid(attempt.started, recorded.session, attempt.target, attempt.kind), sight=sight,
        agent=crawl_log.make_agent_uuid(recorded.opened, recorded.session), kind=attempt.kind, allowed=attempt.allowed,
        exit_code=int(_find_exit_code(attempt, summary)),
        milliseconds=round(attempt.seconds * 1000) if attempt.seconds else None,
        status=attempt.status, etag=attempt.validators[0] or None, payload=payload,
    )  # fmt: skip
    return SummaryEntry(crawl, summary)


def _find_exit_code(attempt: Attempt, summary: TextSummary | None) -> ExitCode:
    """Return the exit code of an attempt; FILE_INGESTED if a text was read although the declared type has no reader."""
    code = classify_attempt(attempt)
    has_text = code is ExitCode.FILE_OF_UNKNOWN_TYPE and summary is not None and summary.pile is not None
    return ExitCode.FILE_INGESTED if has_text else code


def _classify_sight(attempt: Attempt, reading: TextSummary | Reading | None) -> tuple[Sight, TextSummary | None]:
    """Return what an attempt found, and the summary of the content (None without content, or if it was not read)."""
    status = attempt.status
    if attempt.reason is Reason.TOO_LARGE and (status is None or _is_document(attempt)):
        return Sight.UNKNOWN, _summarise_file(None, None, attempt.validators[0], Reason.TOO_LARGE)
    if status in REDIRECTS:
        return _read_redirect_answer(attempt, status)
    if status == _HTTP_NOT_MODIFIED and isinstance(reading, TextSummary):
        return Sight.CONTENT, reading
    if not _is_document(attempt):
        return _SIGHT_OF_STATUS.get(status or 0, Sight.UNKNOWN), None
    return _classify_document(attempt, attempt.kept, reading) if attempt.kept else (Sight.UNKNOWN, None)


def _classify_document(
    attempt: Attempt, kept: KeptResponse, reading: TextSummary | Reading | None
) -> tuple[Sight, TextSummary | None]:
    if isinstance(reading, Reading):
        reading = _summarise_file(None, None, kept.digest, reading.reason or Reason.STEP_FAILED)
    if reading is None:
        return Sight.CONTENT, None
    if reading.pile is None:
        return Sight.UNKNOWN if _is_stand_in(attempt, reading) else Sight.CONTENT, reading
    return Sight.PART if attempt.is_partial else Sight.CONTENT, reading


def _is_stand_in(attempt: Attempt, summary: TextSummary) -> bool:
    """Return whether an answer without text says nothing about its page: an empty, broken, huge one, or a firewall's.

    A file of a type without a reader, or one that needs a password, has a size and is not a stand-in.
    """
    is_decoded = summary.size is not None  # otherwise its coding is not supported, or it was not read at all
    is_empty = not summary.size and summary.reason == Reason.NO_TEXT
    is_unreadable = not is_decoded or summary.reason in _UNREADABLE or summary.reason == Reason.BOT_WALL
    return is_empty or is_unreadable or attempt.status == _ACCEPTED


def _read_redirect_answer(attempt: Attempt, status: int) -> tuple[Sight, TextSummary | None]:
    """Return UNKNOWN for a redirect without a valid target, otherwise CONTENT and a summary with the target."""
    target = read_redirect(attempt.url, status, attempt.location)
    if target is None or target.reason:
        return Sight.UNKNOWN, None
    redirect = RedirectEntry(target.url, target.fragment, int(target.source))
    return Sight.CONTENT, TextSummary(
        crawl_log.identify_redirect(target.url, target.fragment), file=False, move=redirect
    )
