"""The library of the demo: a WARC file with papers as PDFs, its CDX file, and a catalogue of the papers."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from windrow.formats.cdx import surt
from windrow.formats.warc import END, format_header, new_record_id

SOURCE_TOML = 'collection = "papers"\ncdx = ["library/papers.cdx"]\nwarc = ["library"]\n'
"""The settings of the library's source, as TOML."""

_WARC_NAME = "papers.warc.gz"
_CAPTURED_AT = "2026-11-15T12:00:00Z"


class _Paper(NamedTuple):
    name: str
    title: str
    author: str
    text: str


_PAPERS = (
    _Paper(
        "tides.pdf", "Tides of the inner harbour", "Cora Plover",
        "Abstract We report the height of the water at the pier, read twice a day over eleven years. High water comes"
        " fifty minutes later each day, and highest after the full moon.",
    ),
    _Paper(
        "whales.pdf", "Whales seen from the lighthouse", "Doran Gull",
        "Abstract The keepers of the lighthouse wrote down every whale that they saw between 1832 and 1990. We count"
        " 412 of them, most in autumn, and none in the year of the storm.",
    ),
    _Paper(
        "ropes.pdf", "Strength of wet ropes", "Edda Crake",
        "Abstract Ropes of hemp and of sisal were hung with weights, dry and wet. Wet hemp is the stronger, wet sisal"
        " the weaker.",
    ),
)  # fmt: skip


def write_library(folder: Path) -> None:
    """Write the WARC file, its CDX file and the catalogue into a new folder. The CDX also names a missing WARC file."""
    (folder / "catalogue").mkdir(parents=True)
    lines = [" CDX N b a m s k r M S V g"]
    with (folder / _WARC_NAME).open("wb") as warc:
        for paper in _PAPERS:
            url, body = f"https://papers.example/{paper.name}", _make_pdf(paper)
            digest = base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
            offset, record = warc.tell(), gzip.compress(_response_record(url, body, digest), mtime=0)
            warc.write(record)
            fields = ("application/pdf", "200", digest, "-", "-", str(len(record)), str(offset), _WARC_NAME)
            lines.append(" ".join((surt(url), "20261115120000", url, *fields)))
        # Further lines: one with a file that does not exist, one with a page.
        lines.append(lines[-1].replace("ropes", "lost").rpartition(_WARC_NAME)[0] + "lost.warc.gz")
        lines.append(lines[1].replace("tides", "index").replace("application/pdf", "text/html"))
    (folder / "papers.cdx").write_text("\n".join(lines) + "\n")
    works = [
        {"DOI": f"10.5555/demo.{number}", "title": [paper.title], "type": "journal-article",
         "author": [{"given": paper.author.split()[0], "family": paper.author.split()[1]}],
         "issued": {"date-parts": [[2026]]}}
        for number, paper in enumerate(_PAPERS[:2], 1)
    ]  # fmt: skip
    (folder / "catalogue" / "works.jsonl").write_text("".join(f"{json.dumps(work)}\n" for work in works))


def _response_record(url: str, body: bytes, digest: str) -> bytes:
    """Return a WARC record with a response; `digest` is the SHA-1 of its body in base 32."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    fields = [
        ("WARC-Record-ID", new_record_id()), ("WARC-Date", _CAPTURED_AT), ("WARC-Target-URI", url),
        ("WARC-Payload-Digest", f"sha1:{digest}"), ("Content-Type", "application/http; msgtype=response"),
    ]  # fmt: skip
    return format_header("response", fields, len(block)) + block + END


def _make_pdf(paper: _Paper) -> bytes:
    """Return a PDF of one page: the title in large letters, the author, and the text in lines of about 80 letters."""
    words, lines = paper.text.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 80:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    content = f"BT /F1 22 Tf 60 760 Td ({paper.title}) Tj /F1 13 Tf 0 -30 Td ({paper.author}) Tj /F1 11 Tf 0 -30 Td "
    content += " ".join(f"({line}) Tj 0 -15 Td" for line in lines) + " ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            " /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({paper.title}) /Author ({paper.author}) >>",
    )
    pdf, offsets = "%PDF-1.4\n", []
    for number, pdf_object in enumerate(objects, 1):
        offsets.append(len(pdf))
        pdf += f"{number} 0 obj\n{pdf_object}\nendobj\n"
    offset_table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    object_count = len(objects) + 1
    pdf += f"xref\n0 {object_count}\n0000000000 65535 f \n{offset_table}trailer\n"
    pdf += f"<< /Size {object_count} /Root 1 0 R /Info 6 0 R >>\n"
    return (pdf + f"startxref\n{pdf.index('xref')}\n%%EOF\n").encode("latin-1")
