"""Indexes and WARC files of other programs in a workspace that was moved to another folder."""

import sqlite3
from contextlib import closing

from tests.captures.quotes import load_workspace, run_quotes
from tests.captures.test_foreign import ForeignWarc, capture_counts, configure, quotes_page, records


def test_in_a_workspace_that_was_moved_no_capture_is_taken_twice(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "in").mkdir(parents=True)
    warc = ForeignWarc(old / "in" / "press.warc.gz")
    warc.add("/said/1.html", quotes_page("one"))
    warc.add("/other.html", quotes_page("left out"))
    lines = [" CDX N b a m s k r M S V g", *warc.close().lines, warc.lines[0].replace("press.warc", "away.warc")]
    (old / "in" / "press.cdx").write_text("\n".join(lines) + "\n")
    run_quotes(configure(old, cdx=["in"]))
    before = capture_counts(load_workspace(old))
    assert before[:2] == (3, 1)
    old.rename(new)
    run_quotes(load_workspace(new))
    assert (capture_counts(load_workspace(new)), len(records(load_workspace(new)))) == (before, 1)
    with (new / "in" / "press.cdx").open("a") as index:
        index.write(f"{warc.lines[1]}\n")
    run_quotes(load_workspace(new))
    assert capture_counts(load_workspace(new))[0] == 4, "the changed index was read again"
    with closing(sqlite3.connect(new / "ledger.sqlite")) as connection:
        assert connection.execute("SELECT warc FROM captured").fetchall() == [(str(new / "in" / "press.warc.gz"),)]
