"""Pages of imported WARC files count as the items of their source."""

from contextlib import closing

from tests.archive.foreign_records import make_record, pack_records, response_record, revisit_record
from tests.engine.warc_intake import take_warcs
from windrow.ledger import Ledger

GONE = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n"


def test_pages_of_a_warc_file_are_items_unless_their_last_capture_is_no_page(tmp_path):
    path = tmp_path / "x.warc.gz"
    path.write_bytes(
        pack_records([
            response_record("http://a.example/1", b"<p>One"),
            response_record("http://a.example/1", b"<p>One, later", date="2024-03-02T12:00:00Z"),
            response_record("http://a.example/gone", b"<p>Two"),
            response_record("http://a.example/gone", b"<p>Not found", GONE, date="2024-03-02T12:00:00Z"),
            response_record("http://a.example/back", b"<p>Not found", GONE),
            response_record("http://a.example/back", b"<p>Three", date="2024-03-02T12:00:00Z"),
            revisit_record("http://a.example/again", b"<p>One"),
            make_record("resource", b"<p>Four", target_uri="http://a.example/r", content_type="text/html"),
        ])
    )  # fmt: skip
    assert take_warcs(tmp_path, path) == 0
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        (count,) = ledger.addresses.by_source(0)
    assert (count.source, count.known, count.pages, count.failing) == ("them", 5, 4, 0)
