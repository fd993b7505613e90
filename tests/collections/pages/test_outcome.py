from datetime import UTC, datetime

import pytest

from windrow.collections.pages.code import CrawlType, ExitCode
from windrow.collections.pages.crawl_log import CONTENTFUL, log_attempt, map_outcome
from windrow.collections.pages.database.entries import TextSummary
from windrow.collections.pages.steps import make_entry
from windrow.model import ArchivePlace, Attempt, KeptResponse, RecordedAttempt
from windrow.reasons import Reason

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, 20), (203, 20), (301, 31), (308, 31), (302, 32), (303, 32), (307, 32), (304, 34), (300, 32), (100, 42),
        (400, 40), (401, 40), (403, 40), (404, 44), (410, 41), (418, 40), (429, 49), (451, 40), (500, 50), (503, 50), (599, 50),
        (600, 42), (0, 42), (206, 42),
    ],
)  # fmt: skip
def test_statuses(status, code):
    assert map_outcome(status, None) == code


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (Reason.DNS_FAILED, ExitCode.DNS_ERROR),
        (Reason.CONNECT_FAILED, ExitCode.CONNECTION_FAILED),
        (Reason.TLS_FAILED, ExitCode.TLS_ERROR),
        (Reason.TIMEOUT, ExitCode.REQUEST_TIMEOUT),
        (Reason.INTERRUPTED, ExitCode.ERROR_READING_RESPONSE),
        (Reason.PROTOCOL_ERROR, ExitCode.DID_NOT_UNDERSTAND_ANSWER),
        (Reason.TOO_LARGE, ExitCode.RESPONSE_TOO_LARGE),
        (Reason.BOMB_RATIO, ExitCode.RESPONSE_TOO_LARGE),
        (Reason.ROBOTS_DENIED, ExitCode.ROBOTS_DENIED),
        (Reason.PRIVATE_ADDRESS, ExitCode.POLICY_DENIED),
        (Reason.CRAWLER_TRAP, ExitCode.POLICY_DENIED),
        (Reason.STOPPED, ExitCode.CANCELLED),
        (Reason.WRONG_ENCODING, ExitCode.DID_NOT_UNDERSTAND_ANSWER),
    ],
)
def test_reasons(reason, code):
    assert map_outcome(None, reason) is code


def test_a_body_that_broke_off():
    assert map_outcome(200, Reason.INTERRUPTED) is ExitCode.ERROR_READING_RESPONSE
    assert map_outcome(200, Reason.UNSUPPORTED) is ExitCode.FILE_OF_UNKNOWN_TYPE
    assert map_outcome(200, Reason.NOINDEX) is ExitCode.FILE_INGESTED
    assert map_outcome(404, Reason.TOO_LARGE) is ExitCode.FILE_NOT_FOUND


def test_no_reason_passes_for_success():
    kind = {Reason.NOINDEX, Reason.NOARCHIVE, Reason.EXPIRED}
    assert {reason for reason in Reason if map_outcome(None, reason) is ExitCode.FILE_INGESTED} == kind
    assert map_outcome(None, None) is ExitCode.DID_NOT_UNDERSTAND_ANSWER
    assert {20, 31, 32} == CONTENTFUL


def test_the_books_and_the_summary_tell_the_same_of_a_file_without_a_reader():
    kept = KeptResponse("sha256:0", 3, ArchivePlace("a.warc.gz", 0, 9), mime="image/png")
    attempt = Attempt(1, "https://example.org/a", 0, True, AT, 0.5, 200, kept)
    recorded = RecordedAttempt(7, 1, AT, "site", attempt)
    unread = TextSummary(b"", "unsupported", size=3)
    assert (
        log_attempt(recorded, "me").exit_code
        == make_entry(recorded, unread).crawl.exit_code
        == ExitCode.FILE_OF_UNKNOWN_TYPE
    )
    html = recorded._replace(attempt=attempt._replace(kept=kept._replace(mime="text/html")))
    broken = TextSummary(b"", "corrupt", size=3)
    assert log_attempt(html, "me").exit_code == make_entry(html, broken).crawl.exit_code == ExitCode.FILE_INGESTED


def test_what_nobody_measured_has_no_duration():
    attempt = Attempt(1, "https://example.org/a", 0, True, AT, 0.0, 404)
    assert log_attempt(RecordedAttempt(7, 1, AT, "site", attempt), "me").milliseconds is None
    assert log_attempt(RecordedAttempt(7, 1, AT, "site", attempt._replace(seconds=0.25)), "me").milliseconds == 250


def test_a_part_of_a_file_and_a_sitemap_are_told_in_the_standards_codes():
    assert map_outcome(206, None) is ExitCode.DID_NOT_UNDERSTAND_ANSWER
    attempt = Attempt(1, "https://example.org/sitemap.xml", int(CrawlType.METADATA_CRAWL), True, AT, 0.5, 200)
    assert log_attempt(RecordedAttempt(7, 1, AT, "site", attempt), "me").kind == CrawlType.FILE_CRAWL
    robots = attempt._replace(kind=int(CrawlType.ROBOTSTXT_FETCH))
    assert log_attempt(RecordedAttempt(7, 1, AT, "site", robots), "me").kind == CrawlType.ROBOTSTXT_FETCH
