"""A file that changes between two attempts is never kept as a mix of both versions."""

from __future__ import annotations

import io
import os
import re
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.faults.workspace import DAY
from tests.servers.script import listening
from windrow.demo.partner import drop
from windrow.digest import digest
from windrow.engine.check import index_name

CUT = 1_500_000


def make_padded_zip(number: int) -> tuple[str, bytes]:
    """Return a good zip of some 3 MB, padded with random bytes, so that no two are alike."""
    name, content = drop("H", DAY, 1)
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"version %d" % number
        with archive.open(zipfile.ZipInfo(f"H.{DAY}.9.specimen.impc.xml"), "w") as member:
            member.write(b"<x>" + os.urandom(1_500_000).hex().encode() + b"</x>")
    return name, buffer.getvalue()


class ChangingServer:
    """A web server that breaks its first transfer off, and may send another version at the second."""

    def __init__(self, first: tuple[str, bytes], second: bytes, *, honest: bool, etag: bool) -> None:
        self.name, self.content = first
        self.second = second
        self.honest = honest  # heeds If-Range
        self.etag = etag
        self.requests: list[bytes] = []
        self.sent = 0

    def talk(self, connection: Any) -> None:
        request = connection.recv(65536)
        self.requests.append(request)
        path = request.split()[1].decode()
        if path.endswith("/"):
            page = f'<pre><a href="../">../</a>\n<a href="{self.name}">{self.name}</a>  12-Jan-2026 09:00  {len(self.content)}</pre>'
            body = page.encode() if path.endswith("/add/") else b'<pre><a href="../">../</a></pre>'
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            return
        self.sent += 1
        content = self.content if self.sent == 1 else self.second
        tag = b'"%s"' % digest(content)[7:23].encode()
        date = b"Mon, 12 Jan 2026 09:00:00 GMT" if content == self.content else b"Mon, 12 Jan 2026 09:00:30 GMT"
        validators = (
            b"ETag: %s\r\n" % tag
            if self.etag
            else b"Last-Modified: %s\r\nDate: Mon, 12 Jan 2026 10:00:00 GMT\r\n" % date
        )
        start, status = 0, b"200 OK"
        requested = re.search(rb"\r\nRange: bytes=(\d+)-", request)
        same = b"If-Range: %s" % (tag if self.etag else date) in request
        if requested and (same or not self.honest):
            start, status = int(requested[1]), b"206 Partial Content"
            validators += b"Content-Range: bytes %d-%d/%d\r\n" % (start, len(content) - 1, len(content))
        body = content[start:CUT] if self.sent == 1 else content[start:]
        head = b"HTTP/1.1 %s\r\nContent-Type: application/zip\r\nContent-Length: %d\r\n%s\r\n"
        connection.sendall(head % (status, len(content) - start, validators) + body)


@pytest.mark.parametrize("etag", [True, False])
@pytest.mark.parametrize("honest", [True, False])
def test_another_version_is_fetched_from_its_begin(make_workspace, honest, etag):
    first, second = make_padded_zip(1), make_padded_zip(2)[1]
    second = second[: len(first[1])].ljust(len(first[1]), b"\0")  # the listing cannot tell them apart by size
    changing_server = ChangingServer(first, second, honest=honest, etag=etag)
    workspace = make_workspace()
    with listening(changing_server.talk) as port:
        workspace.add_source("own", f"http://127.0.0.1:{port}/", "H", timeout=60)
        workspace.run()
    assert any(b"\r\nIf-Range: " in request for request in changing_server.requests), "no resume was tried"
    kept = workspace.query_ledger("SELECT digest FROM attempt WHERE reason IS NULL")
    assert kept == [(digest(second),)]


@pytest.mark.parametrize("etag", [True, False])
def test_the_same_version_is_gone_on_with_and_kept_as_one_answer(make_workspace, etag):
    first = make_padded_zip(1)
    changing_server = ChangingServer(first, first[1], honest=True, etag=etag)
    workspace = make_workspace()
    with listening(changing_server.talk) as port:
        workspace.add_source("own", f"http://127.0.0.1:{port}/", "H", timeout=60)
        workspace.run()
    rows = workspace.query_ledger(
        "SELECT digest, status, received, mime, started, warc FROM attempt WHERE reason IS NULL"
    )
    assert rows[0][:4] == (digest(first[1]), 200, len(first[1]) - CUT, "application/zip")
    with (workspace.root / "archive" / rows[0][5]).open("rb") as file:
        records = {record.rec_type: (record.rec_headers, record.http_headers) for record in ArchiveIterator(file)}
    headers, answer = records["response"]
    assert answer.get_statuscode() == "200"
    assert answer.get_header("Content-Length") == str(len(first[1]))
    assert headers["WARC-Date"] == rows[0][4]
    assert not records["request"][1].get_header("Range")
    line = (
        workspace.root / "archive" / index_name(workspace.query_ledger("SELECT seq FROM session")[0][0])
    ).read_text()
    assert line.split()[1] == datetime.fromisoformat(rows[0][4]).astimezone(UTC).strftime("%Y%m%d%H%M%S")
    assert '"status": "200"' in line
    assert '"mime": "application/zip"' in line
