"""Records fetched from other machines: from nginx, from an S3-compatible store, and from servers that misbehave."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import re
import time
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.captures import test_foreign as foreign
from tests.captures.quotes import run_quotes
from tests.servers.raw import served
from tests.servers.s3 import KEY
from tests.waiting import PATIENCE
from windrow.contract.discoveries import inputs
from windrow.engine.captures import remote_records
from windrow.engine.captures.remote_records import MAX_FAILURES, GrowingRecord, RemoteRecords
from windrow.errors import ConfigError, DiskFull, TerminalFailure
from windrow.model import CdxLine, Limits, Reading, Secret, Site, Source
from windrow.reasons import Reason

NAME = "item-1/a b+c=d.warc.gz"
CONTENT = bytes(range(256)) * 64


def line(offset: int, length: int | None, warc: str = NAME) -> CdxLine:
    return CdxLine("k", "20200101000000", "http://x/", "application/pdf", 200, "A" * 32, length, offset, warc)


def fetch_records(
    tmp_path: Path, lines: list[CdxLine], *at: str, largest: int = 10**6, **options
) -> list[bytes | Reason]:
    """Return the bytes of each record, or the reason why it was not fetched."""
    options = {"warc_allow_private": True, **options, "warc_urls": at}
    source = Source("library", "any", Site("", agent="windrow"), options=options)
    with RemoteRecords(inputs(source).remote, tmp_path, Limits(transfer_size=largest)) as records:
        outcomes = records.fetch(lines, lambda: None, bool)
        contents = [outcome.reason if isinstance(outcome, Reading) else outcome.read_bytes() for outcome in outcomes]
    assert not list(tmp_path.rglob("*")), "nothing is left where records were fetched to"
    return contents


@pytest.fixture(scope="module")
def drop(nginx):
    path = nginx.root / NAME
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(CONTENT)
    return nginx


LINES = [line(777, 5000), line(0, 1), line(16_000, 384), line(16_000, 385), line(99_999, 5), line(0, 9, "item-1/none"),
         line(0, 9, "../item-1/x"), line(0, 9, "item\r\nX: y"), line(0, None), line(0, 2_000_000)]  # fmt: skip
EXPECTED = [CONTENT[777:5777], CONTENT[:1], CONTENT[16_000:], Reason.TRUNCATED, Reason.TRUNCATED, Reason.NOT_FOUND,
       Reason.UNSAFE_NAME, Reason.UNSAFE_NAME, Reason.BAD_LINE, Reason.TOO_LARGE]  # fmt: skip


def test_records_are_fetched_from_nginx_by_ranges_over_http_and_https(drop, tmp_path):
    assert fetch_records(tmp_path, LINES, f"http://127.0.0.1:{drop.plain.port}/drop") == EXPECTED
    secure = f"https://127.0.0.1:{drop.open.port}/drop/"
    assert fetch_records(tmp_path, LINES, secure, ca_bundle=drop.open.ca_bundle) == EXPECTED
    assert fetch_records(tmp_path, LINES[:1], secure) == [Reason.TLS_FAILED]


def warc_record(body: bytes) -> bytes:
    return b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: %d\r\n\r\n" % len(body) + body + b"\r\n\r\n"


def test_records_of_unknown_length_are_fetched_to_their_end_and_no_further(drop, tmp_path):
    """A CDX with 9 fields has the offsets of records, but not their lengths."""
    noise = os.urandom(700_000)
    packed = [gzip.compress(content) for content in (b"small", noise, bytes(3_000_000), b"last")]
    whole = b"".join(packed)
    (drop.root / "item-1" / "nine.warc.gz").write_bytes(whole)
    (drop.root / "item-1" / "nine.warc").write_bytes(warc_record(b"one") + warc_record(noise) + b"WARC/1.0\r\nno end")
    (drop.root / "item-1" / "cut.warc.gz").write_bytes(packed[1][:-9])
    starts = [sum(map(len, packed[:number])) for number in range(len(packed))]
    lines = [line(start, None, "item-1/nine.warc.gz") for start in (*starts, 3, len(whole))]
    lines += [
        line(start, None, "item-1/nine.warc")
        for start in (0, len(warc_record(b"one")), len(warc_record(b"one") + warc_record(noise)))
    ]
    lines += [line(0, None, "item-1/cut.warc.gz")]
    at = f"http://127.0.0.1:{drop.plain.port}/drop"
    assert fetch_records(tmp_path, lines, at) == [
        *packed, Reason.BAD_LINE, Reason.TRUNCATED, warc_record(b"one"), warc_record(noise), Reason.TRUNCATED, Reason.TRUNCATED,
    ]  # fmt: skip
    assert fetch_records(tmp_path, lines[:2], at, largest=600_000) == [packed[0], Reason.TOO_LARGE]


def test_a_record_of_unknown_length_ends_wherever_its_bytes_are_parted():
    for content in (gzip.compress(b"small"), warc_record(b"one")):
        for size in (1, 2, 3, 7, 1000):
            file = io.BytesIO()
            record = GrowingRecord(file.write, "x")
            for start in range(0, len(content) + 9, size):
                record.write((content + b"behind it")[start : start + size])
            assert (file.getvalue(), record.has_ended) == (content, True)
    with pytest.raises(TerminalFailure, match="the gzip member is broken"):
        GrowingRecord(io.BytesIO().write, "x").write(b"\x1f\x8b" + bytes(99))


def test_a_secret_is_read_from_its_place_and_sent_over_https_only(drop, tmp_path, monkeypatch):
    shut = f"https://127.0.0.1:{drop.shut.port}/shut/"
    monkeypatch.setenv("WARC_SECRET", "Basic d2luZHJvdzpvcGVuIHNlc2FtZQ==")
    options = {"ca_bundle": drop.open.ca_bundle, "warc_secret": Secret("env:WARC_SECRET")}
    assert fetch_records(tmp_path, LINES[:1], shut, **options) == EXPECTED[:1]
    monkeypatch.setenv("WARC_SECRET", "Basic d3Jvbmc6d3Jvbmc=")
    assert fetch_records(tmp_path, LINES[:1], shut, **options) == [Reason.LOGIN_FAILED]
    monkeypatch.delenv("WARC_SECRET")
    assert fetch_records(tmp_path, LINES[:1], shut, **options) == [Reason.NO_SECRET]
    with pytest.raises(ConfigError, match=r"the secret for .* may only be sent over https"):
        fetch_records(tmp_path, LINES[:1], "http://example.org/", **options)
    with pytest.raises(ConfigError, match=r"the secret for .* may only be sent over https"):
        fetch_records(tmp_path, LINES[:1], "http://127.0.0.1:9/", proxy="http://proxy.example", **options)


def test_private_addresses_are_refused_unless_the_source_allows_them(drop, tmp_path):
    at = f"http://127.0.0.1:{drop.plain.port}/drop/"
    assert fetch_records(tmp_path, LINES[:1], at, warc_allow_private=False) == [Reason.PRIVATE_ADDRESS]


def test_the_second_folder_is_asked_for_what_the_first_does_not_have(drop, tmp_path):
    at = f"http://127.0.0.1:{drop.plain.port}"
    assert fetch_records(tmp_path, LINES[:1], f"{at}/nowhere/", f"{at}/drop/") == EXPECTED[:1]
    assert fetch_records(tmp_path, LINES[:1], f"{at}/denied/", f"{at}/drop/") == [Reason.PERMISSION_DENIED]


def test_records_are_fetched_from_an_s3_store_with_signed_requests(s3, tmp_path, monkeypatch):
    path = s3.folder / "papers" / "crawls" / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    (s3.folder / "papers").chmod(0o700)
    options = {"s3_endpoint": s3.endpoint, "warc_secret": Secret("env:S3_KEY")}
    monkeypatch.setenv("S3_KEY", KEY)
    assert fetch_records(tmp_path, LINES, "s3://papers/crawls/", **options) == EXPECTED
    monkeypatch.setenv("S3_KEY", "reader:wrong")
    assert fetch_records(tmp_path, LINES[:1], "s3://papers/crawls/", **options) == [Reason.PERMISSION_DENIED]
    monkeypatch.setenv("S3_KEY", "reader")
    assert fetch_records(tmp_path, LINES[:1], "s3://papers/crawls/", **options) == [Reason.NO_SECRET]
    assert fetch_records(tmp_path, LINES[:1], "s3://papers/crawls/", s3_endpoint=s3.endpoint) != EXPECTED[:1]


@pytest.mark.parametrize(
    "address", ["ftp://h/", "item/", "https://user@h/", "https://h/?a=b", "http://h:port/", "s3:///"]
)
def test_what_is_no_address_of_a_folder_is_refused(tmp_path, address):
    with pytest.raises(ConfigError, match=r"is not the address of a folder|does not name a bucket"):
        fetch_records(tmp_path, LINES[:1], address)


def test_an_endpoint_that_is_no_address_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"s3_endpoint is not the address of an S3 server"):
        fetch_records(tmp_path, LINES[:1], "s3://papers/crawls/", s3_endpoint="store.example:9000")


HEAD = "HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n"
PART = "Content-Range: bytes 100-199/16384\r\n"
BAD_ANSWERS = {
    "whole": (HEAD.format("200 OK", len(CONTENT), "").encode() + CONTENT, Reason.UNSUPPORTED),
    "other": (HEAD.format("206 P", 100, "Content-Range: bytes 0-99/16384\r\n").encode() + CONTENT[:100], Reason.PROTOCOL_ERROR),
    "unsaid": (HEAD.format("206 P", 100, "").encode() + CONTENT[:100], Reason.PROTOCOL_ERROR),
    "parts": (HEAD.format("206 P", 9, "Content-Type: multipart/byteranges; boundary=x\r\n").encode() + b"--x\r\n----", Reason.PROTOCOL_ERROR),
    "packed": (HEAD.format("206 P", 100, PART + "Content-Encoding: gzip\r\n").encode() + CONTENT[:100], Reason.PROTOCOL_ERROR),
    "more": (HEAD.format("206 P", 900, PART).encode() + CONTENT[:900], Reason.PROTOCOL_ERROR),
    "cut": (HEAD.format("206 P", 100, PART).encode() + CONTENT[:50], Reason.INTERRUPTED),
    "less": (HEAD.format("206 P", 50, PART).encode() + CONTENT[:50], Reason.INTERRUPTED),
    "moved": (HEAD.format("302 Found", 0, "Location: http://169.254.169.254/\r\n").encode(), Reason.REDIRECTED),
    "junk": (b"SSH-2.0\r\n\r\n", Reason.PROTOCOL_ERROR),
    "closed": (b"", Reason.INTERRUPTED),
    "busy": (HEAD.format("503 Slow Down", 0, "").encode(), Reason.SERVER_ERROR),
    "later": (HEAD.format("503 Slow Down", 0, "Retry-After: 9000\r\n").encode(), Reason.SERVER_ERROR),
}  # fmt: skip


@pytest.fixture
def bad_server(monkeypatch):
    """Serve bad answers by the file's name; a name that ends with a number is answered well from that try on."""
    monkeypatch.setattr(remote_records, "FIRST_WAIT", 0.01)
    tries = Counter()

    async def talk(reader, writer):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            name = head.split()[1].rpartition("/")[2]
            tries[name] += 1
            kind, _, good = name.partition("-")
            if good and tries[name] >= int(good):
                writer.write(HEAD.format("206 Partial Content", 100, PART).encode() + CONTENT[100:200])
            else:
                writer.write(BAD_ANSWERS[kind][0])
            await writer.drain()
            if not good or tries[name] < int(good):
                return

    with served(talk, ("127.0.0.1",)) as port:
        yield f"http://127.0.0.1:{port}/", tries


def test_each_odd_answer_of_a_server_has_its_reason(bad_server, tmp_path):
    at, tries = bad_server
    for kind, (_, reason) in BAD_ANSWERS.items():
        assert fetch_records(tmp_path, [line(100, 100, kind)], at) == [reason], kind
    assert tries["busy"] == remote_records.MAX_ATTEMPTS
    assert tries["later"] == 1, "a server that wants to be left alone for hours is left to the next run"
    assert tries["whole"] == tries["moved"] == 1


def test_a_server_that_is_busy_or_breaks_off_is_asked_again_and_the_whole_part_is_there_then(bad_server, tmp_path):
    lines = [line(100, 100, name) for name in ("busy-3", "cut-2", "less-2", "closed-2")]
    assert fetch_records(tmp_path, lines, bad_server[0]) == [CONTENT[100:200]] * 4


def test_a_server_that_only_fails_is_left_alone_after_a_while(bad_server, tmp_path):
    at, tries = bad_server
    outcomes = fetch_records(tmp_path, [line(100, 100, f"{number}/whole") for number in range(100)], at)
    assert outcomes[-1] is Reason.SITE_GIVEN_UP
    assert tries.total() <= MAX_FAILURES + remote_records.PARALLEL_RECORDS


def test_what_waits_for_servers_is_ended_when_the_run_is_to_stop(tmp_path):
    async def silent(reader, writer):
        await asyncio.sleep(2 * PATIENCE)

    class Stop(Exception):
        pass

    def tick():
        raise Stop

    source = Source("library", "any", Site(""), options={"warc_allow_private": True, "warc_urls": ["PLACE"]})
    began = time.monotonic()
    with served(silent, ("127.0.0.1",)) as port:
        source.options["warc_urls"] = [f"http://127.0.0.1:{port}/"]
        with RemoteRecords(inputs(source).remote, tmp_path, Limits()) as records, pytest.raises(Stop):
            records.fetch(LINES[:3], tick, bool)
    assert time.monotonic() - began < PATIENCE


def test_a_server_that_sends_a_byte_at_a_time_is_given_up_and_so_is_the_rest_when_the_run_stops(tmp_path, monkeypatch):
    """Each byte extended the time limit, so the run never ended, and did not end after SIGTERM either."""
    requests = 0

    async def drip(reader, writer):
        nonlocal requests
        await reader.readuntil(b"\r\n\r\n")
        requests += 1
        writer.write(HEAD.format("206 P", 100, PART).encode())
        for number in range(100):
            writer.write(CONTENT[number : number + 1])
            await asyncio.sleep(0.1)

    with served(drip, ("127.0.0.1",)) as port:
        options = {"warc_allow_private": True, "warc_urls": [f"http://127.0.0.1:{port}/"], "timeout": 1}
        remote = inputs(Source("library", "any", Site(""), options=options)).remote
        with RemoteRecords(remote, tmp_path, Limits()) as records:
            outcomes = records.fetch([line(100, 100)] * 9, lambda: None, lambda: True)
            assert outcomes == [None] * 9
            assert 1 <= requests <= remote_records.PARALLEL_RECORDS, "the ninth is not requested, and none is again"
            monkeypatch.setattr(remote_records, "MAX_ATTEMPTS", 1)
            (reading,) = records.fetch([line(100, 100)], lambda: None, bool)
    assert reading.reason is Reason.TIMEOUT
    assert "received less than 1000 bytes a second in 1 seconds" in reading.findings[0].message


@pytest.fixture
def endless_server():
    """A server that sends each part of an endless gzip member, quickly."""
    packer = zlib.compressobj(0, wbits=31)
    member = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)

    async def send(reader, writer):
        with suppress(ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, last = map(int, re.search(rb"bytes=(\d+)-(\d+)", head).groups())
                fields = f"Content-Range: bytes {first}-{last}/*\r\n"
                writer.write(HEAD.format("206 P", last + 1 - first, fields).encode())
                while first <= last:
                    block = member[first:] if first < len(member) else more[(first - len(member)) % len(more) :]
                    writer.write(block[: last + 1 - first])
                    first += len(block)
                    await writer.drain()

    with served(send, ("127.0.0.1",)) as port:
        options = {"warc_allow_private": True, "warc_urls": [f"http://127.0.0.1:{port}/"]}
        yield inputs(Source("library", "any", Site(""), options=options)).remote


def test_a_record_without_an_end_leaves_free_what_must_stay_free(endless_server, tmp_path):
    """Only the record's maximum size, 64 GiB for each of 8 records, ended such transfers."""
    disk = os.statvfs(tmp_path)
    limits = Limits(free_space=disk.f_bavail * disk.f_frsize - 4 * 2**20)
    with RemoteRecords(endless_server, tmp_path, limits) as records:
        with pytest.raises(DiskFull, match="must stay free"):
            records.fetch([line(0, None)] * 2, lambda: None, bool)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 64 * 2**20
    assert not list(tmp_path.rglob("*"))


def test_transfers_that_go_on_after_the_run_is_told_to_stop_are_ended(endless_server, tmp_path, monkeypatch):
    monkeypatch.setattr(remote_records, "MAX_SECONDS_AFTER_STOP", 0.1)
    with RemoteRecords(endless_server, tmp_path, Limits()) as records:
        assert records.fetch([line(0, None)], lambda: None, lambda: True) == [None]


def test_records_that_are_not_requested_since_the_run_stops_are_fetched_by_the_next(tmp_path, monkeypatch):
    warc = foreign.ForeignWarc(tmp_path / "away.warc.gz")
    offset = len(warc._content)
    warc.add("/said/1.html", foreign.quotes_page("one"))
    (tmp_path / "press.cdx").write_text("\n".join(warc.lines) + "\n")
    (tmp_path / "record").write_bytes(warc._content[offset:])
    workspace = foreign.configure(tmp_path, cdx=[tmp_path / "press.cdx"], warc_urls=["https://library.example/"])
    monkeypatch.setattr(RemoteRecords, "fetch", lambda *_: [None])
    run_quotes(workspace)
    assert foreign.capture_counts(workspace) == (0, 0, {}, [])
    monkeypatch.setattr(RemoteRecords, "fetch", lambda *_: [tmp_path / "record"])
    run_quotes(workspace)
    assert foreign.capture_counts(workspace) == (1, 1, {}, [])


@pytest.mark.parametrize("left", ["folder", "file", "link", "pipe"])
def test_what_a_killed_run_or_another_program_left_is_removed_by_the_next(tmp_path, left):
    folder = tmp_path / ".fetched"
    if left == "folder":
        folder.mkdir()
        (folder / "7").write_bytes(b"half")
    elif left == "file":
        folder.write_bytes(b"")
    elif left == "link":
        folder.symlink_to("nowhere")
    else:
        os.mkfifo(folder)
    assert fetch_records(tmp_path, [line(0, 0)], "http://127.0.0.1:1/") == [Reason.BAD_LINE]


def test_a_bucket_lies_in_the_region_that_its_source_names_unless_a_store_is_named():
    options = {"warc_urls": ["s3://papers/crawls"], "s3_region": "eu-west-3"}
    (amazon,) = inputs(Source("library", "any", Site(""), options=options)).remote
    assert (amazon.site.host, amazon.site.base, amazon.region) == (
        "s3.eu-west-3.amazonaws.com", "/papers/crawls/", "eu-west-3",
    )  # fmt: skip
    (own,) = inputs(
        Source("library", "any", Site(""), options=options | {"s3_endpoint": "https://store.example"})
    ).remote
    assert (own.site.host, own.region) == ("store.example", "eu-west-3")
