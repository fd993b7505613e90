"""WARC files of other programs become attempts, once each, after any kill, and in any order of files."""

import gzip
import hashlib
import random
import signal
import sqlite3
import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from types import SimpleNamespace

import pytest

from tests import programs
from tests.archive.foreign_records import make_record, pack_records, response_record, revisit_record, warcinfo_record
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.engine.folder_crawl import crawl_folder
from tests.engine.warc_intake import query_ledger, take_warcs
from windrow.archive import ArchiveWriter, CaptureSink, open_capture
from windrow.archive.warc_reader import read_records
from windrow.clock import spell
from windrow.digest import digest
from windrow.engine.crawl import warc_import
from windrow.errors import ArchiveError
from windrow.formats.http import CUT_BODY
from windrow.model import ArchivePlace, FetchJob, KnownCapture, Limits
from windrow.reasons import Reason

MOVED = b"HTTP/1.1 301 Moved Permanently\r\nLocation: /new\r\n\r\n"
GONE = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n"
ATTEMPTS = """
SELECT a.url, v.kind, v.status, v.started, v.digest, v.size, v.etag, v.location, v.reason FROM attempt v
JOIN address a ON a.digest = v.address ORDER BY a.url, v.started
"""
WHOLE = """
SELECT a.url, v.started, v.status, v.digest, v.warc, v.place_offset, v.place_length FROM attempt v
JOIN address a ON a.digest = v.address ORDER BY 1, 2, 5, 6
"""


def write(path, *records, pack=True):
    path.write_bytes(pack_records(records) if pack else b"".join(records))
    return path


def task_comments(root):
    return [row[0] for row in query_ledger(root, "SELECT comment FROM task_end ORDER BY seq")]


def test_records_become_attempts(tmp_path):
    warc = write(
        tmp_path / "one.warc.gz",
        warcinfo_record(),
        response_record("http://A.example:80/x#part", b"first"),
        make_record("request", b"GET / HTTP/1.1\r\n\r\n", content_type="application/http; msgtype=request"),
        make_record("metadata", b"a: b", target_uri="http://a.example/x", content_type="application/warc-fields"),
        response_record("http://a.example/old", b"", MOVED, date="2024-03-01T12:00:01.123456789Z", version="1.1"),
        response_record("<http://a.example/none>", b"no", GONE),
        response_record("http://a.example/robots.txt", b"User-agent: *"),
        make_record("response", b"93.184.216.34", target_uri="dns:a.example", content_type="text/dns"),
        make_record("resource", b"<p>kept", target_uri="https://b.example/res", content_type="text/html"),
        make_record("resource", b"{}", target_uri="urn:pageinfo:http://a.example/", content_type="application/json"),
    )
    assert take_warcs(tmp_path, warc) == 0
    none, old, first, res = query_ledger(tmp_path, ATTEMPTS)
    name = "http://a.example/x"
    assert first == (name, 0, 200, "2024-03-01T12:00:00.000000Z", digest(b"first"), 5, '"1"', "", None)
    assert none[:3] == ("http://a.example/none", 0, 404)
    assert (old[0], *old[2:4]) == ("http://a.example/old", 301, "2024-03-01T12:00:01.123456Z")
    assert old[7] == "/new"
    assert res[:3] == ("https://b.example/res", 0, 200)
    left = ("warcinfo", "request", "metadata", "robots.txt", "dns address", "urn address")
    assert task_comments(tmp_path) == ["them: 1 file, 4 captures; left out: " + ", ".join(f"{word} 1" for word in left)]
    warc, offset, length = query_ledger(tmp_path, "SELECT warc, place_offset, place_length FROM attempt ORDER BY seq")[
        0
    ]
    with open_capture(tmp_path / "archive", ArchivePlace(warc, offset, length)) as view:
        assert view.read() == b"first"


def test_what_is_wrong_is_found_and_the_rest_goes_on(tmp_path):
    warc = write(
        tmp_path / "one.warc",
        response_record("", b"no address"),
        response_record("http://[::bad/", b"bad address"),
        response_record("http://a.example/1", b"no time", date="yesterday"),
        response_record("http://a.example/2", b"no head", b""),
        response_record("http://a.example/3", b"good"),
        response_record("http://a.example/4", b"part", truncated="length"),
        response_record("http://a.example/5", b"part", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
        response_record("http://a.example/6", b"", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
        response_record(
            "http://a.example/7", b"3\r\ncut\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        response_record("http://a.example/8", b"cut")[:-8],
        pack=False,
    )
    assert take_warcs(tmp_path, warc) == 0
    assert [row[0][-1] for row in query_ledger(tmp_path, ATTEMPTS)] == ["3", "4", "5", "6", "7"]
    assert query_ledger(tmp_path, "SELECT message FROM attempt WHERE message != ''") == [
        ("it has only a part of the body (WARC-Truncated: length)",),
        ("it has 4 of the 9 bytes of the body that its Content-Length states",),
        (CUT_BODY,),
    ]
    findings = query_ledger(tmp_path, "SELECT kind, level FROM finding ORDER BY seq")
    assert findings == [
        (kind, "warn") for kind in ("BadAddress", "BadAddress", "BadDate", "ProtocolError", *("Truncated",) * 4)
    ]
    assert "8 records with faults: truncated 4," in task_comments(tmp_path)[0]


def test_dates_of_less_precision_and_of_fourteen_digits_are_times(tmp_path):
    dates = ["2024", "2024-03", "2024-03-01", "2024-03-01T12:30Z", "20240301123059", "2024-03-01T12:30:59.5Z", "202"]
    warc = write(
        tmp_path / "x.warc",
        *(response_record(f"http://a.example/{at}", b"x", date=date) for at, date in enumerate(dates)),
    )
    assert take_warcs(tmp_path, warc) == 0
    assert [row[3][:19] for row in query_ledger(tmp_path, ATTEMPTS)] == [
        "2024-01-01T00:00:00", "2024-03-01T00:00:00", "2024-03-01T00:00:00", "2024-03-01T12:30:00",
        "2024-03-01T12:30:59", "2024-03-01T12:30:59",
    ]  # fmt: skip
    assert task_comments(tmp_path)[0] == "them: 1 file, 6 captures; 1 record with faults: bad_date 1"


def test_a_capture_of_the_future_or_from_before_the_web_is_refused(tmp_path):
    """A capture dated in the future was the current version of its address for ever."""
    times = [datetime.now(UTC) + timedelta(minutes=minutes) for minutes in (3, 4)]
    dates = ["1989-01-01T00:00:00Z", *map(spell, times), "9999-12-31T23:59:59Z", "1988-12-31T23:59:59Z", "0001"]
    records = (response_record(f"http://a.example/{at}", b"x", date=date) for at, date in enumerate(dates))
    warc = write(tmp_path / "x.warc", *records)
    assert take_warcs(tmp_path, warc) == 3, "one would end pages that are fetched in the next minutes"
    assert [row[0][-1] for row in query_ledger(tmp_path, ATTEMPTS)] == ["0"]
    assert task_comments(tmp_path)[-1].endswith(
        "has a time that is still to come; import the file again after that time, to read on"
    )
    pass_time(250)
    assert take_warcs(tmp_path, warc) == 0
    assert [row[0][-1] for row in query_ledger(tmp_path, ATTEMPTS)] == ["0", "1", "2"]
    problems = [message.rpartition("' ")[2] for (message,) in query_ledger(tmp_path, "SELECT message FROM finding")]
    assert problems == ["is in the future"] + ["is before 1989"] * 2


def test_kinds_of_records_that_a_line_does_not_name_are_counted(tmp_path):
    others = (make_record(f"kind{at}") for at in range(11))
    assert take_warcs(tmp_path, write(tmp_path / "x.warc", response_record("http://a.example/", b"x"), *others)) == 0
    assert task_comments(tmp_path)[0].endswith("kind6 1, kind7 1, of other kinds 3")


def test_twice_is_once(tmp_path):
    warc = write(tmp_path / "one.warc.gz", response_record("http://a.example/", b"x"))
    copy = write(tmp_path / "other.warc.gz", response_record("http://a.example/", b"x"))
    copy.write_bytes(warc.read_bytes())
    assert take_warcs(tmp_path, warc) == 0
    assert take_warcs(tmp_path, warc, copy, source="others") == 0
    assert len(query_ledger(tmp_path, ATTEMPTS)) == 1
    assert query_ledger(tmp_path, "SELECT name FROM intake_name ORDER BY name") == [
        ("one.warc.gz",),
        ("other.warc.gz",),
    ]
    assert (
        task_comments(tmp_path)[1]
        == "others: 2 files, 0 captures; 2 files imported before; 2 files already imported for source them"
    )


def test_what_is_no_warc_file_fails_and_the_others_go_on(tmp_path):
    wrong, good = tmp_path / "wrong.warc", write(tmp_path / "good.warc.gz", response_record("http://a.example/", b"x"))
    wrong.write_bytes(b"hello")
    assert take_warcs(tmp_path, wrong, tmp_path / "none.warc", good) == 3
    assert len(query_ledger(tmp_path, ATTEMPTS)) == 1
    assert "wrong.warc: it is not a WARC or ARC file" in task_comments(tmp_path)[0]
    assert len(list((tmp_path / "archive/foreign").iterdir())) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_revisits_find_their_bytes_in_any_order_of_files(tmp_path, order):
    later = {"date": "2024-04-01T00:00:00Z"}
    files = [
        write(
            tmp_path / "0.warc.gz",
            response_record("http://a.example/", b"same", payload_digest=""),
            revisit_record("http://b.example/", b"same", **later),
        ),
        write(tmp_path / "1.warc.gz", revisit_record("http://a.example/", b"same", **later)),
        write(tmp_path / "2.warc.gz", revisit_record("http://a.example/", b"never seen", **later)),
    ]
    for at in order:  # a file of revisits without an original fails at first
        assert take_warcs(tmp_path, files[at]) == (3 if at == 2 or (at == 1 and order.index(0) > order.index(1)) else 0)
    rows = [(row[0], row[3][:7], row[4]) for row in query_ledger(tmp_path, ATTEMPTS)]
    assert rows == [
        ("http://a.example/", "2024-03", digest(b"same")),
        ("http://a.example/", "2024-04", digest(b"same")),
        ("http://b.example/", "2024-04", digest(b"same")),
    ]
    assert query_ledger(tmp_path, "SELECT count(*) FROM intake_waiting") == [(1,)]
    assert any("1 revisit without an original" in line for line in task_comments(tmp_path))
    for *place, revisit in query_ledger(tmp_path, "SELECT warc, place_offset, place_length, revisit FROM attempt"):
        with open_capture(tmp_path / "archive", ArchivePlace(*place)) as view:
            assert view.read() == (b"" if revisit else b"same")


def test_revisits_whose_original_never_came_are_told_and_fail_the_file(tmp_path):
    warc = write(
        tmp_path / "one.warc.gz",
        warcinfo_record(),
        revisit_record("http://a.example/", b"elsewhere"),
        revisit_record("http://b.example/", b"x"),
    )
    assert take_warcs(tmp_path, warc) == 3
    assert "one.warc.gz: 2 revisits without an original (no_original)" in task_comments(tmp_path)[0]
    assert "2 revisits without an original (no_original)" in task_comments(tmp_path)[0]
    both = [
        write(tmp_path / "b.warc.gz", revisit_record("http://c.example/", b"z")),
        write(tmp_path / "z.warc.gz", response_record("http://d.example/", b"z")),
    ]
    assert take_warcs(tmp_path, *both) == 0


def test_revisits_that_wait_beside_records_that_came_are_noted_of_the_session(tmp_path):
    """A file that gave something has not failed; revisits that wait are reported anyway."""
    warc = write(
        tmp_path / "one.warc.gz",
        warcinfo_record(),
        response_record("http://a.example/", b"x"),
        revisit_record("http://b.example/", b"lost"),
    )
    assert take_warcs(tmp_path, warc) == 0
    noted = query_ledger(tmp_path, "SELECT e.comment FROM task_end e JOIN task t ON t.seq = e.task WHERE t.source = ''")
    assert [row[0] for row in noted] == [
        "them: 1 file, 1 capture; 1 revisit without an original (no_original); left out: warcinfo 1"
    ]


def test_a_file_without_a_page_fails_and_a_crawlers_notes_do_not(tmp_path):
    broken = write(tmp_path / "broken.warc.gz", warcinfo_record(), response_record("http://a.example/", b"x", b""))
    assert take_warcs(tmp_path, broken) == 3
    assert "1 record with faults: protocol_error 1" in task_comments(tmp_path)[0]
    assert "no capture was imported from " in task_comments(tmp_path)[0]
    notes = write(
        tmp_path / "got-meta.warc.gz",
        warcinfo_record(),
        make_record("metadata", b"a: b", content_type="application/warc-fields"),
    )
    assert take_warcs(tmp_path, notes) == 0
    assert take_warcs(tmp_path, write(tmp_path / "empty.warc.gz")) == 3


def test_a_revisit_of_an_empty_body_needs_no_original(tmp_path):
    hex_ = f"sha1:{hashlib.sha1(b'').hexdigest()}"
    files = write(
        tmp_path / "one.warc.gz",
        response_record("http://a.example/", b""),
        revisit_record("http://a.example/", b"", date="2024-04-01T00:00:00Z"),
        revisit_record(
            "http://b.example/", b"", payload_digest="sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ===="
        ),
        revisit_record("http://c.example/", b"", payload_digest=hex_),
        revisit_record("http://d.example/", b"", b""),  # its status is not known
        response_record("http://e.example/", b"lost", b"HTTP/1.1 404 Not Found\r\n\r\n"),
        revisit_record("http://f.example/", b"lost", b""),
    )
    assert take_warcs(tmp_path, files) == 0
    assert [(row[0][7], row[4], row[5]) for row in query_ledger(tmp_path, ATTEMPTS)][:4] == [
        (at, digest(b""), 0) for at in "aabc"
    ]
    statuses = query_ledger(tmp_path, "SELECT status FROM attempt ORDER BY seq")
    assert statuses == [(200,)] * 4 + [(404,)] * 2
    assert any("left out: revisit of an empty body, without its status 1" in line for line in task_comments(tmp_path))
    assert query_ledger(tmp_path, "SELECT count(*) FROM intake_waiting") == [(0,)]


def test_our_own_archive_comes_in_with_its_revisits_and_answers_304(tmp_path):
    own, target = tmp_path / "own", tmp_path / "there"
    archive = ArchiveWriter(own, "windrow-000001-1", Limits(free_space=0), 1 << 30, "test")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    at, last = datetime(2026, 1, 1, tzinfo=UTC), KnownCapture()
    for unchanged in (False, False, True):
        sink = CaptureSink(archive, FetchJob(1, "http://a.example/", last=last), at)
        sink.open(None, b"HTTP/1.1 304 Not Modified\r\n\r\n" if unchanged else head, b"GET / HTTP/1.1\r\n\r\n")
        kept = sink.finish(unchanged=unchanged)
        last, at = KnownCapture(kept.digest, spell(at), "http://a.example/"), at + timedelta(days=1)
    archive.close()
    target.mkdir()
    assert take_warcs(target, *own.glob("*.warc.gz")) == 0
    rows = [(row[2], row[4]) for row in query_ledger(target, ATTEMPTS)]
    assert rows == [(200, digest(b"")), (200, digest(b"")), (304, "")]


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("method", ["POST", "HEAD", "GET"])
def test_what_was_asked_for_by_another_method_than_get_is_no_page(tmp_path, before, method):
    asked = f"{method} / HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    request_fields = {"target_uri": "http://a.example/", "content_type": "application/http; msgtype=request"}
    records = [
        make_record("request", asked, record_id="<urn:uuid:2>", concurrent_to="<urn:uuid:3>", **request_fields),
        response_record("http://a.example/", b"answer", record_id="<urn:uuid:3>"),
    ]
    other_page = response_record("http://b.example/", b"other", record_id="<urn:uuid:4>")
    # So many that a batch would end between the answer and its request.
    filling = [make_record("metadata", b"a: b") for _ in range(254)]
    warc = write(tmp_path / "one.warc.gz", *filling, *(records if before else records[::-1]), other_page)
    assert take_warcs(tmp_path, warc) == 0
    assert [row[0][7] for row in query_ledger(tmp_path, ATTEMPTS)] == (["a", "b"] if method == "GET" else ["b"])
    assert (f"answer to {method} 1" in task_comments(tmp_path)[0]) == (method != "GET")


def test_arc_one_gzip_stream_and_old_warc_give_their_pages(tmp_path):
    line = b"http://%s.example/ 192.0.2.1 20040131120000 text/html 45\n"
    block = b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n<p>x"
    arc = tmp_path / "one.arc"
    arc.write_bytes(
        b"filedesc://one.arc 0.0.0.0 20040131120000 text/plain 9\n1 0 test\n\n\n" + line % b"a" + block + b"\n"
    )
    stream = tmp_path / "two.warc.gz"
    stream.write_bytes(
        gzip.compress(
            warcinfo_record() + response_record("http://b.example/", b"b") + response_record("http://c.example/", b"c")
        )
    )
    old = write(tmp_path / "three.warc", response_record("http://d.example/", b"d", version="0.18"), pack=False)
    assert take_warcs(tmp_path, arc, stream, old) == 0
    rows = query_ledger(tmp_path, ATTEMPTS)
    assert [(row[0][7], row[3][:10]) for row in rows] == [("a", "2004-01-31"), *((x, "2024-03-01") for x in "bcd")]
    assert rows[0][4] == digest(b"<p>x")
    assert take_warcs(tmp_path, arc, stream, old) == 0
    assert task_comments(tmp_path)[1] == "them: 3 files, 0 captures; 3 files imported before"
    for *place, digested in query_ledger(tmp_path, "SELECT warc, place_offset, place_length, digest FROM attempt"):
        with open_capture(tmp_path / "archive", ArchivePlace(*place)) as view:
            assert digest(view.read()) == digested


def test_a_server_that_said_unmodified_needs_no_bytes(tmp_path):
    profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    revisit = revisit_record("http://a.example/", b"", b"HTTP/1.1 304 Not Modified\r\n\r\n", profile=profile)
    assert take_warcs(tmp_path, write(tmp_path / "one.warc.gz", revisit)) == 0
    assert [row[2] for row in query_ledger(tmp_path, ATTEMPTS)] == [304]


def test_addresses_from_elsewhere_are_known_and_asked_only_where_a_site_leads(nginx, tmp_path):
    folder, origin, path = nginx.folder("elsewhere")
    (folder / "index.html").write_text('<a href="a.html">a</a>')
    for name in ("a.html", "b.html"):
        (folder / name).write_text(name)
    records = [response_record(f"{origin}{path}{name}", b"then") for name in ("index.html", "a.html", "b.html")]
    assert take_warcs(tmp_path, write(tmp_path / "one.warc.gz", *records)) == 0
    assert query_ledger(tmp_path, "SELECT count(*) FROM address WHERE due IS NOT NULL") == [(0,)]
    assert crawl_folder(tmp_path, origin, path) == 0
    asked = "SELECT a.url FROM attempt v JOIN address a ON a.digest = v.address WHERE v.kind = 0 AND v.warc NOT LIKE 'foreign%'"
    assert sorted(row[0].rpartition("/")[2] for row in query_ledger(tmp_path, asked)) == ["a.html", "index.html"]
    assert query_ledger(tmp_path, "SELECT source FROM host") == [("site",)]
    assert (
        take_warcs(tmp_path, write(tmp_path / "two.warc.gz", response_record(f"{origin}{path}a.html", b"other"))) == 0
    )
    assert query_ledger(tmp_path, "SELECT count(*) FROM address WHERE url LIKE '%a.html' AND due > 0") == [(1,)]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a file of 1,500 records, some of them revisits, and the rows after a run that is not killed."""
    rng, root = random.Random(7), tmp_path_factory.mktemp("whole")
    records = [warcinfo_record()]
    for at in range(1_500):
        url, body = f"http://h{at % 50}.example/{rng.randrange(750)}", str(rng.randrange(500)).encode() * 40
        date = f"2024-03-{1 + at % 28:02}T12:00:{at % 60:02}Z"
        records.append(
            rng.choice((response_record, response_record, response_record, revisit_record))(url, body, date=date)
        )
    path = write(root / "large.warc.gz", *records)
    assert take_warcs(root, path) == 0
    return path, query_ledger(root, WHOLE)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_killed_in_the_middle(tmp_path, large, share):
    path, expected = large
    assert len(expected) > 1_250
    process = programs.start("-m", "tests.engine.warc_intake", tmp_path, path)
    try:
        while process.poll() is None and _share(tmp_path) < share:
            time.sleep(0.004)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    assert take_warcs(tmp_path, path) == 0
    assert query_ledger(tmp_path, WHOLE) == expected
    assert query_ledger(tmp_path, "SELECT step FROM reading") == [("get",)]
    assert query_ledger(tmp_path, "SELECT count(*) FROM pending_step") == [(0,)]


def _share(root):
    try:
        rows = query_ledger(root, "SELECT place_offset, size FROM intake")
    except sqlite3.Error:
        return 0.0
    return rows[0][0] / rows[0][1] if rows else 0.0


def test_requests_without_responses_are_imported_in_bounded_batches() -> None:
    records = ((SimpleNamespace(kind="request"), "") for _ in range(20_000))
    sizes = [len(batch) for batch in warc_import._batches(records)]
    assert sum(sizes) == 20_000
    assert max(sizes) == 4 * warc_import.BATCH_SIZE


def test_a_record_that_cannot_be_read_again_says_why(tmp_path) -> None:
    (tmp_path / "short.warc").write_bytes(b"WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
    run = SimpleNamespace(settings=SimpleNamespace(archive=tmp_path, limits=Limits()))
    assert warc_import._read_record(run, "short.warc", 5000).message == "the file ends before it"
    with pytest.raises(ArchiveError, match=r"none\.warc cannot be read"):
        warc_import._read_record(run, "none.warc", 0)


def test_what_was_imported_of_a_file_is_counted_although_its_disk_fails(tmp_path, monkeypatch):
    warc = write(
        tmp_path / "one.warc.gz",
        *(response_record(f"http://a.example/{number}", b"x") for number in range(3)),
        response_record("http://a.example/bad", b"x", b""),
        revisit_record("http://b.example/", b"later"),
        response_record("http://a.example/late", b"x"),
    )

    def failing_records(*arguments):
        yield from islice(read_records(*arguments), 5)
        raise ArchiveError("the disk failed")

    with monkeypatch.context() as patch:
        patch.setattr(warc_import, "read_records", failing_records)
        patch.setattr(warc_import, "BATCH_SIZE", 2)
        assert take_warcs(tmp_path, warc) == 3
    # the last of the five records was in a batch that was not stored
    assert task_comments(tmp_path) == [
        f"them: 1 file, 3 captures; 1 record with faults: protocol_error 1; {warc.name}: the disk failed",
        f"1 left out, such as one.warc.gz: {Reason.PROTOCOL_ERROR.meaning}",
    ]
    assert len(query_ledger(tmp_path, ATTEMPTS)) == 3
    assert take_warcs(tmp_path, warc) == 0
    assert len(query_ledger(tmp_path, ATTEMPTS)) == 4


def test_a_revisit_whose_file_cannot_be_read_waits_until_it_can(tmp_path):
    """It used to be given up for ever, with a finding that no summary counts."""
    revisits = write(tmp_path / "r.warc.gz", warcinfo_record(), revisit_record("http://b.example/", b"x"))
    original = write(tmp_path / "o.warc.gz", response_record("http://a.example/", b"x"))
    assert take_warcs(tmp_path, revisits) == 3
    ((name,),) = query_ledger(tmp_path, "SELECT warc FROM intake")
    path = tmp_path / "archive" / name
    path.rename(tmp_path / "elsewhere")
    assert take_warcs(tmp_path, original, source="others") == 3
    assert [line for line in task_comments(tmp_path) if f"revisits are not imported: {path} cannot be read" in line]
    (tmp_path / "elsewhere").rename(path)
    assert take_warcs(tmp_path, original, source="others") == 0
    assert len(query_ledger(tmp_path, ATTEMPTS)) == 2


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "md5", "odd"])
def test_a_false_payload_digest_gives_no_revisit_the_bytes_of_another_address(tmp_path, algorithm):
    good, evil = b"<p>honest", b"<p>the text of another"
    stated = f"{algorithm}:{hashlib.new(algorithm.replace('odd', 'sha1'), good).hexdigest()}"
    files = [
        write(tmp_path / "0.warc.gz", response_record("http://evil.example/", evil, payload_digest=stated)),
        write(tmp_path / "1.warc.gz", response_record("http://a.example/", good, payload_digest=stated)),
        write(
            tmp_path / "2.warc.gz",
            revisit_record("http://a.example/", good, payload_digest=stated, date="2024-05-01T12:00:00Z"),
        ),
    ]
    for file in files:
        take_warcs(tmp_path, file)
    attempts = [(row[0], row[4]) for row in query_ledger(tmp_path, ATTEMPTS)]
    revisit = [("http://a.example/", digest(good))]
    if algorithm == "odd":  # a digest that cannot be computed identifies nothing
        assert "1 revisit without an original (no_original)" in task_comments(tmp_path)[-1]
        revisit = []
    else:
        assert "1 record with faults: digest_mismatch 1" in task_comments(tmp_path)[0]
        assert query_ledger(tmp_path, "SELECT kind, level FROM finding") == [("DigestMismatch", "warn")]
    assert attempts == [("http://a.example/", digest(good)), *revisit, ("http://evil.example/", digest(evil))]


def test_a_payload_digest_of_the_content_without_chunks_is_true(tmp_path):
    chunked = b"5\r\n<p>ab\r\n0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    stated = f"sha1:{hashlib.sha1(b'<p>ab').hexdigest()}"
    warc = write(
        tmp_path / "one.warc.gz",
        response_record("http://a.example/", chunked, head, payload_digest=stated),
        revisit_record("http://b.example/", chunked, payload_digest=stated),
    )
    assert take_warcs(tmp_path, warc) == 0
    assert [row[4] for row in query_ledger(tmp_path, ATTEMPTS)] == [digest(chunked)] * 2
    assert query_ledger(tmp_path, "SELECT kind FROM finding") == []
