"""The exit code that the crawl log keeps for what became of a request."""

from __future__ import annotations

from windrow.collections.pages.code import READ, ExitCode, mime
from windrow.model import Visit
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


def became(visit: Visit) -> ExitCode:
    """Return the exit code of a visit."""
    return ended(visit.status, visit.reason, visit.kept.mime if visit.kept else "")


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
