"""PDFs: text by paragraphs, metadata, links; broken, closed and circular ones."""

from __future__ import annotations

import random

import pytest

from tests.collections.pages.sheet import lines, paper, pdf
from windrow.caps import PDF_TITLE
from windrow.collections.pages.reading import PageDocument, read
from windrow.formats import pdf as portable
from windrow.model import Limits

pytest.importorskip("pypdfium2", reason="the extra pdf is not installed")

URL = "http://a.example/papers/tea.pdf"
PDF = {"content-type": "application/pdf"}
FIRST = lines("On tea", "Water that has boiled twice has lost the air that", "makes a good cup.", "Second paragraph.")


def read_page(raw: bytes, url: str = URL) -> PageDocument:
    return read(raw, url, PDF)


def test_text_metadata_and_links() -> None:
    page = read_page(paper(FIRST, lines("Another page"), link="../cup?x=1#top", title="A study of tea"))
    assert page.pile.text == (
        "On tea\nWater that has boiled twice has lost the air that makes a good cup.\nSecond paragraph.\nAnother page"
    )
    description = page.description
    assert (description.title, description.created, description.language) == ("A study of tea", 1709290800, "en-GB")
    link = page.links[0]
    assert (link.url, link.fragment, link.text, link.locality) == ("http://a.example/cup?x=1", "top", "On tea", 1)
    assert page.mime is not None
    assert page.mime.essence == "application/pdf"
    assert not page.findings


def test_headlines_are_copies_of_the_text() -> None:
    extra = {
        6: b"<</Type /Outlines /First 7 0 R /Last 8 0 R>>",
        7: b"<</Title (On tea) /Parent 6 0 R /Next 8 0 R>>",
        8: b"<</Title (Not in the text) /Parent 6 0 R>>",
    }
    page = read_page(paper(FIRST, root=b"/Outlines 6 0 R", extra=extra))
    assert page.pile.big_headlines == "On tea"


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - draft 3.doc", "thesis_final.tex"])
def test_a_title_that_is_none_gives_way_to_the_first_line(title: str) -> None:
    assert read_page(paper(FIRST, title=title)).description.title == "On tea"


def test_what_runs_in_circles_ends() -> None:
    toc = {
        6: b"<</Type /Outlines /First 7 0 R /Last 7 0 R>>",
        7: b"<</Title (On tea) /Parent 6 0 R /Next 7 0 R /First 7 0 R>>",
    }
    assert read_page(paper(FIRST, root=b"/Outlines 6 0 R", extra=toc)).pile.big_headlines == "On tea"
    tree = {1: b"<</Type /Catalog /Pages 2 0 R>>", 2: b"<</Type /Pages /Kids [2 0 R 2 0 R] /Count 2>>"}
    assert not read_page(pdf(tree)).pile
    form = {
        20: b"<</Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources <</XObject <</X 20 0 R>> >> /Length 4>>\n"
        b"stream\n/X Do\nendstream",
    }
    assert read_page(paper(FIRST + b" /X Do", extra=form)).pile.text.startswith("On tea")


def test_what_cannot_be_read_says_why() -> None:
    for raw in (b"", b"%PDF-1.7", paper(FIRST)[:300]):
        page = read_page(raw)
        assert not page.pile
        assert [finding.kind for finding in page.findings] == ["corrupt"]
    crypt = b"/Encrypt <</Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s>>> /ID [<00> <00>]" % (b"61" * 32, b"62" * 32)
    closed = paper(FIRST).replace(b"/Root", crypt + b" /Root")
    assert [finding.kind for finding in read_page(closed).findings] == ["encrypted"]
    assert [finding.kind for finding in read_page(paper(b"")).findings] == ["no_text"]


def test_no_more_than_so_many_pages() -> None:
    raw = paper(*(lines(f"page {at}") for at in range(4)))
    page = read(raw, URL, PDF, limits=Limits(pages=2))
    assert page.pile.text == "page 0\npage 1"
    assert [(excess.cap.rule, excess.number) for excess in page.left_out] == [("more than 2 pages of a PDF", 2)]
    page = read(raw, URL, PDF, limits=Limits(characters=10))
    assert page.pile.text == "page 0\npage"
    assert [(excess.cap.rule, excess.number) for excess in page.left_out] == [("more than 10 characters of a PDF", 4)]
    assert read_page(raw).left_out == ()


@pytest.mark.parametrize(("cap", "links"), [("PDF_LINKS", 3), ("PDF_PAGE_LINKS", 3), ("PDF_LINKS", 0)])
def test_links_beyond_the_caps_are_counted(monkeypatch: pytest.MonkeyPatch, cap: str, links: int) -> None:
    monkeypatch.setattr(portable, f"_MAX_{cap.removeprefix('PDF_')}", links)
    page = paper(FIRST, link="/cup").replace(b"/Annots [5 0 R]", b"/Annots [5 0 R 5 0 R 5 0 R 5 0 R 5 0 R]")
    document = portable.read_pdf(page)
    assert len(document.links) == links
    assert [(excess.cap.name, excess.number) for excess in document.left_out] == [(cap, 5 - links)]


@pytest.mark.parametrize(("length", "links", "left_out"), [(2048, 1, []), (2049, 0, [("URL_CHARACTERS", 1)])])
def test_links_that_are_too_long_are_counted(length: int, links: int, left_out: list[tuple[str, int]]) -> None:
    document = portable.read_pdf(paper(FIRST, link="http://a.example/".ljust(length, "x")))
    assert len(document.links) == links
    assert [(excess.cap.name, excess.number) for excess in document.left_out] == left_out


def test_pages_that_cannot_be_read_give_the_document_a_reason() -> None:
    page = read_page(paper(FIRST, FIRST).replace(b"10 0 R 12 0 R", b"10 0 R 99 0 R"))
    assert page.pile.text.startswith("On tea")
    assert [(finding.kind, finding.message) for finding in page.findings] == [
        ("corrupt", "1 page of the PDF cannot be read")
    ]


def test_bookmarks_beyond_the_cap_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "_MAX_BOOKMARKS", 2)
    items = {
        6 + n: b"<</Title (On tea) /Parent 6 0 R %s>>" % (b"/Next %d 0 R" % (7 + n) if n < 3 else b"")
        for n in (1, 2, 3)
    }
    outline = {6: b"<</First 7 0 R /Last 9 0 R /Count 3>>"} | items
    document = portable.read_pdf(paper(FIRST, root=b"/Outlines 6 0 R", extra=outline))
    assert len(document.contents) == 2
    assert [(excess.cap.name, excess.number) for excess in document.left_out] == [("PDF_BOOKMARKS", 1)]


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "is_installed", lambda: False)
    page = read_page(paper(FIRST))
    assert "pip install 'windrow[pdf]'" in page.findings[0].message
    assert not page.pile


def test_real_papers(shared) -> None:
    folder = shared / "data/papers/grobid/pdf"
    if not folder.is_dir():
        pytest.skip("no papers among the shared data")
    page = read_page((folder / "1001._0908.0054.pdf").read_bytes())
    assert page.description.title == "Ultra light bosonic dark matter and CMB"
    assert len(page.pile.text) > 10_000
    assert page.links
    kinds = {
        path.name: [finding.kind for finding in read_page(path.read_bytes()).findings]
        for path in sorted(folder.glob("*.pdf"))
    }
    assert kinds["err-user-password.pdf"] == ["encrypted"]
    assert kinds["err-truncated.pdf"] == kinds["err-empty.pdf"] == ["corrupt"]
    assert kinds["err-image-only.pdf"] == ["no_text"]
    assert kinds["owner-password-only.pdf"] == kinds["nine-words.pdf"] == []


HALF = b"(\xfe\xff\xd8\x00A)"


def test_halves_of_letters_in_metadata_and_contents_lose_no_text() -> None:
    toc = {6: b"<</Type /Outlines /First 7 0 R>>", 7: b"<</Title %s>>" % HALF}
    page = read_page(paper(FIRST, root=b"/Outlines 6 0 R", extra=toc).replace(b"(On tea) /C", HALF + b" /C"))
    assert page.pile.text.startswith("On tea")
    assert not page.findings


@pytest.mark.parametrize(
    "date", ["D:99991231235959-12'00'", "D:00010101000000+23'00'", "D:99999999999999", "D:20240301120000+99'99'", ""]
)
def test_a_date_that_no_calendar_has_is_none(date: str) -> None:
    assert portable.read_pdf_time(date) is None


NUMBERS = [b"-1", b"2147483648", b"99999999999999999999", b"1.5", b"null", b"/x"]
PLACES = [
    (b"/Count 1", b"/Count %s"), (b"<</Length ", b"<</Length %s /Y "), (b"[0 0 612 792]", b"[%s 0 9 9]"),
    (b"[70 690 400 715]", b"[%s 690 4 715]"), (b"/Size ", b"/Size %s /Z "), (b"/Root 1", b"/Prev %s /Root 1"),
    (b"startxref\n", b"startxref\n%s\n"), (b"/F 12 Tf", b"/F %s Tf"), (b"72 700 Td", b"72 %s Td"),
    (b"(D:20240301120000+01'00')", b"%s"), (b"(en-GB)", b"%s"), (b"(/cup)", b"%s"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "lie"), PLACES, ids=[place.decode().strip() for place, _ in PLACES])
def test_numbers_that_lie_end_in_a_document_or_a_reason(place: bytes, lie: bytes) -> None:
    good = paper(FIRST, link="/cup")
    assert place in good
    for number in NUMBERS:
        page = read_page(good.replace(place, lie % number))
        assert page.pile.text or {finding.kind for finding in page.findings} <= {"corrupt", "no_text", "too_large"}, (
            number
        )


def test_a_hundred_damaged_documents_end_in_a_document_or_a_reason() -> None:
    chance = random.Random(1)
    good = paper(FIRST, link="/cup", root=b"/Outlines 6 0 R", extra={6: b"<</First 7 0 R>>", 7: b"<</Title (On tea)>>"})
    for _ in range(100):
        raw = bytearray(good)
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(raw))
            raw[at : at + chance.randrange(20)] = chance.choice(
                [b"99999999999", b"<<", b"[", b"(", b"0 0 R", b"\0\xff"]
            )
        page = read_page(b"%PDF-" + bytes(raw[5:]))
        assert page.pile.text or {finding.kind for finding in page.findings} <= {"corrupt", "no_text", "encrypted"}


def test_a_title_beyond_its_cap_is_cut_and_counted() -> None:
    page = read_page(paper(FIRST, title="tea " * 600))
    assert len(page.description.title or "") <= PDF_TITLE.number
    assert [(excess.cap, excess.number) for excess in page.left_out] == [(PDF_TITLE, 2_400 - PDF_TITLE.number)]
