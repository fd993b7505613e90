"""Index files in folders, and the layout that a legend declares for the lines after it."""

import gzip
from contextlib import closing

import pytest

from tests.archive.foreign_records import response_record, revisit_record, sha1
from tests.captures.quotes import run_quotes
from tests.captures.test_foreign import ORIGIN, ForeignWarc, configure, quotes_page, records
from windrow.app.summary import summarise
from windrow.archive.warc_reader import read_records
from windrow.contract import CAPTURED
from windrow.contract.registry import phases
from windrow.engine.captures.foreign_captures import ForeignCapturing
from windrow.engine.captures.foreign_records import interpret_record
from windrow.ledger import Ledger
from windrow.model import Limits, Reading
from windrow.reasons import Reason


def test_parts_of_indexes_are_read_and_other_files_of_their_folder_are_counted(tmp_path, monkeypatch):
    """Common Crawl's parts beside *.cdx were ignored, and after a failed job lines were read without their legend."""
    (tmp_path / "cdx").mkdir()
    warc = ForeignWarc(tmp_path / "press.warc.gz")
    for number in (1, 2):
        warc.add(f"/said/{number}.html", quotes_page(f"number {number}"))
    warc.close()
    fields = [line.split() for line in warc.lines]
    rows = [" ".join([row[10], *row[:10]]) for row in fields]  # the file is the first field
    (tmp_path / "cdx" / "a.cdx").write_text(f" CDX g N b a m s k r M S V\n{rows[0]}\n")
    (tmp_path / "cdx" / "cdx-00001.gz").write_bytes(gzip.compress(f"{warc.lines[1]}\n".encode()))
    (tmp_path / "cdx" / "lines.txt").write_text(warc.lines[0])
    run_jobs, failed = ForeignCapturing._run_jobs, iter([[Reading(Reason.TIME_LIMIT)]])
    monkeypatch.setattr(ForeignCapturing, "_run_jobs", lambda self, jobs: next(failed, None) or run_jobs(self, jobs))
    workspace = configure(tmp_path, cdx=[tmp_path / "cdx"], warc=[tmp_path])
    run_quotes(workspace)
    assert set(records(workspace).values()) == {"number 1", "number 2"}
    with closing(Ledger(workspace.ledger)) as ledger:
        rules = {count.rule: count.addresses for count in summarise(ledger, 1, phases()).left_out}
    assert rules["unread files in folders of indexes: packed ones, except gzip, and those with other names"] == 1


@pytest.mark.parametrize(("profile", "status"), [("server-not-modified", 304), ("identical-payload-digest", None)])
def test_a_revisit_without_a_head_has_the_status_of_its_profile_or_of_its_original(tmp_path, profile, status):
    path = tmp_path / "a.warc"
    address = f"http://netpreserve.org/warc/1.1/revisit/{profile}"
    path.write_bytes(revisit_record(f"{ORIGIN}/", b"x", b"", profile=address, payload_digest=sha1(b"x")))
    (record,) = read_records(path, 0, Limits())
    attempt = interpret_record(record, "a.warc", CAPTURED).attempt
    assert attempt is not None
    assert attempt.status == status


def test_revisits_without_a_head_are_taken_if_their_original_has_a_page_and_no_304_is(tmp_path):
    """A revisit of an error page became a page, and a 304 in the place of an index line ended the run."""
    pages, unmodified = {"page": b"200 OK", "error": b"404 Not Found"}, "http://netpreserve.org/warc/1.1/revisit/"
    records_by_name = {
        name: response_record(f"{ORIGIN}/said/{name}.html", quotes_page(name), b"HTTP/1.1 %b\r\n\r\n" % status)
        for name, status in pages.items()
    }
    for name in pages:
        records_by_name[f"again-{name}"] = revisit_record(f"{ORIGIN}/said/again-{name}.html", quotes_page(name), b"")
    records_by_name["empty"] = revisit_record(f"{ORIGIN}/said/empty.html", b"", b"")
    records_by_name["unmodified"] = revisit_record(
        f"{ORIGIN}/said/unmodified.html", b"x", b"", profile=f"{unmodified}server-not-modified"
    )
    offset, lines, content = 0, [], b"".join(records_by_name.values())
    for name, record in records_by_name.items():
        url = f"{ORIGIN}/said/{name}.html"
        lines.append(f"example,press)/ 20240301120000 {url} text/html - - - - {len(record)} {offset} press.warc")
        offset += len(record)
    (tmp_path / "press.warc").write_bytes(content)
    (tmp_path / "press.cdx").write_text("\n".join(lines) + "\n")
    workspace = configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc=[tmp_path])
    run_quotes(workspace)
    with closing(Ledger(workspace.ledger)) as ledger:
        attempts = ledger.captures.after(0, 9, [("quotes", "press")], [404])
        comment = next(task.comment for task in ledger.sessions.tasks_of_source("press") if "examined" in task.comment)
    assert {attempt.attempt.url.rpartition("/")[2]: attempt.attempt.status for attempt in attempts} == {
        "page.html": 200, "error.html": 404, "again-page.html": 200,
    }  # fmt: skip
    assert "3 taken; left out: not_wanted 3" in comment
