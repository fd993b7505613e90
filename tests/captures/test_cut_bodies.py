"""Captures of other programs that have only a part of a body."""

import gzip
import os
from contextlib import closing

import pytest

from tests.archive.foreign_records import response_record
from tests.captures.quotes import run_quotes
from tests.captures.test_foreign import ORIGIN, capture_counts, configure, quotes_page, records
from windrow.app.status import count_open, damaged_captures
from windrow.ledger import Ledger


@pytest.mark.parametrize("cut", ["truncated", "gzip", "chunked"])
def test_a_capture_with_a_part_of_a_body_is_taken_and_counted(tmp_path, cut):
    body, head, fields = quotes_page("one"), "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", {}
    if cut == "truncated":
        fields = {"truncated": "disconnect"}
    elif cut == "gzip":
        body, head = gzip.compress(body + os.urandom(99))[:-20], f"{head}Content-Encoding: gzip\r\n"
    else:
        body, head = b"%x\r\n%s\r\n" % (len(body), body), f"{head}Transfer-Encoding: chunked\r\n"
    record = response_record(f"{ORIGIN}/said/1.html", body, f"{head}\r\n".encode(), **fields)
    (tmp_path / "press.warc").write_bytes(record)
    workspace = configure(tmp_path, warc=[tmp_path / "press.warc"])
    for time in (1, 2):  # the file is read again when it has another time
        os.utime(tmp_path / "press.warc", (time, time))
        run_quotes(workspace)
        assert records(workspace) == {"/said/1.html#1": "one"}
        assert capture_counts(workspace) == (1, 2 - time, {"the record has only a part of the body": 1}, [])
    with closing(Ledger(workspace.ledger)) as ledger:
        assert [count[1:4:2] for _, count in ledger.sessions.rule_counts("press")] == [("truncated", 1)]
        damaged = damaged_captures(workspace, ledger)
        assert count_open(workspace, ledger, (), {}, damaged) == 1, "a later run does not end with all well"
