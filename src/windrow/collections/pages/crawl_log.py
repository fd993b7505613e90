"""The standard's crawl log, projected from the ledger: rows, exit codes, UUIDs of crawls and identities of versions.

An attempt has a row in `crawl_log`, a row in `request` if a request was sent, a row in `file` if a 2xx body was kept,
and a row in `redirect` if the answer was a redirect with a valid target. An attempt that was refused before the request
has only the row in `crawl_log`, with the exit code.

UUIDs are computed from the ledger's records, so that projecting again gives the same UUIDs. They have version 7
(RFC 9562, section 5.7): they begin with the time, so that they sort by time.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b

from windrow.collections.pages.code import READABLE_TYPES, CrawlType, ExitCode, Mime, parse_mime
from windrow.collections.pages.database.entries import Agent, LoggedCrawl, LoggedFile, LoggedRedirect, LoggedRequest
from windrow.collections.pages.redirect import read_redirect
from windrow.digest import hash64
from windrow.formats.moment import read_utc_time
from windrow.model import Attempt, RecordedAttempt
from windrow.reasons import Reason

CONTENTFUL = frozenset({ExitCode.FILE_INGESTED, ExitCode.PERMANENT_REDIRECT, ExitCode.REDIRECT})
"""Exit codes of crawls that found content. The times and ETags of these crawls are recorded in `crawl_candidate`."""

_CODE_OF_STATUS = {
    204: ExitCode.DID_NOT_UNDERSTAND_ANSWER,  # no content
    205: ExitCode.DID_NOT_UNDERSTAND_ANSWER,
    206: ExitCode.DID_NOT_UNDERSTAND_ANSWER,  # a part of a file, which is never requested
    301: ExitCode.PERMANENT_REDIRECT,
    308: ExitCode.PERMANENT_REDIRECT,
    300: ExitCode.REDIRECT,  # to the choice that its Location names
    302: ExitCode.REDIRECT,
    303: ExitCode.REDIRECT,
    307: ExitCode.REDIRECT,
    304: ExitCode.FILE_DID_NOT_CHANGE,
    404: ExitCode.FILE_NOT_FOUND,
    410: ExitCode.FILE_GONE,
    429: ExitCode.RATE_LIMITED,
}
_CODE_OF_STATUS_CLASS = {4: ExitCode.SERVER_BLAMED_CLIENT, 5: ExitCode.SERVER_INTERNAL_ERROR}
_CODE_OF_REASON = {
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
    Reason.LOGIN_FAILED: ExitCode.SERVER_BLAMED_CLIENT,
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
        Reason.POLICY_DENIED, Reason.PRIVATE_ADDRESS, Reason.OUT_OF_SCOPE, Reason.QUERY_DENIED, Reason.CRAWLER_TRAP,
        Reason.NO_TRANSPORT, Reason.BAD_ADDRESS, Reason.ADDRESS_TOO_LONG, Reason.SITE_GIVEN_UP, Reason.NOT_WANTED,
        Reason.FORGOTTEN,
    ),
    ExitCode.POLICY_DENIED,
)  # fmt: skip


def map_outcome(status: int | None, reason: Reason | None) -> ExitCode:
    """Return the exit code of a request. `status` is None if there is no answer, `reason` is None if nothing failed.

    If the answer is a redirect, an error, 304 or 204 to 206, the status decides; otherwise the reason decides, for
    example an unknown file type, a broken connection or a refusal before the request. A page that asks not to be
    indexed or kept counts as ingested.

    >>> map_outcome(200, None), map_outcome(200, Reason.UNSUPPORTED), map_outcome(None, Reason.DNS_FAILED)
    (<ExitCode.FILE_INGESTED: 20>, <ExitCode.FILE_OF_UNKNOWN_TYPE: 29>, <ExitCode.DNS_ERROR: 107>)
    """
    if status is not None and (status in _CODE_OF_STATUS or not 200 <= status < 300):
        return _CODE_OF_STATUS.get(status) or _CODE_OF_STATUS_CLASS.get(
            status // 100, ExitCode.DID_NOT_UNDERSTAND_ANSWER
        )
    if reason is None:
        return ExitCode.FILE_INGESTED if status is not None else ExitCode.DID_NOT_UNDERSTAND_ANSWER
    return _CODE_OF_REASON.get(reason, ExitCode.DID_NOT_UNDERSTAND_ANSWER)


def classify_attempt(attempt: Attempt) -> ExitCode:
    """Return the exit code of an attempt, as `classify_answer` does."""
    return classify_answer(attempt.status, attempt.reason, attempt.kept.mime if attempt.kept else "")


def classify_answer(status: int | None, reason: Reason | None, media_type: str) -> ExitCode:
    """Return the exit code of a request; FILE_OF_UNKNOWN_TYPE if its file has a media type without a reader.

    `media_type` is that of the stored file, or empty if there is no file or its type is unknown.

    >>> classify_answer(200, None, "text/html"), classify_answer(200, None, "image/png")
    (<ExitCode.FILE_INGESTED: 20>, <ExitCode.FILE_OF_UNKNOWN_TYPE: 29>)
    """
    code = map_outcome(status, reason)
    if code is ExitCode.FILE_INGESTED and media_type:
        parsed_type = parse_mime(media_type)
        if parsed_type is not None and parsed_type.essence not in READABLE_TYPES:
            return ExitCode.FILE_OF_UNKNOWN_TYPE
    return code


_IDENTITY_BYTES = 32
"""The number of bytes in the identity of a version without text. The identity of a text pile has 64 bytes."""


def make_crawl_uuid(started: datetime, session: int, url_hash: int, kind: int) -> bytes:
    """Return the UUID of a crawl; `url_hash` is the `hash64` of its URL, and `kind` is a `CrawlType`.

    >>> from datetime import UTC
    >>> make_crawl_uuid(datetime(2026, 1, 2, tzinfo=UTC), 1, 7, 0).hex()[:16]
    '019b7c0104007000'
    """
    return _make_uuid7(started, f"crawl {session} {url_hash} {kind}")


def make_later_uuid(uuid: bytes, attempt: int) -> bytes:
    """Return the UUID of a crawl whose own UUID `uuid` an earlier one of the same address and moment has.

    It sorts behind `uuid`, and behind those of earlier attempts: WARC/1.0 and most crawlers write whole seconds.

    >>> first = make_later_uuid(bytes.fromhex("019b7c0104007000bfffffffffffffff"), 9)
    >>> first.hex()
    '019b7c01040070018000000000000009'
    """
    return ((int.from_bytes(uuid[:8]) + 1 << 64) + (2 << 62) + attempt).to_bytes(16)


def make_agent_uuid(opened: datetime, session: int) -> bytes:
    """Return the UUID of the crawl agent for a session that was opened at the time `opened`."""
    return _make_uuid7(opened, f"agent {session}")


def _make_uuid7(moment: datetime, name: str) -> bytes:
    """Make a UUID of version 7: milliseconds, 12 bits for the fraction of a millisecond, 62 bits of the name's hash."""
    seconds = int(moment.timestamp())
    milliseconds, remainder = divmod(moment.microsecond, 1000)
    time = (seconds * 1000 + milliseconds) & (1 << 48) - 1
    name_hash = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
    time_bits = time << 16 | 7 << 12 | remainder * 4096 // 1000
    return (time_bits << 64 | 2 << 62 | name_hash & (1 << 62) - 1).to_bytes(16)


def identify_file(media_type: Mime | None, size: int | None, validator: str) -> bytes:
    """Return the identity of a file without text; `validator` is the digest of its bytes, or else its ETag."""
    return _hash_parts("file", media_type.essence if media_type else "", str(size), validator)


def identify_redirect(url: str, fragment: str | None) -> bytes:
    """Return the identity of a redirect: a hash of its target."""
    return _hash_parts("move", url, "" if fragment is None else f"#{fragment}")


def identify_hidden(digest: bytes, reason: str) -> bytes:
    """Return the identity of a document that `reason` hides from searches; `digest` is that of its text pile."""
    return _hash_parts("hidden", digest.hex(), reason)


def _hash_parts(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=_IDENTITY_BYTES).digest()


NOT_REQUESTED = frozenset({ExitCode.ROBOTS_DENIED, ExitCode.POLICY_DENIED})
"""Exit codes of crawls that were refused before a request was sent."""

MAX_MESSAGE_LENGTH = 2_000
"""The maximum number of characters of a stored message. Longer messages are cut."""


def log_attempt(recorded: RecordedAttempt, agent_name: str) -> LoggedCrawl:
    """Convert an attempt from the ledger to the rows for its crawl; `agent_name` is the name of the crawl agent."""
    attempt = recorded.attempt
    code = classify_attempt(attempt)
    etag, last_modified = attempt.validators
    modified_time = read_utc_time(last_modified)
    modified = max(0, int(modified_time.timestamp())) if modified_time else None
    request = None
    if _was_requested(attempt, code):
        request = LoggedRequest(attempt.allowed, attempt.status, etag or None, modified)
    opened = recorded.opened
    return LoggedCrawl(
        id=recorded.seq,
        agent=Agent(recorded.session, int(opened.timestamp()), make_agent_uuid(opened, recorded.session), agent_name),
        url=attempt.url, kind=_map_crawl_type(attempt.kind),
        uuid=make_crawl_uuid(attempt.started, recorded.session, attempt.target or hash64(attempt.url), attempt.kind),
        started_at=int(attempt.started.timestamp()), milliseconds=_find_duration(attempt), exit_code=int(code),
        message=attempt.message[:MAX_MESSAGE_LENGTH] or None, request=request, file=_make_file(attempt, modified),
        redirect=_make_redirect(attempt, modified), is_candidate=bool(attempt.target), is_contentful=code in CONTENTFUL,
    )  # fmt: skip


def is_text(media_type: str) -> bool:
    """Return whether a media type is a type of text, or a type that windrow reads as text, such as Atom.

    >>> is_text("text/html; charset=utf-8"), is_text("application/atom+xml"), is_text("application/pdf")
    (True, True, False)
    """
    parsed_type = parse_mime(media_type)
    if parsed_type is None:
        return False
    return parsed_type.type == "text" or (parsed_type.essence in READABLE_TYPES and parsed_type.subtype != "pdf")


def _map_crawl_type(kind: int) -> int:
    """Return the standard's crawl type. Sitemaps and assets get FILE_CRAWL, as METADATA_CRAWL means a HEAD request."""
    return int(CrawlType.ROBOTSTXT_FETCH if kind == CrawlType.ROBOTSTXT_FETCH else CrawlType.FILE_CRAWL)


def _find_duration(attempt: Attempt) -> int | None:
    """Return the duration of an attempt in milliseconds, or None if unknown, as for WARC files from other tools."""
    return round(attempt.seconds * 1000) if attempt.seconds or attempt.status is None else None


def _was_requested(attempt: Attempt, code: ExitCode) -> bool:
    """Return whether a request was sent: it got an answer, or it took time and no rule had refused the address."""
    return attempt.status is not None or (attempt.seconds > 0 and code not in NOT_REQUESTED)


def _make_file(attempt: Attempt, modified: int | None) -> LoggedFile | None:
    capture = attempt.kept
    if capture is None or attempt.status is None or not 200 <= attempt.status < 300:
        return None
    return LoggedFile(capture.size, parse_mime(capture.mime), modified)


def _make_redirect(attempt: Attempt, modified: int | None) -> LoggedRedirect | None:
    target = read_redirect(attempt.url, attempt.status, attempt.location) if attempt.status is not None else None
    if target is None or not target.url:
        return None
    return LoggedRedirect(target.url, target.fragment, int(target.source), target.is_permanent, modified)
