"""What an import leaves out stays counted, by file, until the file is imported without it."""

import hashlib
import zlib
from contextlib import closing

import pytest

from tests.archive.foreign_records import (
    HTML,
    make_record,
    pack_records,
    response_record,
    revisit_record,
    warcinfo_record,
)
from tests.engine.warc_intake import query_ledger, take_warcs
from windrow.app.story import _left_out_events
from windrow.archive import open_response
from windrow.archive.import_file import import_warc_file
from windrow.digest import digest
from windrow.engine.crawl.left_out import MAX_RULES
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Limits


def left_out(root):
    """Return (reason, count, example) of what `status` counts as left out."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return [(str(row.reason), row.lines, row.url) for row in ledger.captures.left_out_by_source()]


def test_a_broken_gzip_stream_is_a_problem_until_the_whole_file_is_imported(tmp_path):
    """It was told in the run that repacked the file; if that run was killed before the ledger had it, never."""
    stream, pieces = zlib.compressobj(wbits=31), []
    for number in range(3):
        record = response_record(f"http://a.example/{number}", b"%d" % number)
        pieces.append(stream.compress(record) + stream.flush(zlib.Z_FULL_FLUSH))
    path = tmp_path / "one.warc.gz"
    path.write_bytes(b"".join(pieces[:2]))
    import_warc_file(tmp_path / "archive", path, Limits())  # as a run that was killed after that
    for _ in range(2):
        assert take_warcs(tmp_path, path) == 3
        assert left_out(tmp_path) == [("corrupt", 1, "one.warc.gz")]
        (comment,) = query_ledger(tmp_path, "SELECT comment FROM task_end WHERE failed ORDER BY seq DESC LIMIT 1")
        assert "one.warc.gz is broken after" in comment[0]
    path.write_bytes(b"".join(pieces) + stream.flush())
    assert take_warcs(tmp_path, path) == 0
    assert left_out(tmp_path) == []


def test_kinds_of_records_that_are_not_imported_are_counted_by_file(tmp_path):
    """They were only in the summary of the run that read the file."""
    path = tmp_path / "one.warc"
    others = [make_record(f"kind{number}") for number in range(MAX_RULES + 3)]
    ftp = make_record("resource", b"x", target_uri="ftp://a.example/x")
    path.write_bytes(b"".join([warcinfo_record(), response_record("http://a.example/", b"x"), ftp, *others]))
    for _ in range(2):
        assert take_warcs(tmp_path, path) == 0
        counts = left_out(tmp_path)
        assert counts[0] == ("not_wanted", 4, "one.warc")
        assert len(counts) == MAX_RULES + 1
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        (item,) = ledger.imports.named("one.warc")
        texts = [event.message for event in _left_out_events(ledger, ledger.items.get(item.item))]
    assert texts[0] == "left out or faulty: 4 records: other rules (not_wanted)"
    assert "left out or faulty: 1 record: the kind of the record: ftp address (not_wanted)" in texts


@pytest.mark.parametrize("has_id", [True, False])
def test_revisits_without_a_digest_find_the_record_that_they_name(tmp_path, has_id):
    original = make_record(
        "response", HTML + b"same", target_uri="http://A.example:80/x", record_id="<urn:uuid:7>",
        content_type="application/http", date="2024-03-01T12:00:00Z",
    )  # fmt: skip
    names = {"refers_to": "<urn:uuid:7>"} if has_id else {}
    names |= {} if has_id else {"refers_to_target_uri": "http://a.example/x", "refers_to_date": "2024-03-01T12:00:00Z"}

    def revisit(url: str, **more: str) -> bytes:
        later = {"target_uri": url, "content_type": "application/http", "date": "2024-04-01T00:00:00Z"}
        return make_record("revisit", HTML, **later, **(names | more))

    lost = revisit("http://a.example/lost", refers_to="<urn:uuid:8>", refers_to_date="")
    contents = [revisit("http://a.example/1"), original, revisit("http://a.example/2") + lost]
    paths = [tmp_path / f"{number}.warc" for number in range(3)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    take_warcs(tmp_path, *paths)
    rows = query_ledger(
        tmp_path, "SELECT a.url, v.size, v.revisit FROM attempt v JOIN address a ON a.digest = v.address"
    )
    assert sorted(rows) == [("http://a.example/1", 4, 1), ("http://a.example/2", 4, 1), ("http://a.example/x", 4, 0)]
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        (item,) = ledger.imports.named("2.warc")
        (event,) = _left_out_events(ledger, ledger.items.get(item.item))
    offset = len(contents[2]) - len(lost)
    assert event.message == f"the revisit at byte {offset} waits for its original"


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_heads_of_interim_responses_before_the_whole_answer_are_skipped(tmp_path, suffix):
    """Some crawlers keep them in the record; the page was left out as a response with status 100."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n"
    records = [
        response_record("http://a.example/whole", b"text", interim + HTML),
        response_record("http://a.example/only", b"HTTP/", interim),
    ]
    path = tmp_path / f"one.warc{suffix}"
    path.write_bytes(pack_records(records) if suffix else b"".join(records))
    assert take_warcs(tmp_path, path) == 0
    ((url, status, digested, *place),) = query_ledger(
        tmp_path,
        "SELECT a.url, v.status, v.digest, v.warc, v.place_offset, v.place_length"
        " FROM attempt v JOIN address a ON a.digest = v.address",
    )
    assert (url, status, digested) == ("http://a.example/whole", 200, digest(b"text"))
    response = open_response(tmp_path / "archive", ArchivePlace(*place))
    with response.view as view:
        assert (response.status, view.read()) == (200, b"text")
    assert left_out(tmp_path) == [("not_wanted", 1, path.name)]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_false_block_digest_is_found_although_the_body_is_whole(tmp_path, algorithm):
    """The HTTP head may be damaged, and a record may state no digest of its payload."""

    def block_digest(content: bytes) -> str:
        return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"

    body, interim, damaged = b"<p>whole", b"HTTP/1.1 103 Early Hints\r\n\r\n", HTML.replace(b"200", b"404")
    records = [
        response_record("http://a.example/", body, interim + HTML, block_digest=block_digest(interim + HTML + body)),
        response_record("http://b.example/", body, damaged, payload_digest="", block_digest=block_digest(HTML + body)),
        revisit_record("http://c.example/", body, damaged, block_digest=block_digest(HTML)),
        revisit_record("http://d.example/", body, block_digest=block_digest(HTML)),
        response_record("http://e.example/", body, block_digest="odd:1"),
    ]
    (tmp_path / "one.warc.gz").write_bytes(pack_records(records))
    assert take_warcs(tmp_path, tmp_path / "one.warc.gz") == 0
    ((summary,), *_) = query_ledger(tmp_path, "SELECT comment FROM task_end ORDER BY seq")
    assert "5 captures; 2 records with faults: digest_mismatch 2" in summary
    unused = "; its bytes are not used for revisits"
    ends = [
        message.partition(" is stated for its block")[2]
        for (message,) in query_ledger(tmp_path, "SELECT message FROM finding ORDER BY seq")
    ]
    assert ends == [unused, ""]
