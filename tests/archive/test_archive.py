"""The archive: captures can be read by us, by warcio and by FastWARC, also after a write was cut off."""

import errno
import gzip
import os
import threading
from datetime import UTC, datetime, timedelta

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.checker import Checker

from windrow.archive import (
    ArchiveWriter,
    CaptureSink,
    lock_archive,
    mark_ledger,
    open_capture,
    open_response,
    read_request,
    refuse_other_ledger,
    repair_archive,
)
from windrow.archive.capture_sink import OVERLAP_BYTES
from windrow.archive.warc_writer import WarcWriter
from windrow.clock import spell
from windrow.digest import digest, warc_digest
from windrow.engine.archive_losses import find_losses
from windrow.errors import ArchiveError, ConfigError, DiskFull, TerminalFailure, TransientFailure
from windrow.formats.warc import END, format_header
from windrow.model import ArchivePlace, FetchJob, KnownCapture, Limits, ListedFile
from windrow.reasons import Reason

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
XML = b"<a>text</a>" * 50
ZIP = b"PK\x03\x04" + os.urandom(3000)
LARGE_XML = b"<b>large</b>" * 300_000
LARGE_ZIP = b"PK\x03\x04" + os.urandom(3_000_000)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
ASKED = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "archive"


def keeper(folder, rotate=1 << 30, **limits):
    return ArchiveWriter(folder, "windrow-000001-1", Limits(**limits), rotate, "windrow-test")


def put(keep, body, address="ftp://h/add/x.xml", *, web=False, block=100_000, last=None, **file):
    deposit = CaptureSink(keep, FetchJob(1, address, last=last or KnownCapture(), file=ListedFile("x", **file)), NOW)
    deposit.open(len(body), *((HEAD % len(body), ASKED) if web else ()))
    for start in range(deposit.start, len(body), block):
        deposit.write(memoryview(body)[start : start + block])
    return deposit.finish()


def read_all_records(folder):
    keep = keeper(folder)
    kept = []
    for number, body in enumerate((XML, ZIP, LARGE_XML, LARGE_ZIP)):
        kept.append((body, put(keep, body, f"ftp://h/add/{number} ü.bin", part=f"p{number}")))
        kept.append((body, put(keep, body, f"https://h/{number}", web=True, part=f"w{number}")))
    first = kept[0][1].digest
    again = put(
        keep, XML, "ftp://h/add/0 ü.bin", last=KnownCapture(first, "2026-01-01T00:00:00Z", "ftp://h/add/0 ü.bin")
    )
    assert again.revisit
    keep.close()
    return kept


def test_the_request_of_a_capture_is_read_back_with_it(folder):
    requests = [read_request(folder, kept.place) for _, kept in read_all_records(folder)]
    assert requests == [b"", ASKED] * 4


def test_what_is_kept_is_read_back_and_seekable(folder):
    for body, kept in read_all_records(folder):
        assert kept.digest == digest(body)
        assert not kept.revisit
        with open_capture(folder, kept.place) as view:
            assert view.read() == body
            view.seek(-5, os.SEEK_END)
            assert view.read() == body[-5:]
            view.seek(3)
            assert view.read(7) == body[3:10]


def test_compressed_bodies_go_to_plain_files_and_others_to_gzip(folder):
    for body, kept in read_all_records(folder):
        assert kept.place.warc.endswith(".gz") == (body in {XML, LARGE_XML})
        assert kept.place.warc.startswith("large-") == (body == LARGE_ZIP)


def test_fastwarc_reads_every_record_and_every_digest_is_right(folder):
    read_all_records(folder)
    kinds = []
    for path in sorted(folder.glob("*.warc*")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                kinds.append(record.record_type)
                assert record.headers["WARC-Record-ID"].startswith("<urn:uuid:")
                assert record.headers["WARC-Date"]
                if record.record_type == WarcRecordType.resource:
                    body = record.reader.read()
                    assert record.headers["WARC-Payload-Digest"] == warc_digest(digest(body))
    assert kinds.count(WarcRecordType.resource) == 4
    assert kinds.count(WarcRecordType.response) == 4
    assert kinds.count(WarcRecordType.request) == 4
    assert kinds.count(WarcRecordType.revisit) == 1


def test_warcio_reads_and_checks_every_file(folder, capsys):
    read_all_records(folder)
    for path in sorted(folder.glob("*.warc*")):
        checker = Checker(type("Args", (), {"verbose": True, "inputs": [str(path)]}))
        checker.process_all()
        output = capsys.readouterr().out
        assert checker.exit_value == 0, output
        assert "pass" in output or "no digest" in output
        with path.open("rb") as file:
            first = next(iter(WarcioIterator(file)))
            assert first.rec_type == "warcinfo"
            assert first.rec_headers["WARC-Filename"] == path.name


def test_a_full_file_is_followed_by_the_next(folder):
    keep = keeper(folder, rotate=10_000)
    places = [put(keep, ZIP, f"ftp://h/{number}").place.warc for number in range(10)]
    keep.close()
    assert len(set(places)) == 4
    assert all(path.stat().st_size < 15_000 for path in folder.glob("*.warc"))


def test_a_second_fetcher_of_one_name_overwrites_nothing(folder):
    bodies, places = [XML, ZIP, XML + b"other", ZIP + b"other"], []
    for start in (0, 2):
        keep = keeper(folder)
        places += [put(keep, body).place for body in bodies[start : start + 2]]
        keep.close()
    assert len({place.warc for place in places}) == 4
    for body, place in zip(bodies, places, strict=True):
        with open_capture(folder, place) as view:
            assert view.read() == body


def test_a_broken_transfer_goes_on_where_it_broke(folder):
    keep = keeper(folder)
    job = FetchJob(1, "ftp://h/z.zip", file=ListedFile("x", size=len(LARGE_ZIP), part="resumed"))
    deposit = CaptureSink(keep, job, NOW)
    deposit.open(len(LARGE_ZIP))
    deposit.write(LARGE_ZIP[:1_500_000])
    with pytest.raises(TransientFailure) as caught:
        deposit.finish()
    assert caught.value.reason is Reason.INTERRUPTED
    deposit.leave()
    kept = put(keep, LARGE_ZIP, "ftp://h/z.zip", size=len(LARGE_ZIP), part="resumed")
    assert kept.digest == digest(LARGE_ZIP)
    with open_capture(folder, kept.place) as view:
        assert view.read() == LARGE_ZIP


def test_a_transfer_that_continues_with_other_bytes_is_begun_anew(folder):
    keep, job = keeper(folder), FetchJob(1, "ftp://h/z", file=ListedFile("x", size=len(LARGE_ZIP), part="resumed"))
    first = CaptureSink(keep, job, NOW)
    first.open(len(LARGE_ZIP))
    first.write(LARGE_ZIP[:1_500_000])
    first.leave()
    for shift in (7, 0):
        sink = CaptureSink(keep, job, NOW)
        assert sink.start == (1_500_000 - OVERLAP_BYTES if shift else 0)
        sink.open(len(LARGE_ZIP))
        if shift:
            with pytest.raises(TransientFailure, match="other bytes") as failure:
                sink.write(LARGE_ZIP[sink.start + shift :])
            assert failure.value.retry
            sink.leave()
    sink.write(LARGE_ZIP)
    assert sink.finish().digest == digest(LARGE_ZIP)
    keep.close()


@pytest.mark.parametrize("body", [LARGE_XML, LARGE_ZIP])
def test_a_resumed_answer_is_kept_with_its_first_head(folder, body):
    keep, job = keeper(folder), FetchJob(1, "https://h/z", file=ListedFile("x", size=len(body), part="resumed"))
    tagged = b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Type: text/x\r\nContent-Length: %d\r\n\r\n' % len(body)
    first = CaptureSink(keep, job, NOW)
    first.open(len(body), tagged, ASKED)
    first.write(body[:1_500_000])
    first.leave()
    second = CaptureSink(keep, job, NOW + timedelta(hours=1))
    assert (second.start, second.validator) == (1_500_000 - OVERLAP_BYTES, '"v1"')
    second.open(len(body), b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1\r\n\r\n", b"GET /z\r\nRange: x\r\n\r\n")
    second.write(body[second.start :])
    kept = second.finish()
    keep.close()
    assert (kept.digest, kept.at, kept.mime) == (digest(body), NOW, "text/x")
    with (folder / kept.place.warc).open("rb") as file:
        records = {record.rec_type: record for record in WarcioIterator(file)}
    answer = records["response"]
    assert answer.http_headers.get_statuscode() == "200"
    assert answer.http_headers.get_header("ETag") == '"v1"'
    assert answer.rec_headers["WARC-Date"] == "2026-01-02T03:04:05.000000Z"
    assert records["request"].http_headers.get_header("Range") is None


def test_a_revisit_names_the_record_that_it_refers_to(folder):
    keep = keeper(folder)
    first = put(keep, XML, "ftp://one/add/a b.xml")
    again = put(
        keep, XML, "ftp://two/add/a b.xml", last=KnownCapture(first.digest, spell(first.at), "ftp://one/add/a b.xml")
    )
    keep.close()
    with (folder / again.place.warc).open("rb") as file:
        records = {record.rec_type: record.rec_headers for record in WarcioIterator(file)}
    assert records["revisit"]["WARC-Refers-To-Target-URI"] == records["resource"]["WARC-Target-URI"]
    assert records["revisit"]["WARC-Refers-To-Date"] == records["resource"]["WARC-Date"]
    assert records["revisit"]["WARC-Target-URI"] == "ftp://two/add/a%20b.xml"


def test_sizes_and_checksums_must_be_as_announced(folder):
    keep = keeper(folder)
    with pytest.raises(TransientFailure, match="the listing states 5") as caught:
        put(keep, XML, size=5)
    assert caught.value.reason is Reason.SIZE_MISMATCH
    for body in (XML, LARGE_ZIP):
        deposit = CaptureSink(keep, FetchJob(1, "ftp://h/x"), NOW)
        deposit.open(None)
        deposit.write(body)
        with pytest.raises(TransientFailure) as caught:
            deposit.verify("md5:" + "0" * 32)
        assert caught.value.reason is Reason.DIGEST_MISMATCH
    assert not list((folder / "parts").iterdir())


def test_limits_of_size_and_disk_are_kept(folder):
    with pytest.raises(TerminalFailure) as caught:
        put(keeper(folder, transfer_size=1000), LARGE_ZIP)
    assert caught.value.reason is Reason.TOO_LARGE
    with pytest.raises(DiskFull, match="must stay free"):
        put(keeper(folder, free_space=1 << 60), XML)


def test_an_answer_304_as_version_0_1_0_kept_it_is_read(folder):
    head = b'HTTP/1.1 304 Not Modified\r\nETag: "2"\r\n\r\n'
    profile = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    fields = [("WARC-Record-ID", "<urn:uuid:1>"), ("WARC-Date", spell(NOW)), ("WARC-Target-URI", "http://h/")]
    fields += [("Content-Type", "application/http;msgtype=response"), ("WARC-Profile", profile)]
    folder.mkdir()
    record = gzip.compress(format_header("revisit", fields, len(head)) + head + END)
    (folder / "windrow-000001-1-00001.warc.gz").write_bytes(record)
    response = open_response(folder, ArchivePlace("windrow-000001-1-00001.warc.gz", 0, len(record)))
    assert (response.status, response.fields["etag"], response.view.read()) == (304, '"2"', b"")


class TestMend:
    def test_bytes_past_the_promise_are_cut_off(self, folder):
        keep = keeper(folder)
        first, second = put(keep, ZIP), put(keep, ZIP)
        keep.close()
        end = first.place.offset + first.place.length
        with lock_archive(folder):
            messages = repair_archive(folder, {first.place.warc: end})
        assert (folder / first.place.warc).stat().st_size == end == second.place.offset
        assert "was cut from" in messages[0]
        with open_capture(folder, first.place) as view:
            assert view.read() == ZIP

    @pytest.mark.parametrize("cut", [1, 10, 1000, 3100])
    def test_a_record_that_is_cut_is_removed(self, folder, cut):
        keep = keeper(folder)
        first, second = put(keep, ZIP), put(keep, ZIP)
        keep.close()
        path = folder / first.place.warc
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - cut)
        repair_archive(folder, {path.name: second.place.offset})
        assert path.stat().st_size == second.place.offset

    def test_a_large_file_not_on_record_becomes_a_part_again_and_is_not_fetched_twice(self, folder):
        keep = keeper(folder)
        put(keep, LARGE_ZIP, part="large", size=len(LARGE_ZIP))
        keep.close()
        repair_archive(folder, {})
        assert not list(folder.glob("*.warc*"))
        file = ListedFile("x", size=len(LARGE_ZIP), part="large")
        deposit = CaptureSink(keeper(folder), FetchJob(1, "ftp://h/x", file=file), NOW)
        assert deposit.is_complete
        kept = deposit.finish()
        assert kept.digest == digest(LARGE_ZIP)
        with open_capture(folder, kept.place) as view:
            assert view.read() == LARGE_ZIP

    @pytest.mark.parametrize("request_size, field_size", [(70_000, 10), (200_000, 10), (100, 65_000)])
    def test_a_large_file_with_long_headers_becomes_a_part_again(self, folder, request_size, field_size):
        archive = keeper(folder)
        job = FetchJob(1, "http://h/x", file=ListedFile("x", size=len(LARGE_ZIP), part="large"))
        head = (HEAD % len(LARGE_ZIP))[:-2] + b"X: " + b"y" * field_size + END
        request = ASKED + b"q" * request_size
        capture = CaptureSink(archive, job, NOW)
        capture.open(len(LARGE_ZIP), head, request)
        capture.write(LARGE_ZIP)
        capture.finish()
        archive.close()
        assert repair_archive(folder, {}) == [
            "large-large.warc is a part file again: the ledger does not have its capture"
        ]
        capture = CaptureSink(keeper(folder), job, NOW)
        assert capture.is_complete
        kept = capture.finish()
        with open_response(folder, kept.place).view as view:
            assert view.read() == LARGE_ZIP

    def test_a_large_file_that_is_not_warc_is_kept_under_another_name(self, folder):
        folder.mkdir()
        (folder / "large-x.warc").write_bytes(b"some bytes")
        messages = repair_archive(folder, {})
        assert messages == [
            "large-x.warc is not a WARC file, and its capture is not on the ledger: renamed to large-x.damaged"
        ]
        assert (folder / "large-x.damaged").read_bytes() == b"some bytes"
        assert repair_archive(folder, {}) == []

    def test_lost_bytes_are_told(self, folder):
        keep = keeper(folder)
        kept = put(keep, ZIP)
        keep.close()
        recorded_ends = {kept.place.warc: 10**9, "gone.warc": 10}
        assert repair_archive(folder, recorded_ends) == [], "nothing was repaired"
        missing, short = find_losses(folder, lambda: recorded_ends)
        assert missing.startswith(f"{folder / 'gone.warc'} is missing: captures in it are lost")
        assert "bytes, but the ledger expects 1,000,000,000: captures in it are lost" in short
        (folder / "gone.warc.lost").touch()
        assert find_losses(folder, lambda: recorded_ends) == [short], "its loss is accepted"
        assert find_losses(folder, lambda: {kept.place.warc: 10}) == []

    def test_a_file_that_a_run_removes_meanwhile_is_not_lost(self, folder):
        readings = iter([{"unarchived-windrow-000001-1-00001.warc": 10, "gone.warc": 10}, {"gone.warc": 10}])
        (message,) = find_losses(folder, lambda: next(readings))
        assert message.startswith(f"{folder / 'gone.warc'} is missing")

    def test_files_of_other_names_are_nobodys_business_when_an_archive_is_mended(self, folder):
        folder.mkdir(exist_ok=True)
        names = ["holiday.warc.gz", "windrow.warc", "windrow-000001.warc.gz", "rec-20260101-large.warc"]
        for name in names:
            (folder / name).write_bytes(b"mine")
        assert repair_archive(folder, {}) == []
        assert {path.name for path in folder.glob("*.warc*")} == set(names)

    def test_an_archive_is_not_mended_by_another_ledger(self, folder):
        keep = keeper(folder)
        kept = put(keep, ZIP)
        keep.close()
        name = kept.place.warc
        refuse_other_ledger(folder, 1, {name: 10})  # of a version that did not mark them
        for ledger, promised in ((0, {}), (1, {"other.warc": 10})):
            with pytest.raises(ConfigError, match="nothing in it was touched"):
                refuse_other_ledger(folder, ledger, promised)
        mark_ledger(folder, 1)
        refuse_other_ledger(folder, 1, {})
        for ledger in (0, 2):
            with pytest.raises(ConfigError, match="nothing in it was touched"):
                refuse_other_ledger(folder, ledger, {name: 10})


def test_a_file_is_flushed_while_another_thread_opens_the_next_one(tmp_path, monkeypatch):
    writer = WarcWriter(tmp_path, "a", gzip=False, rotate=1, info=[])  # each record has a file of its own
    writer.append(b"first")
    flush = os.fdatasync

    def flush_late(fd: int) -> None:
        monkeypatch.setattr(os, "fdatasync", flush)
        thread = threading.Thread(target=writer.append, args=(b"second",))
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        flush(fd)

    monkeypatch.setattr(os, "fdatasync", flush_late)
    writer.sync()
    writer.close()
    assert len(list(tmp_path.glob("a-*.warc"))) == 2


def test_a_record_that_cannot_be_read_is_not_copied(tmp_path):
    writer = WarcWriter(tmp_path, "a", gzip=False, rotate=1 << 20, info=[])
    with pytest.raises(ArchiveError, match=r"gone\.warc cannot be read: No such file") as caught:
        writer.copy(tmp_path / "gone.warc", 0, 9)
    assert caught.value.reason is Reason.NOT_FOUND
    assert writer.append(b"WARC/1.1\r\n\r\n").offset == next(tmp_path.glob("a-*.warc")).stat().st_size - 12
    writer.close()


@pytest.mark.parametrize(
    ("number", "error"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, ArchiveError)]
)
def test_a_disk_that_fails_when_it_is_flushed_is_told_as_when_it_is_written(tmp_path, monkeypatch, number, error):
    writer = WarcWriter(tmp_path, "a", gzip=False, rotate=1 << 20, info=[])
    writer.append(b"WARC/1.1\r\n\r\n")

    def fail(_descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(error):
        writer.sync()
    with pytest.raises(error):
        writer.close()
    writer.close()  # it is closed
