"""The crawl log of the standard, as the ledger's visits tell it: a visit in, its rows out.

A visit is a row of `crawl_log`. Where the server was asked it is a `request` too; where a body came, a `file`;
where it moved, a `redirect`. What was refused before it was asked has a row of `crawl_log` alone, which says so.
"""

from __future__ import annotations

from windrow.collections.pages.code import READ, CrawlType, ExitCode, mime
from windrow.collections.pages.database.entries import (
    Agent,
    LoggedCrawl,
    LoggedFile,
    LoggedRedirect,
    LoggedRequest,
    MimeEntry,
)
from windrow.collections.pages.identity import agent_uuid, crawl_uuid
from windrow.collections.pages.outcome import CONTENTFUL, became
from windrow.collections.pages.redirect import move
from windrow.digest import number
from windrow.formats.moment import moment
from windrow.model import Recorded, Visit

UNASKED = frozenset({ExitCode.ROBOTS_DENIED, ExitCode.POLICY_DENIED})
"""Exit codes of crawls that were refused before the server was asked."""

LONGEST = 2_000
"""Characters of a message that are kept."""


def log(one: Recorded, holder: str) -> LoggedCrawl:
    """Return the rows of a visit; `holder` is who made it."""
    visit = one.visit
    code = became(visit)
    modified = moment(visit.validators[1])
    changed = max(0, int(modified.timestamp())) if modified else None
    request = None
    if _asked(visit, code):
        request = LoggedRequest(visit.allowed, visit.status, visit.validators[0] or None, changed)
    return LoggedCrawl(
        one.seq, Agent(one.session, int(one.opened.timestamp()), agent_uuid(one.opened, one.session), holder),
        visit.url, _kind(visit.kind),
        crawl_uuid(visit.started, one.session, visit.digest or number(visit.url), visit.kind),
        int(visit.started.timestamp()), _took(visit), int(code), visit.message[:LONGEST] or None,
        request, _file(visit, changed), _redirect(visit, changed), bool(visit.digest), code in CONTENTFUL,
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


def _took(visit: Visit) -> int | None:
    """Return the milliseconds that a visit took; None where nobody measured it, as in files of other makers."""
    return round(visit.seconds * 1000) if visit.seconds or visit.status is None else None


def _asked(visit: Visit, code: ExitCode) -> bool:
    """Tell whether the server was asked: what was refused before has no duration."""
    return visit.status is not None or (visit.seconds > 0 and code not in UNASKED)


def _file(visit: Visit, modified: int | None) -> LoggedFile | None:
    kept = visit.kept
    if kept is None or visit.status is None or not 200 <= visit.status < 300:
        return None
    kind = mime(kept.mime)
    return LoggedFile(kept.size, MimeEntry(*kind) if kind else None, modified)


def _redirect(visit: Visit, modified: int | None) -> LoggedRedirect | None:
    to = move(visit.url, visit.status, visit.location) if visit.status is not None else None
    if to is None or not to.url:
        return None
    return LoggedRedirect(to.url, to.fragment, int(to.source), to.permanent, modified)
