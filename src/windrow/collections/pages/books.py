"""The crawl log of the standard, as the ledger tells it: rows, exit codes, names that follow from what is named.

A visit is a row of `crawl_log`. Where the server was asked it is a `request` too; where a body came, a `file`;
where it moved, a `redirect`. What was refused before it was asked has a row of `crawl_log` alone, which says so.

Made from the ledger's own facts, so that reading them again gives the same names. They have the form of
UUIDs of version 7 (RFC 9562, section 5.7): the time leads, so that their order is that of time.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from windrow.collections.pages.code import READ, CrawlType, ExitCode, Mime, mime
from windrow.collections.pages.database.entries import (
    Agent,
    LoggedCrawl,
    LoggedFile,
    LoggedRedirect,
    LoggedRequest,
    MimeEntry,
)
from windrow.collections.pages.redirect import move
from windrow.digest import number
from windrow.formats.moment import moment
from windrow.model import Attempt, RecordedAttempt
from windrow.reasons import Reason

CONTENTFUL = frozenset({ExitCode.FILE_INGESTED, ExitCode.PERMANENT_REDIRECT, ExitCode.REDIRECT})
"""Codes of crawls that found something: they move the times and ETags that conditional requests use."""

_STATUS = {
    206: ExitCode.DID_NOT_UNDERSTAND_ANSWER,  # a part of a file, which nobody asked for
    301: ExitCode.PERMANENT_REDIRECT,
    308: ExitCode.PERMANENT_REDIRECT,
    302: ExitCode.REDIRECT,
    303: ExitCode.REDIRECT,
    307: ExitCode.REDIRECT,
    304: ExitCode.FILE_DID_NOT_CHANGE,
    404: ExitCode.FILE_NOT_FOUND,
    410: ExitCode.FILE_GONE,
    429: ExitCode.RATE_LIMITED,
}
_CLASS = {4: ExitCode.SERVER_BLAMED_CLIENT, 5: ExitCode.SERVER_INTERNAL_ERROR}
_REASON = {
    Reason.DNS_FAILED: ExitCode.DNS_ERROR,
    Reason.CONNECT_FAILED: ExitCode.CONNECTION_FAILED,
    Reason.TLS_FAILED: ExitCode.TLS_ERROR,
    Reason.TIMEOUT: ExitCode.REQUEST_TIMEOUT,
    Reason.INTERRUPTED: ExitCode.ERROR_READING_RESPONSE,
    Reason.SIZE_MISMATCH: ExitCode.ERROR_READING_RESPONSE,
    Reason.TOO_LARGE: ExitCode.RESPONSE_TOO_LARGE,
    Reason.BOMB_RATIO: ExitCode.RESPONSE_TOO_LARGE,
    Reason.BOMB_TOTAL: ExitCode.RESPONSE_TOO_LARGE,
    Reason.TIME_LIMIT: ExitCode.REQUEST_TIMEOUT,
    Reason.UNSUPPORTED: ExitCode.FILE_OF_UNKNOWN_TYPE,
    Reason.WRONG_PASSWORD: ExitCode.SERVER_BLAMED_CLIENT,
    Reason.PERMISSION_DENIED: ExitCode.SERVER_BLAMED_CLIENT,
    Reason.NOT_FOUND: ExitCode.FILE_NOT_FOUND,
    Reason.GONE: ExitCode.FILE_GONE,
    Reason.SERVER_ERROR: ExitCode.SERVER_INTERNAL_ERROR,
    Reason.RATE_LIMITED: ExitCode.RATE_LIMITED,
    Reason.REDIRECTED: ExitCode.REDIRECT,
    Reason.ROBOTS_DENIED: ExitCode.ROBOTS_DENIED,
    Reason.ROBOTS_UNREACHABLE: ExitCode.ROBOTS_DENIED,
    Reason.CANCELLED: ExitCode.CANCELLED,
    Reason.STOPPED: ExitCode.CANCELLED,
    Reason.STORE_FAILED: ExitCode.DATABASE_ERROR,
    Reason.NOINDEX: ExitCode.FILE_INGESTED,
    Reason.NOARCHIVE: ExitCode.FILE_INGESTED,
    Reason.EXPIRED: ExitCode.FILE_INGESTED,
} | dict.fromkeys(
    (
        Reason.POLICY_DENIED, Reason.PRIVATE_ADDRESS, Reason.OUT_OF_SCOPE, Reason.QUERY_DENIED, Reason.TRAP,
        Reason.NO_TRANSPORT, Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG, Reason.SITE_GIVEN_UP, Reason.NOT_WANTED,
        Reason.FORGOTTEN,
    ),
    ExitCode.POLICY_DENIED,
)  # fmt: skip


def outcome(status: int | None, reason: Reason | None) -> ExitCode:
    """Return the exit code of a request, from its HTTP status and the reason why it did not succeed.

    A redirect, a 304 and an error are told by their status; a reason tells the rest: that the file was
    of no known type, broke off, was refused before it was asked for. A page that asks not to be indexed
    or kept was crawled all the same.

    >>> outcome(200, None), outcome(200, Reason.UNSUPPORTED), outcome(None, Reason.DNS_FAILED)
    (<ExitCode.FILE_INGESTED: 20>, <ExitCode.FILE_OF_UNKNOWN_TYPE: 29>, <ExitCode.DNS_ERROR: 107>)
    """
    if status is not None and (status in _STATUS or not 200 <= status < 300):
        return _STATUS.get(status) or _CLASS.get(status // 100, ExitCode.DID_NOT_UNDERSTAND_ANSWER)
    if reason is None:
        return ExitCode.FILE_INGESTED if status is not None else ExitCode.DID_NOT_UNDERSTAND_ANSWER
    return _REASON.get(reason, ExitCode.DID_NOT_UNDERSTAND_ANSWER)


def became(attempt: Attempt) -> ExitCode:
    """Return the exit code of a visit."""
    return ended(attempt.status, attempt.reason, attempt.kept.mime if attempt.kept else "")


def ended(status: int | None, reason: Reason | None, media: str) -> ExitCode:
    """Return the exit code of a request, or that what it brought is said to be of a type without a reader.

    `media` is the media type of what was kept, empty where there is nothing or it is not known. A file that has a
    reader was crawled, whatever the reader finds in it.

    >>> ended(200, None, "text/html"), ended(200, None, "image/png")
    (<ExitCode.FILE_INGESTED: 20>, <ExitCode.FILE_OF_UNKNOWN_TYPE: 29>)
    """
    code = outcome(status, reason)
    if code is ExitCode.FILE_INGESTED and media:
        kind = mime(media)
        if kind is not None and kind.essence not in READ:
            return ExitCode.FILE_OF_UNKNOWN_TYPE
    return code


_SHORT = 32
"""Bytes of the identity of what has no text; that of a text pile is its digest, of 64."""


def crawl_uuid(started: datetime, session: int, address: int, kind: int) -> bytes:
    """Name the crawl of an address (`windrow.digest.number` of its URL) in a session.

    >>> from datetime import UTC
    >>> crawl_uuid(datetime(2026, 1, 2, tzinfo=UTC), 1, 7, 0).hex()[:16]
    '019b7c0104007000'
    """
    return _timed(started, f"crawl {session} {address} {kind}")


def agent_uuid(opened: datetime, session: int) -> bytes:
    """Name the crawl agent that a session is, by the time when it was opened."""
    return _timed(opened, f"agent {session}")


def _timed(at: datetime, rest: str) -> bytes:
    """Make a UUID of version 7: milliseconds, twelve bits of what is below them, and 62 bits of a hash."""
    seconds = int(at.timestamp())
    milliseconds, below = divmod(at.microsecond, 1000)
    time = (seconds * 1000 + milliseconds) & (1 << 48) - 1
    low = int.from_bytes(blake2b(rest.encode(), digest_size=8).digest())
    high = time << 16 | 7 << 12 | below * 4096 // 1000
    return (high << 64 | 2 << 62 | low & (1 << 62) - 1).to_bytes(16)


def of_file(mime: Mime | None, size: int | None, mark: str) -> bytes:
    """Tell versions of a file without text apart: by type, size, and the digest of its bytes or else its ETag."""
    return _short("file", mime.essence if mime else "", str(size), mark)


def of_move(url: str, fragment: str | None) -> bytes:
    """Tell versions of a redirect apart: by where it leads."""
    return _short("move", url, "" if fragment is None else f"#{fragment}")


def of_hidden(pile: bytes, reason: str) -> bytes:
    """Tell versions of a document apart whose text is not to be found, by the digest of that text."""
    return _short("hidden", pile.hex(), reason)


def _short(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=_SHORT).digest()


UNASKED = frozenset({ExitCode.ROBOTS_DENIED, ExitCode.POLICY_DENIED})
"""Exit codes of crawls that were refused before the server was asked."""

LONGEST = 2_000
"""Characters of a message that are kept."""


def log(one: RecordedAttempt, holder: str) -> LoggedCrawl:
    """Return the rows of a visit; `holder` is who made it."""
    attempt = one.attempt
    code = became(attempt)
    modified = moment(attempt.validators[1])
    changed = max(0, int(modified.timestamp())) if modified else None
    request = None
    if _asked(attempt, code):
        request = LoggedRequest(attempt.allowed, attempt.status, attempt.validators[0] or None, changed)
    return LoggedCrawl(
        one.seq, Agent(one.session, int(one.opened.timestamp()), agent_uuid(one.opened, one.session), holder),
        attempt.url, _kind(attempt.kind),
        crawl_uuid(attempt.started, one.session, attempt.target or number(attempt.url), attempt.kind),
        int(attempt.started.timestamp()), _took(attempt), int(code), attempt.message[:LONGEST] or None,
        request, _file(attempt, changed), _redirect(attempt, changed), bool(attempt.target), code in CONTENTFUL,
    )  # fmt: skip


def is_text(told: str) -> bool:
    """Tell whether files of a media type have a source text.

    >>> is_text("text/html; charset=utf-8"), is_text("application/atom+xml"), is_text("application/pdf")
    (True, True, False)
    """
    kind = mime(told)
    return kind is not None and (kind.type == "text" or (kind.essence in READ and kind.subtype != "pdf"))


def _kind(kind: int) -> int:
    """Return the standard's number: a sitemap or an asset is a file, and nothing metadata (a HEAD request)."""
    return int(CrawlType.ROBOTSTXT_FETCH if kind == CrawlType.ROBOTSTXT_FETCH else CrawlType.FILE_CRAWL)


def _took(attempt: Attempt) -> int | None:
    """Return the milliseconds that a visit took; None where nobody measured it, as in files of other makers."""
    return round(attempt.seconds * 1000) if attempt.seconds or attempt.status is None else None


def _asked(attempt: Attempt, code: ExitCode) -> bool:
    """Tell whether the server was asked: what was refused before has no duration."""
    return attempt.status is not None or (attempt.seconds > 0 and code not in UNASKED)


def _file(attempt: Attempt, modified: int | None) -> LoggedFile | None:
    kept = attempt.kept
    if kept is None or attempt.status is None or not 200 <= attempt.status < 300:
        return None
    kind = mime(kept.mime)
    return LoggedFile(kept.size, MimeEntry(*kind) if kind else None, modified)


def _redirect(attempt: Attempt, modified: int | None) -> LoggedRedirect | None:
    to = move(attempt.url, attempt.status, attempt.location) if attempt.status is not None else None
    if to is None or not to.url:
        return None
    return LoggedRedirect(to.url, to.fragment, int(to.source), to.permanent, modified)
