"""Import WARC files while the clock is behind, and again when it is right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.archive.foreign_records import response_record
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.engine.warc_intake import query_ledger, take_warcs
from windrow.clock import spell


def test_a_file_that_was_imported_while_the_clock_was_behind_is_read_again(tmp_path: Path, real_clock) -> None:  # noqa: F811
    dates = ["2024-03-01T12:00:00Z", spell(datetime.now(UTC) + timedelta(days=3)), "9999-12-31T23:59:59Z"]
    warc = tmp_path / "x.warc"
    warc.write_bytes(
        b"".join(response_record(f"http://a.example/{at}", b"x", date=date) for at, date in enumerate(dates))
    )
    for expected, refused in (1, 2), (1, 2), (2, 1), (2, 1):
        assert take_warcs(tmp_path, warc) == 0
        assert query_ledger(tmp_path, "SELECT count(*) FROM attempt") == [(expected,)]
        comments = query_ledger(tmp_path, "SELECT comment FROM task_end ORDER BY seq DESC LIMIT 2")
        assert any(f"bad_date {refused}" in comment for (comment,) in comments)
        assert query_ledger(tmp_path, "SELECT count(*) FROM finding") == [(2,)]
        if refused == 2:
            pass_time(2 * 86400)
