"""Generates papers for tests: PDFs, WARC files that hold them, index lines, and a workspace that harvests these."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import uuid
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from tests.sessions import session_settings
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.collection import COLLECTION
from windrow.collections.papers.columns import FAMILIES
from windrow.collections.papers.database.wide import open_table
from windrow.config import Workspace, load
from windrow.engine.run import SessionSettings
from windrow.engine.session import Session
from windrow.formats.cdx import surt
from windrow.ledger import Ledger

BODY = "We show in detail how the thing was measured, and what came of it in each of the years that followed. "


def pdf(
    title: str,
    authors: str = "Ann Lee and Bo Berg",
    *,
    abstract: str = "What we found.",
    pages: int = 1,
    stream: bytes = b"",
    scans: int = 0,
    catalogue: bytes = b"",
    annotations: bytes = b"",
) -> bytes:
    """Make a PDF: the lines of a title in large letters, names, an abstract, text, and two references.

    The last `scans` pages are pictures. `catalogue` is added to the catalogue, and `annotations` to each page.
    """
    lines = [
        *((20, line) for line in title.split("\n")),
        (11, authors),
        (10, "Abstract"),
        (10, abstract),
        (12, "1 Introduction"),
        *[(10, BODY)] * 20,
    ]
    lines += [
        (12, "References"),
        (10, "[1] A. Writer. On the measure of all things, 1999."),
        (10, "[2] B. Writer. More of it, 2001."),
    ]
    high, commands = 780, []
    for size, text in lines:
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        commands.append(f"BT /F1 {size} Tf 60 {high} Td ({escaped}) Tj ET")
        high -= size + 8
    content = stream or zlib.compress("\n".join(commands).encode("latin-1", "replace"))
    objects = [b"<</Type/Catalog/Pages 2 0 R%s>>" % catalogue,
               b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b" ".join(b"%d 0 R" % (5 + at) for at in range(pages))),
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
               b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(content), content)]  # fmt: skip
    page = (
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 842]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>"
        + annotations
        + b">>"
    )
    objects += [page % 4] * (pages - scans) + [page % (5 + pages)] * scans
    picture = b"q 500 0 0 700 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"
    objects += [b"<</Length %d>>stream\n%s\nendstream" % (len(picture), picture)] * bool(scans)
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(
        b"%010d 00000 n \n" % place for place in places
    )
    return bytes(out) + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def sha1(content: bytes) -> str:
    return base64.b32encode(hashlib.sha1(content).digest()).decode()


def record_id(url: str, at: str) -> str:
    """Return the WARC-Record-ID of a record."""
    return f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{url} {at}')}>"


@dataclass
class Shelf:
    """A WARC file and the CDX lines of its records."""

    path: Path
    lines: list[str] = field(default_factory=list)

    def put(
        self,
        url: str,
        body: bytes,
        *,
        mime: str = "application/pdf",
        at: str = "2020-01-02T03:04:05Z",
        digest: str = "",
        ident: str | None = None,
        chunked: bool = False,
        fields: str = "",
    ) -> str:
        """Write a response, with its chunk headers if `chunked`, and return its index line. `fields` are of its head."""
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {mime}\r\n{fields}{framing}\r\n\r\n".encode()
        if chunked:
            digest = digest or sha1(body)
            body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (body[:300], body[300:])) + b"0\r\n\r\n"
        name = record_id(url, at) if ident is None else ident
        warc = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: {name}\r\nWARC-Date: {at}\r\n"
            f"WARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha1:{sha1(body)}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
        ).encode()
        record = gzip.compress(warc + head + body + b"\r\n\r\n", mtime=0)
        return self._add(url, record, at, mime, digest or sha1(body))

    def revisit(self, url: str, body: bytes, at: str) -> str:
        """Write a revisit record, which refers to the bytes of another address, and return its index line."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"
        warc = (
            f"WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nWARC-Date: {at}\r\n"
            f"WARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha1:{sha1(body)}\r\n"
            "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head)}\r\n\r\n"
        ).encode()
        return self._add(url, gzip.compress(warc + head + b"\r\n\r\n", mtime=0), at, "warc/revisit", sha1(body))

    def _add(self, url: str, record: bytes, at: str, mime: str, digest: str) -> str:
        offset = self.path.stat().st_size if self.path.exists() else 0
        with self.path.open("ab") as file:
            file.write(record)
        stamp = re.sub(r"\D", "", at)[:14]
        line = f"{surt(url)} {stamp} {url} {mime} 200 {digest} - - {len(record)} {offset} {self.path.name}"
        self.lines.append(line)
        return line

    def index(self, path: Path, *more: str) -> Path:
        path.write_text("\n".join([" CDX N b a m s k r M S V g", *self.lines, *more]) + "\n")
        return path


@dataclass
class Library:
    """A workspace of papers."""

    root: Path
    section: str = ""
    source: str = ""
    seconds: int = 3  # of CPU time for one reading

    def workspace(self) -> Workspace:
        (self.root / "windrow.toml").write_text(
            f'[limits]\ncpu_time = "{self.seconds} s"\n[papers]\ngrobid_pause = "50 ms"\n{self.section}\n[source.shelf]\ncollection = "papers"\n{self.source}\n'
        )
        return load(self.root, environ={}, collections={"papers": COLLECTION})

    def setup(self) -> SessionSettings:
        return session_settings(self.workspace(), workers=2)

    def run(self) -> Session:
        workspace = self.workspace()
        with Session(self.setup(), "run") as session:
            session.run_harvest(ADAPTER.harvest(workspace))
        return session

    def rows(self) -> dict[str, dict[str, bytes]]:
        where = ADAPTER._paper_settings(self.workspace())
        table = open_table(where.table, where.table_name, FAMILIES)
        cells_by_key = {key.decode(): dict(cells) for key, cells in table.scan()}
        table.close()
        return cells_by_key

    def why(self, name: str) -> str:
        ledger = Ledger(self.workspace().ledger)
        try:
            explanation = ADAPTER.explain(self.workspace(), ledger, name)
            return "\n".join(explanation.lines) if explanation else ""
        finally:
            ledger.close()
