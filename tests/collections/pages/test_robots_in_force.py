"""The robots.txt in force at an origin, computed from the ledger as a crawl decides it."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from windrow.collections.pages.adapter.harvest import find_robots_in_force
from windrow.collections.pages.code import CrawlType
from windrow.config import load
from windrow.ledger import Ledger
from windrow.model import Attempt
from windrow.reasons import Reason

ORIGIN = "https://a.example"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86_400.0


@pytest.mark.parametrize(
    ("answers", "refusal"),
    [
        ([], None),
        ([(0, 1, 404)], None),
        ([(0, 1, 503)], Reason.ROBOTS_UNREACHABLE),
        ([(0, 1, 404), (60, 1, 503)], None),
        ([(0, 1, 404), (DAY - 30, 60, 503)], Reason.ROBOTS_UNREACHABLE),
        ([(0, 60, 404), (DAY, 30, 503)], None),
        ([(0, 1, 301), (2, 1, 503)], Reason.ROBOTS_UNREACHABLE),
        ([(0, 1, 301), (2, 1, 404)], None),
        ([(0, 1, 301)], None),
        ([(number, 1, 301) for number in range(6)], None),
        ([(0, 1, 200, Reason.INTERRUPTED)], Reason.ROBOTS_UNREACHABLE),
        ([(0, 1, 200, Reason.TOO_LARGE)], None),
    ],
)
def test_robots_are_in_force_from_the_end_of_the_last_answer(tmp_path, answers, refusal):
    """Answers are (start in seconds, duration, status, reason); all redirects lead to another file of the origin."""
    (tmp_path / "windrow.toml").touch()
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        with ledger.writing() as writer:
            host = writer.addresses.add_host(1, "pages", "site", ORIGIN)
            for start, seconds, status, *reason in answers:
                attempt = Attempt(
                    0, f"{ORIGIN}/robots.txt", int(CrawlType.ROBOTSTXT_FETCH), True, BEGAN + timedelta(seconds=start),
                    seconds, status, reason=next(iter(reason), None), location="/r.txt" if status == 301 else "",
                )  # fmt: skip
                writer.attempts.record_attempt(1, host, attempt)
        assert find_robots_in_force(load(tmp_path), ledger, ORIGIN).robots.refusal is refusal
