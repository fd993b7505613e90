"""What an import leaves out stays counted, by file, until the file is imported without it."""

import zlib
from contextlib import closing

from tests.archive.foreign_records import response_record
from tests.engine.warc_intake import query_ledger, take_warcs
from windrow.archive.import_file import import_warc_file
from windrow.ledger import Ledger
from windrow.model import Limits


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
