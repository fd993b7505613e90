"""WARC files of other programs that are replaced by others of their names."""

from contextlib import closing

import pytest

from tests.captures.quotes import COLLECTION, run_quotes
from tests.captures.test_foreign import ForeignWarc, capture_counts, configure, quotes_page, records
from windrow.app import Windrow
from windrow.engine.frontier import RETRY, frontier_of
from windrow.ledger import Ledger


@pytest.mark.parametrize("by_cdx", [True, False], ids=["by-cdx", "end-to-end"])
def test_the_records_of_a_file_that_replaces_another_of_its_name_are_taken(tmp_path, by_cdx):
    def write(*pages):
        warc = ForeignWarc(tmp_path / "press.warc", gzip=False)
        for name, quote in pages:
            warc.add(f"/said/{name}.html", quotes_page(quote))
        warc.close()
        (tmp_path / "press.cdx").write_text("\n".join(warc.lines) + "\n")
        run_quotes(workspace)
        with closing(Ledger(workspace.ledger)) as ledger:
            tasks = ledger.sessions.tasks_of_source("press")
            return next(task.comment for task in tasks if "examined" in task.comment)

    inputs = {"cdx": [tmp_path / "press.cdx"]} if by_cdx else {}
    workspace = configure(tmp_path, warc=[tmp_path / "press.warc"], **inputs)
    write(("1", "one"), ("2", "two"))
    comment = write(("3", "six"), ("2", "two"))  # records of the same length, so they are at the same offsets
    assert records(workspace) == {"/said/1.html#1": "one", "/said/2.html#1": "two", "/said/3.html#1": "six"}
    assert "1 taken; 1 of these from files that replaced others" in comment
    assert "1 were taken, or failed, before" in comment
    comment = write(("1", "one"), ("2", "ten"))  # the first one again, and another text at the second address
    assert records(workspace)["/said/2.html#1"] == "ten"
    assert "2 taken; 2 of these" in comment
    assert capture_counts(workspace)[3] == []


def test_a_file_that_was_half_copied_is_read_when_it_is_whole(tmp_path):
    """Its failed records were never read again, had no reason in status, and `retry` did not find them."""
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    for name in ("1", "2", "3"):
        warc.add(f"/said/{name}.html", quotes_page(name))
    content = warc.close().path.read_bytes()
    (tmp_path / "press.cdx").write_text("\n".join(warc.lines) + "\n")
    workspace = configure(tmp_path, warc=[warc.path], cdx=[tmp_path / "press.cdx"])

    def reasons():
        return {row.reason: row.items for row in Windrow(tmp_path).status().reasons}

    warc.path.write_bytes(content[: len(content) // 2])
    for _ in range(3):  # when it was not changed, nothing is read, but the failures stay in status
        run_quotes(workspace)
        assert reasons() == {"truncated": 2}
    with closing(Ledger(workspace.ledger)) as ledger:
        frontier = frontier_of(ledger, COLLECTION)
        for source, reason in (("", "truncated"), ("press", "")):
            chosen = frontier.find_undone(RETRY, source, reason)
            assert [item.key.rpartition("/")[2] for item in chosen] == ["2.html", "3.html"]
    warc.path.write_bytes(content)
    run_quotes(workspace)
    assert len(records(workspace)) == 3
    assert reasons() == {}
