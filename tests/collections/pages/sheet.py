"""Small PDFs, written here: objects in, a file with its table of references out."""

from __future__ import annotations


def pdf(objects: dict[int, bytes], *, info: int = 0, more: bytes = b"") -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % places.get(number, 0)
    named = b"/Info %d 0 R" % info if info else b""
    out += b"trailer\n<</Size %d /Root 1 0 R %s %s>>\nstartxref\n%d\n%%%%EOF\n" % (size, named, more, start)
    return bytes(out)


def stream(content: bytes) -> bytes:
    return b"<</Length %d>>\nstream\n%s\nendstream" % (len(content), content)


def lines(*text: str) -> bytes:
    return b"BT /F 12 Tf 72 700 Td " + b" ".join(b"(%s) Tj 0 -14 Td" % line.encode("latin-1") for line in text) + b" ET"


def paper(
    *pages: bytes, link: str = "", root: bytes = b"", title: str = "", extra: dict[int, bytes] | None = None
) -> bytes:
    """Return a document of these pages' contents; the first bears a link over its first line."""
    kids = b" ".join(b"%d 0 R" % (10 + 2 * at) for at in range(len(pages)))
    objects = {
        1: b"<</Type /Catalog /Pages 2 0 R /Lang (en-GB) %s>>" % root,
        2: b"<</Type /Pages /Kids [%s] /Count %d>>" % (kids, len(pages)),
        3: b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
        4: b"<</Title (%s) /CreationDate (D:20240301120000+01'00')>>" % title.encode(),
        5: b"<</Type /Annot /Subtype /Link /Rect [70 690 400 715] /A <</S /URI /URI (%s)>> >>" % link.encode(),
    }
    for at, content in enumerate(pages):
        marks = b"/Annots [5 0 R]" if link and not at else b""
        objects[10 + 2 * at] = (
            b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources <</Font <</F 3 0 R>> >>"
            b" /Contents %d 0 R %s>>" % (11 + 2 * at, marks)
        )
        objects[11 + 2 * at] = stream(content)
    return pdf(objects | (extra or {}), info=4)
