"""PDFs made to cost time and memory: each ends in a document or a reason, within the limits of a process that reads."""

from __future__ import annotations

import re
import resource
import signal
import zlib
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.collections.pages.sheet import lines, paper, pdf
from tests.waiting import PATIENCE
from windrow.errors import StepError
from windrow.formats.pdf import draw_first_page, read_pages, read_pdf

CPU_SECONDS = 1
MEMORY = 1 << 30  # bytes
FIRST = lines("On tea")
PAGE = b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources <</Font <</F 3 0 R>> >> /Contents 11 0 R>>"


def packed(content: bytes, times: int = 1, fields: bytes = b"") -> bytes:
    """Return a stream of content that is compressed several times."""
    for _ in range(times):
        content = zlib.compress(content, 9)
    filters = b"/FlateDecode " * times
    return b"<<%s /Filter [%s] /Length %d>>\nstream\n%s\nendstream" % (fields, filters, len(content), content)


def with_trailer(old: bytes, new: bytes) -> bytes:
    return paper(FIRST).replace(old, new)


def chained_tables(count: int) -> bytes:
    """Return a document whose tables of references name the next one each, and the last one the first."""
    raw = paper(FIRST)
    start = int(re.findall(rb"startxref\n(\d+)", raw)[-1])
    out = bytearray(raw)
    for _ in range(count):
        at = len(out)
        out += b"xref\n0 0\ntrailer\n<</Size 12 /Root 1 0 R /Prev %d>>\n" % start
        start = at
    out += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def nested_forms(levels: int, uses: int) -> bytes:
    """Return a page that draws a form that draws a form..., each several times."""
    forms = {}
    for level in range(levels):
        inner = b"/X Do " * uses if level + 1 < levels else b"BT /F 12 Tf (tea) Tj ET"
        names = b"/XObject <</X %d 0 R>>" % (21 + level)
        fields = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <</Font <</F 3 0 R>> %s>>" % names
        forms[20 + level] = packed(inner, fields=fields)
    raw = paper(FIRST + b" /X Do", extra=forms)
    return raw.replace(
        b"/Resources <</Font <</F 3 0 R>> >>", b"/Resources <</Font <</F 3 0 R>> /XObject <</X 20 0 R>> >>"
    )


def outline(count: int, *, deep: bool) -> bytes:
    items = {6: b"<</First 100 0 R /Last %d 0 R /Count %d>>" % (99 + count, count)}
    link = b"/First" if deep else b"/Next"
    for number in range(100, 100 + count):
        items[number] = b"<</Title (On tea) /Parent 6 0 R %s %d 0 R>>" % (link, number + 1)
    return paper(FIRST, root=b"/Outlines 6 0 R", extra=items)


def deep_pages(depth: int) -> bytes:
    nodes = {2: b"<</Type /Pages /Kids [100 0 R] /Count 1>>"}
    for number in range(100, 100 + depth):
        nodes[number] = b"<</Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1>>" % (number - 1, number + 1)
    nodes[100 + depth] = PAGE
    return paper(FIRST, extra=nodes)


def reference_stream(fields: bytes, content: bytes = b"\1\0\0\0\0\0\0\0\0") -> bytes:
    raw = paper(FIRST)
    start = len(raw)
    body = packed(content, fields=b"/Type /XRef /Root 1 0 R " + fields)
    return raw + b"99 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (body, start)


def with_font(mapping: bytes) -> bytes:
    font = b"<</Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [30 0 R] /ToUnicode 31 0 R>>"
    inner = b"<</Type /Font /Subtype /CIDFontType2 /BaseFont /A /CIDSystemInfo <</Registry (A) /Ordering (B)>> >>"
    return paper(b"BT /F 12 Tf 72 700 Td <0041> Tj ET", extra={3: font, 30: inner, 31: packed(mapping)})


def image(width: int, height: int) -> bytes:
    fields = b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8 /ColorSpace /DeviceRGB" % (
        width, height,
    )  # fmt: skip
    raw = paper(FIRST + b" 600 0 0 700 0 0 cm /X Do", extra={20: packed(bytes(1 << 20), fields=fields)})
    return raw.replace(
        b"/Resources <</Font <</F 3 0 R>> >>", b"/Resources <</Font <</F 3 0 R>> /XObject <</X 20 0 R>> >>"
    )


CASES = {
    "table that names itself": lambda: with_trailer(b"/Root 1 0 R", b"/Root 1 0 R /Prev 15"),
    "tables in a chain": lambda: chained_tables(20_000),
    "large size of a stream": lambda: reference_stream(b"/Size 2147483647 /W [1 4 4] /Index [0 2147483647]"),
    "wide fields of a stream": lambda: reference_stream(b"/Size 9 /W [1 2147483647 4]"),
    "many fields of a stream": lambda: reference_stream(b"/Size 400000 /W [1 4 4]", bytes(3_600_000)),
    "stream that names itself": lambda: reference_stream(b"/Size 9 /W [1 4 4] /Prev 99"),
    "huge page": lambda: with_trailer(b"[0 0 612 792]", b"[0 0 1000000000 1000000000]"),
    "page of no size": lambda: with_trailer(b"[0 0 612 792]", b"[0 0 0 0]"),
    "page of one dimension": lambda: with_trailer(b"[0 0 612 792]", b"[0 0 100000000 0.0001]"),
    "huge unit": lambda: with_trailer(b"/MediaBox", b"/UserUnit 1000000000 /MediaBox"),
    "turned page": lambda: with_trailer(b"/MediaBox", b"/Rotate 2147483647 /MediaBox"),
    "pages that are not there": lambda: with_trailer(b"/Count 1>>", b"/Count 2147483647>>"),
    "deep outline": lambda: outline(50_000, deep=True),
    "long outline": lambda: outline(50_000, deep=False),
    "deep tree of pages": lambda: deep_pages(50_000),
    "page many times": lambda: with_trailer(b"[10 0 R] /Count 1", b"[%s] /Count 100000" % (b"10 0 R " * 100_000)),
    "content that inflates": lambda: pdf({1: b"<</Type /Catalog /Pages 2 0 R>>", 2: b"<</Type /Pages /Kids [10 0 R] /Count 1>>",
                                          10: PAGE, 11: packed(b" " * (60 << 20), 2)}),
    "content of operators": lambda: paper(b"BT /F 12 Tf " + b"(tea) Tj " * 200_000),
    "nested states": lambda: paper(b"q " * 500_000 + FIRST),
    "nested arrays": lambda: paper(FIRST, root=b"/X " + b"[" * 300_000),
    "nested dictionaries": lambda: paper(FIRST, root=b"/X " + b"<</X " * 300_000),
    "nested forms": lambda: nested_forms(12, 12),
    "long name": lambda: paper(FIRST, root=b"/" + b"x" * 10_000_000 + b" 1"),
    "wide ranges of letters": lambda: with_font(
        b"begincmap\n" + b"100 beginbfrange\n" + b"<0000> <FFFFFFFF> <0041>\n" * 100 + b"endbfrange\nendcmap"),
    "many ranges of letters": lambda: with_font(
        b"begincmap\n" + b"100 beginbfrange\n" + b"<0000> <FFFF> <0041>\n" * 3_000 + b"endbfrange\nendcmap"),
    "annotations": lambda: paper(FIRST, link="/cup").replace(b"[5 0 R]", b"[%s]" % (b"5 0 R " * 100_000)),
    "large image": lambda: image(100_000, 100_000),
    "image of no size": lambda: image(0, -1),
}  # fmt: skip


def read(raw: bytes, outcome: str) -> None:
    """Read a document in every way, within the limits of a process that reads, and write each outcome to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    inherited = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (inherited + MEMORY,) * 2)
    with Path(outcome).open("w") as file:
        for name, function in (
            ("pdf", read_pdf),
            ("pages", read_pages),
            ("picture", lambda raw: draw_first_page(raw, 180, 300)),
        ):
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            try:
                function(raw)
                file.write(f"{name}: read\n")
            except StepError as error:
                file.write(f"{name}: {error.reason}\n")
            except MemoryError:
                file.write(f"{name}: memory_limit\n")
            file.flush()


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_document_ends_in_a_document_or_a_reason(tmp_path: Path, case: str) -> None:
    pytest.importorskip("pypdfium2")
    pytest.importorskip("PIL")
    outcome = tmp_path / "outcome"
    process = get_context("fork").Process(target=read, args=(CASES[case](), str(outcome)))
    process.start()
    process.join(PATIENCE)
    code = process.exitcode
    process.kill()
    # the kernel ends the process at the limit of CPU time, and PDFium itself if it gets no more memory
    assert code in {0, -signal.SIGPROF, -signal.SIGABRT}
    outcomes = dict(line.split(": ") for line in outcome.read_text().splitlines())
    assert [*outcomes] == ["pdf", "pages", "picture"][: len(outcomes)]
    assert code or len(outcomes) == 3
    assert {*outcomes.values()} <= {"read", "corrupt", "too_large", "memory_limit"}


@pytest.mark.parametrize(("depth", "left_out"), [(6, 0), (7, 1), (100, 1)])
def test_levels_of_the_contents_beyond_the_cap_are_counted(depth: int, left_out: int) -> None:
    document = read_pdf(outline(depth, deep=True))
    assert [level for level, _ in document.contents] == [0, 1, 2, 3, 4, 5]
    counted = [(excess.cap.name, excess.number) for excess in document.left_out]
    assert counted == ([("PDF_BOOKMARK_LEVELS", left_out)] if left_out else [])
