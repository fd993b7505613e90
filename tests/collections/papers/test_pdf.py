"""PDFs: the same bytes have the same outcome, and titles of several lines are guessed whole."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest

from tests.collections.papers.library import pdf
from windrow.caps import PAPER_REFERENCE, PAPER_REFERENCES
from windrow.clock import now
from windrow.collections.pages.reading.document import ContentHeaders
from windrow.collections.pages.reading.read import read_pdf
from windrow.collections.papers.extract import _find_doi, extract, guess_metadata
from windrow.contract import Answer, Request, Skip, Task
from windrow.errors import StepError
from windrow.formats.pdf import read_pages
from windrow.model import Item, Limits
from windrow.reasons import Reason


def outcome(content: bytes) -> str:
    try:
        return f"{read_pages(content).page_count} pages"
    except StepError as error:
        return f"{error.reason}: {error}"


def test_the_outcome_of_a_pdf_does_not_depend_on_the_one_before(shared):
    """PDFium leaves its last error as it was for some broken files."""
    folder = shared / "data" / "papers" / "grobid" / "pdf"
    earlier = [(folder / "err-user-password.pdf").read_bytes(), pdf("A title of some length"), b"no PDF", b""]
    chance, whole = random.Random(1), (folder / "nine-words.pdf").read_bytes()
    outcomes = set()
    for _ in range(40):
        content = bytearray(whole)
        for _ in range(30):
            content[chance.randrange(len(content))] = chance.randrange(256)
        reasons = set()
        for first in earlier:
            outcome(first)
            reasons.add(outcome(bytes(content)))
        assert len(reasons) == 1
        outcomes |= reasons
    assert any(name.startswith("corrupt") for name in outcomes)


def test_a_title_keeps_its_lines_without_tall_letters(shared):
    content = pdf("Tall Objects are Typically\nseen across an ocean")
    guess = guess_metadata(read_pages(content)._replace(title=""))
    assert guess.info["title"] == "Tall Objects are Typically seen across an ocean"
    content = (shared / "data" / "papers" / "grobid" / "pdf" / "submission_363.pdf").read_bytes()
    guess = guess_metadata(read_pages(content)._replace(title=""))
    assert guess.info["title"] == "COHERENCE PROPERTIES OF QUANTUM DOT RESONANCE FLUORESCENCE"


def test_pages_that_cannot_be_read_are_counted():
    whole = pdf("A title of some length", pages=3)
    assert "reason" not in guess_metadata(read_pages(whole)).status
    guess = guess_metadata(read_pages(whole.replace(b"5 0 R 6 0 R", b"5 0 R 9 0 R")))
    assert guess.status["reason"] == "PAGES_UNREADABLE"
    assert guess.info["unreadable_pages"] == 1
    assert guess.info["title"] == "A title of some length"


def test_scanned_pages_behind_a_page_with_text_are_counted():
    content = pdf("A cover page of some length", pages=10, scans=9)
    task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(content), Limits(), {}, {})
    skipped = [result for result in extract(task) if isinstance(result, Skip)]
    message = "of 10 pages, 9 have pictures but no text, such as scanned pages"
    assert [(skip.reason, skip.message) for skip in skipped] == [(Reason.NO_TEXT, message)]
    document = read_pdf(content, "http://example.org/a.pdf", ContentHeaders(), Limits())
    assert [finding.message for finding in document.findings] == [
        "9 pages of the PDF without text, but with pictures: perhaps scanned"
    ]


def test_a_form_is_read_with_the_values_of_its_fields_and_what_is_not_read_of_a_pdf_is_told():
    """The page of a form was read as it is when nobody has filled it in, and attached files were not mentioned."""
    field = b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(%b)/DA(/F1 9 Tf 0 g)/Rect[300 %d 500 %d]/F 4>>"
    remark = b"<</Type/Annot/Subtype/FreeText/Contents(Seen by the editor)/DA(/F1 9 Tf 0 g)/Rect[300 60 500 80]/F 4>>"
    fields = field % (b"Ada Lovelace", 20, 40)
    form = b"/AcroForm<</Fields[%b]/DR<</Font<</F1 3 0 R>>>>/DA(/F1 9 Tf 0 g)%b>>"
    files = b"/Names<</EmbeddedFiles<</Names[(data.csv)<</Type/Filespec/F(data.csv)/EF<</F 4 0 R>>>>]>>>>"
    content = pdf(
        "A form of some length", catalogue=form % (b"", b"") + files, annotations=b"/Annots[%b%b]" % (fields, remark)
    )
    text = read_pages(content).pages[0]
    assert "Ada Lovelace" in text
    assert "Seen by the editor" in text
    message = "1 attached file of the PDF is not read"
    task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(content), Limits(), {}, {})
    skipped = [result for result in extract(task) if isinstance(result, Skip)]
    assert [(skip.reason, skip.message) for skip in skipped] == [(Reason.UNSUPPORTED, message)]
    tei = b"<TEI xmlns='http://www.tei-c.org/ns/1.0'><teiHeader/><text><body><p>A form of some length</p></body></text></TEI>"
    answers = {"tei-1": Answer(Request("http://grobid.example/"), 200, {}, io.BytesIO(tei), now())}
    observed, *skipped = extract(replace(task, options={"grobid": "http://grobid.example/"}, answers=answers))
    assert (observed.value["grobid"]["status"]["status"], "text" in observed.value) == ("success", False)
    assert [(skip.reason, skip.message) for skip in skipped] == [(Reason.UNSUPPORTED, message)]
    document = read_pdf(content, "http://example.org/a.pdf", ContentHeaders(), Limits())
    assert [(finding.kind, finding.message) for finding in document.findings] == [("unsupported", message)]
    assert "Ada Lovelace" in document.pile.text
    dynamic = pdf("Please wait", catalogue=form % (b"", b"/XFA 4 0 R") + b"/NeedsRendering true")
    assert read_pages(dynamic).unread == ("the XFA form of the PDF is not read",)


def test_what_caps_leave_out_of_a_bibliography_is_counted():
    entries = "\n".join(
        f"[{n}] A. Author {n}: a work of some length, 1999." for n in range(PAPER_REFERENCES.number + 5)
    )
    document = read_pages(pdf("A title of some length"))._replace(pages=[f"Text\nReferences\n{entries}"])
    guess = guess_metadata(document)
    assert len(guess.info["references"]) == PAPER_REFERENCES.number
    assert guess.status["reason"] == "CUT"
    assert [(excess.cap.name, excess.number) for excess in guess.left_out] == [("PAPER_REFERENCES", 5)]
    guess = guess_metadata(document._replace(pages=[f"Text\nReferences\n{'x' * 200_006}"]))
    excesses = [(excess.cap.name, excess.number) for excess in guess.left_out]
    assert excesses == [("BIBLIOGRAPHY", 7), ("PAPER_REFERENCE", 199_999 - PAPER_REFERENCE.number)]


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("doi 10.1002/(SICI)1096-8644(199802)105:2<217::AID-AJPA8>3.0.CO;2-R.",
         "10.1002/(sici)1096-8644(199802)105:2<217::aid-ajpa8>3.0.co;2-r"),
        ("10.1175/1520-0442(2001)014<0430:TAOTAB>2.0.CO;2, p. 4", "10.1175/1520-0442(2001)014<0430:taotab>2.0.co;2"),
        ("<a>10.5000/plain</a>", "10.5000/plain"), ("doi:10.5000.10/plain", "10.5000.10/plain"),
    ],
)  # fmt: skip
def test_a_doi_with_a_part_in_angle_brackets_is_found_whole(text, doi):
    assert _find_doi(text) == doi
