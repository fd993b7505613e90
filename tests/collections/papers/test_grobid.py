"""GROBID: the requests that are sent, and the outcomes of a real server's recorded answers."""

from __future__ import annotations

import io
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.requests.workshop import Server
from windrow.clock import now
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.extract import extract, is_declined
from windrow.collections.papers.grobid import MAX_TEI_SIZE, interpret_answer, rate_quality
from windrow.contract import Answer, Ask, Request, Task
from windrow.engine.progress import Progress
from windrow.ledger import Ledger
from windrow.model import Finding, Item, Limits, Reading
from windrow.reasons import Reason

TEI = (
    '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><encodingDesc><appInfo><application version="0.8.3" when="2026-01-01"/>'
    "</appInfo></encodingDesc><fileDesc><sourceDesc><biblStruct><analytic><author><persName><forename type='first'>Ann</forename>"
    "<surname>Lee</surname></persName></author><title level='a' type='main'>A careful measure of the whole thing</title>"
    "</analytic></biblStruct></sourceDesc></fileDesc><profileDesc><abstract><p>short</p></abstract></profileDesc></teiHeader>"
    f"<text><body><p>{'word ' * 600}</p></body></text></TEI>"
).encode()
BUSY = (503, b"", {"Content-Type": "text/html"})
XML = {"Content-Type": "application/xml"}


def answer(status: int, body: bytes, reason: Reason | None = None) -> Answer:
    return Answer(Request("http://grobid.example/"), status, {}, io.BytesIO(body), now(), reason=reason)


def waits(workspace: Library):
    """Return the service that the workspace's papers wait for."""
    ledger = Ledger(workspace.workspace().ledger)
    try:
        return ADAPTER.waits(workspace.workspace(), ledger)
    finally:
        ledger.close()


def recorded(folder: Path, name: str) -> tuple[int, bytes]:
    """Return status and body of a recorded answer."""
    head, _, body = (folder / f"{name}.txt").read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, body = body.partition(b"\n\n")
    return int(head.split()[1]), body


def test_every_recorded_answer_of_a_real_server_has_a_meaning(shared):
    folder = shared / "data" / "papers" / "grobid" / "http"
    counts, reasons = Counter(), {}
    for path in sorted(folder.glob("fulltext-*.txt")):
        status, body = recorded(folder, path.stem)
        outcome = interpret_answer(answer(status, body), Limits())
        counts[outcome.word] += 1
        reasons[path.stem] = (outcome.status.get("reason"), outcome.is_transient)
        assert outcome.code == status
        assert outcome.word in {"success", "error", "fail", "oversize"}
        assert (outcome.word == "success") == (outcome.table_json is not None)
    assert reasons["fulltext-err-empty"] == ("BAD_INPUT_DATA", False)
    assert reasons["fulltext-err-image-only"] == ("NEEDS_OCR", False)
    assert reasons["fulltext-err-user-password"][1] is False
    assert counts["error"] > 15
    for path in sorted(folder.glob("limit-*.txt")) + sorted(folder.glob("server-pdfalto-missing*.txt")):
        status, body = recorded(folder, path.stem)
        if status == 500:
            outcome = interpret_answer(answer(status, body), Limits())
            assert outcome.is_transient == (
                outcome.status["reason"] not in {"TOO_MANY_TOKENS", "TOO_MANY_BLOCKS", "BAD_INPUT_DATA", "NEEDS_OCR"}
            )


def test_the_tei_of_a_real_server_is_good_marginal_or_bad_by_the_written_rule(shared):
    folder = shared / "data" / "papers" / "grobid" / "tei"
    qualities = {name: interpret_answer(answer(200, (folder / f"{name}.tei.xml").read_bytes()), Limits()).quality
            for name in ("Wang-paperAVE2008", "1001._0908.0054", "nine-words", "submission_363")}  # fmt: skip
    assert qualities["Wang-paperAVE2008"] == qualities["1001._0908.0054"] == "good"
    assert qualities["nine-words"] == "bad"
    table = interpret_answer(answer(200, TEI), Limits()).table_json
    assert rate_quality(table) == "good"
    assert rate_quality({**table, "abstract": None}) == "marginal"
    assert rate_quality({**table, "body": "x" * 100, "abstract": None}) == "bad"
    assert rate_quality({**table, "title": None, "authors": []}) == "bad"


@pytest.mark.parametrize(
    ("grobid_answer", "status", "reason", "passing"),
    [
        (answer(204, b""), "error", "NO_CONTENT", False),
        (answer(400, b"bad"), "error", "HTTP_400", True),
        (answer(404, b"no such page"), "error", "HTTP_404", True),
        (answer(500, b"[GENERAL] Could not get an engine from the pool"), "error", "GENERAL", True),
        (answer(500, b"[PDFALTO_CONVERSION_FAILURE] x"), "error", "PDFALTO_CONVERSION_FAILURE", True),
        (answer(500, b"[NO_BLOCKS] PDF parsing resulted in empty content"), "error", "NEEDS_OCR", False),
        (answer(500, b"java.lang.NullPointerException"), "error", "HTTP_500", True),
        (answer(200, b"@inproceedings{-1, title = {x}}"), "fail", "NOT_XML", True),
        (answer(200, TEI[:900]), "fail", "not_well_formed", True),
        (answer(200, b"<html/>"), "fail", "wrong_root", True),
        (answer(200, b"<TEI" + b" " * MAX_TEI_SIZE), "oversize", "TOO_LARGE", False),
        (answer(200, b"", Reason.TOO_LARGE), "oversize", "TOO_LARGE", False),
        (answer(200, b"", Reason.BOMB_RATIO), "oversize", "BOMB_RATIO", False),
        (answer(500, b"", Reason.BOMB_TOTAL), "oversize", "BOMB_TOTAL", False),
        (answer(500, b"", Reason.CORRUPT), "error", "HTTP_500", True),
        (answer(0, b"", Reason.TIMEOUT), "error", "TIMEOUT", True),
    ],
)  # fmt: skip
def test_each_odd_answer_is_told_apart(grobid_answer, status, reason, passing):
    outcome = interpret_answer(grobid_answer, Limits())
    assert (outcome.word, outcome.status["reason"], outcome.is_transient) == (status, reason, passing)
    assert outcome.table_json is None
    assert len(outcome.status.get("description", "")) <= 10_000


@pytest.mark.parametrize(
    ("grobid_answer", "skipped"),
    [
        (answer(200, TEI), []),
        (answer(204, b""), [("server_error", "GROBID failed for it (status 204, NO_CONTENT)")]),
        (answer(500, b"[BAD_INPUT_DATA] x"), [("server_error", "GROBID failed for it (status 500, BAD_INPUT_DATA)")]),
        (answer(200, b"<TEI" + b" " * MAX_TEI_SIZE),
         [("too_large", "GROBID's answer is too large to be kept (status 200, TOO_LARGE)")]),
        (answer(200, b"<!DOCTYPE TEI [<!ENTITY a 'b'>]><TEI>&a;</TEI>"),
         [("dtd_forbidden", "GROBID's TEI cannot be read (status 200, dtd_forbidden)")]),
        (answer(200, b'<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><body/></text></TEI>'),
         [("no_text", "GROBID's TEI has neither a title nor a body")]),
    ],
)  # fmt: skip
def test_what_grobid_does_not_give_is_counted_with_a_reason(grobid_answer, skipped):
    content = pdf("The paper that GROBID refuses")
    task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(content), Limits(), {},
                {"grobid": "http://g/"}, answers={"tei-1": grobid_answer})  # fmt: skip
    record, *skips = extract(task)
    assert [(skip.reason, skip.message.partition(";")[0]) for skip in skips] == skipped
    assert all(f"windrow retry --service grobid {record.key}" in skip.message for skip in skips)


def test_cells_that_are_too_large_for_the_table_are_counted(monkeypatch):
    """GROBID's JSON may be ten times as large as its TEI, from many references without content."""
    monkeypatch.setattr("windrow.collections.papers.columns.MAX_CELL_SIZE", 100_000)
    references = b"<listBibl>" + b"<biblStruct/>" * 1000 + b"</listBibl>"
    tei = answer(200, TEI.replace(b"</body>", b"</body><back>" + references + b"</back>"))
    task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(pdf("The paper of many references")), Limits(),
                {}, {"grobid": "http://g/"}, answers={"tei-1": tei})  # fmt: skip
    _, *skips = extract(task)
    assert [(skip.reason, skip.message.partition(": more")[0]) for skip in skips] == [
        ("too_large", "its row lacks grobid0:tei_json"),
        ("too_large", "its row lacks grobid0:metadata"),
    ]


@pytest.mark.parametrize("grobid_answer", [answer(500, b"[NO_BLOCKS] x"), answer(200, TEI), answer(200, TEI[:900])])
@pytest.mark.parametrize("ends", [1, 2])
def test_a_paper_over_which_its_reader_was_ended_says_so_and_keeps_what_grobid_said(grobid_answer, ends):
    ended = Reading(
        Reason.WORKER_DIED, (Finding("WorkerDied", "its process ended twice, the last time with exit code -11"),)
    )
    content = pdf("The paper that ends its reader")
    grobid_answer.view.seek(0)
    task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(content), Limits(), {}, {"grobid": "http://g/", "thumbnails": "True"},
                answers={"tei-1": grobid_answer}, stopped=(ended,) * ends)  # fmt: skip
    observations = extract(task)
    if isinstance(observations[-1], Ask):
        assert ends == 1, "half an answer is read, and asked for again, as long as reading TEI was not what ended it"
        return
    record, *_, skipped = observations
    assert (skipped.reason, skipped.key) == (Reason.WORKER_DIED, f"sha1:{sha1(content)}")
    status = record.value["grobid"]["status"]
    if grobid_answer.status == 500:
        assert status["reason"] == "NEEDS_OCR"
    elif ends == 1:
        assert status == {"status": "success"}
    else:
        assert (status["status"], status["reason"]) == ("fail", "worker_died")
        assert record.aside["tei"].startswith("<TEI"), "what GROBID said stays"
    if status["status"] != "success":
        assert record.value["text"]["status"]["reason"] == "worker_died"
        assert "its process ended twice" in record.value["text"]["status"]["description"]
    assert "thumbnail" not in record.aside


def test_papers_go_through_a_server_that_misbehaves(tmp_path):
    """Busy without Retry-After, half an answer, BibTeX, errors called XML, an engine pool that is dead for one paper."""
    papers = {
        name: pdf(f"The paper called {name} by everybody")
        for name in ("good", "busy", "half", "bibtex", "ocr", "dead", "empty")
    }
    names = {content: name for name, content in papers.items()}
    tries = Counter()

    def serve(asked):
        form = asked.form()
        assert asked.path.startswith("/api/processFulltextDocument")
        assert asked.fields["accept"] == "application/xml"
        assert form["consolidateHeader"][2] == form["consolidateCitations"][2] == b"0"
        assert form["input"][1] == "application/pdf"
        name = names[form["input"][2]]
        tries[name] += 1
        if name == "busy" and tries[name] < 3:
            return BUSY
        if name == "half" and tries[name] < 2:
            return 200, TEI[:500], XML
        if name == "bibtex" and tries[name] < 2:
            return 200, b"@misc{x}", XML
        odd = {"ocr": (500, b"[NO_BLOCKS] PDF parsing resulted in empty content", XML), "empty": (204, b"", {}),
               "dead": (500, b"[GENERAL] Could not get an engine from the pool within configured time.", XML)}  # fmt: skip
        return odd.get(name, (200, TEI, XML))

    server = Server(serve)
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    for name, content in papers.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    shelf.index(tmp_path / "one.cdx")
    workspace = Library(
        tmp_path, f'grobid = "{server.url}"', f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}/warcs"]\n'
    )
    workspace.run()
    workspace.run()
    assert tries == {"good": 1, "busy": 3, "half": 2, "bibtex": 2, "ocr": 1, "empty": 1, "dead": 6}, (
        "nothing is sent twice that was done"
    )
    server.close()
    rows = {name: decode_row(workspace.rows()[f"sha1:{sha1(content)}"]) for name, content in papers.items()}
    for name in ("good", "busy", "half", "bibtex"):
        row = rows[name]
        assert (row["grobid0:status_code"], row["grobid0:status"], row["grobid0:quality"]) == (
            200,
            {"status": "success"},
            "good",
        )
        assert row["grobid0:tei_xml"] == TEI
        assert (
            row["grobid0:tei_json"]["title"]
            == row["grobid0:metadata"]["title"]
            == "A careful measure of the whole thing"
        )
        assert "body" not in row["grobid0:metadata"]
        assert "text0:tstatus" not in row
    assert (rows["ocr"]["grobid0:status_code"], rows["ocr"]["grobid0:status"]["reason"]) == (500, "NEEDS_OCR")
    assert rows["empty"]["grobid0:status_code"] == 204
    assert not any(name.startswith("grobid0:") for name in rows["dead"]), (
        "what told of the server is not stored as done"
    )
    for name in ("ocr", "empty", "dead"):
        assert rows[name]["text0:tinfo"]["title"] == f"The paper called {name} by everybody"
    assert rows["good"]["grobid0:tei_json"]["date"] is False


class RecordedServer:
    """Answers as a real server did, whose pool is `dead` behind a true isalive first.

    It is busy once, without Retry-After; breaks off where its answer is long, and gives the whole of it next; and is
    late for one paper.
    """

    BUSY, LATE = "Wang-paperAVE2008", "submission_363"

    def __init__(self, folder: Path) -> None:
        self.folder, self.dead, self.tries = folder, True, Counter()
        self.papers = {path.stem: path.read_bytes() for path in sorted((folder / "pdf").glob("*.pdf"))
                       if path.stat().st_size and (folder / "http" / f"fulltext-{path.stem}.txt").is_file()}  # fmt: skip
        self.names = {content: name for name, content in self.papers.items()}

    def answered(self, name: str, *, whole: bool = True) -> tuple[int, bytes]:
        status, body = recorded(self.folder / "http", f"fulltext-{name}")
        return status, (self.folder / "tei" / f"{name}.tei.xml").read_bytes() if status == 200 and whole else body

    def __call__(self, asked):
        if asked.path.endswith("isalive"):
            return 200, b"true", {}
        name = self.names[asked.form()["input"][2]]
        if self.dead:
            return 500, b"[GENERAL] Could not get an engine from the pool within configured time.", XML
        self.tries[name] += 1
        if name == self.BUSY and self.tries[name] == 2:
            return (*recorded(self.folder / "http", "overload-fulltext-8-503"), {"Content-Type": "text/html"})
        if name == self.LATE:
            time.sleep(4)
        return *self.answered(name, whole=self.tries[name] > 1), XML


def test_a_real_server_s_recorded_answers_make_the_rows_of_the_pdfs_that_it_was_sent(shared, tmp_path):
    grobid = RecordedServer(shared / "data" / "papers" / "grobid")
    server = Server(grobid)
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    for name, content in grobid.papers.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    shelf.index(tmp_path / "one.cdx")
    source = f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}/warcs"]\n'
    workspace = Library(tmp_path, f'grobid = "{server.url}"\ngrobid_timeout = "2 s"', source)
    assert workspace.run().failed, "a pool that is dead behind a true isalive is told"
    assert not any("grobid0:status_code" in row for row in workspace.rows().values())
    assert waits(workspace).documents == len(workspace.rows())
    grobid.dead = False
    workspace.run()
    assert waits(workspace).documents == 1, "the one for which it is late"
    for _ in range(3):
        workspace.run()
    server.close()
    assert waits(workspace) is None
    taken = {f"sha1:{sha1(content)}": name for name, content in grobid.papers.items()}
    rows = {taken[key]: decode_row(cells) for key, cells in workspace.rows().items()}
    late = rows.pop(grobid.LATE)
    assert (late["grobid0:status_code"], late["grobid0:status"]["reason"]) == (-4, "TIMEOUT")
    for name, row in rows.items():
        status, body = grobid.answered(name)
        assert row["grobid0:status_code"] == status, name
        if status == 200:
            assert row["grobid0:tei_xml"] == body, "the bytes of the server"
            assert set(row["grobid0:tei_json"]) >= {"grobid_version", "title", "authors", "citations", "body"}
        else:
            code = body.decode().partition("]")[0].lstrip("[")
            assert row["grobid0:status"]["reason"] == {"NO_BLOCKS": "NEEDS_OCR"}.get(code, code)
    assert rows[grobid.BUSY]["grobid0:quality"] == "good"
    assert rows["err-image-only"]["grobid0:status"]["reason"] == "NEEDS_OCR"


def test_what_told_only_of_the_server_is_asked_again_by_the_next_run(tmp_path):
    """The engine pool is dead in the first two runs, and one paper always fails: neither is stored as a final outcome."""
    papers = {name: pdf(f"The paper called {name} by everybody") for name in ("good", "never")}
    names = {content: name for name, content in papers.items()}
    tries, alive = Counter(), []
    dead = (500, b"[GENERAL] Could not get an engine from the pool within configured time.", XML)

    def serve(asked):
        name = names[asked.form()["input"][2]]
        tries[name] += 1
        return (200, TEI, XML) if alive and name == "good" else dead

    server = Server(serve)
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    for name, content in papers.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    shelf.index(tmp_path / "one.cdx")
    workspace = Library(
        tmp_path, f'grobid = "{server.url}"', f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}/warcs"]\n'
    )

    def row(name: str) -> dict:
        return decode_row(workspace.rows()[f"sha1:{sha1(papers[name])}"])

    for number in (1, 2):
        session = workspace.run()
        assert session.failed, "a run in which GROBID did nothing that helps has failed"
        wait = waits(workspace)
        assert (wait.service, wait.documents, wait.command) == ("grobid", 2, "windrow run papers")
        assert wait.why.startswith("it answered with status 500")
        text = workspace.why(sha1(papers["never"]))
        assert "GROBID's last answer is transient and not in the row: status 500, GENERAL [GENERAL] Could" in text
        assert "  waits for grobid" in text
        assert tries == {"good": 3 * number, "never": 3 * number}
        assert row("good")["text0:tinfo"]["title"] == "The paper called good by everybody"
        assert "grobid0:status_code" not in row("good")
    alive.append(True)
    assert not workspace.run().failed
    assert waits(workspace).documents == 1
    assert tries == {"good": 7, "never": 9}
    assert (row("good")["grobid0:status_code"], row("good")["grobid0:tei_xml"]) == (200, TEI)
    assert "text0:tinfo" not in row("good")
    workspace.run()
    assert tries == {"good": 7, "never": 12}, "what was done is not sent again"
    server.close()
    workspace.run()
    assert row("never")["text0:tinfo"]["title"] == "The paper called never by everybody", "the row stays meanwhile"


def test_papers_whose_grobid_is_down_have_the_row_of_a_file_that_was_not_asked_about(tmp_path):
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "one.warc.gz")
    shelf.put("http://example.org/a.pdf", pdf("The paper that waits for its server"))
    shelf.index(tmp_path / "one.cdx")
    source = f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}/warcs"]\n'
    workspace = Library(tmp_path, 'grobid = "http://127.0.0.1:9/"', source)
    workspace.run()
    (row,) = workspace.rows().values()
    assert set(row) == {"f:c", "file:size", "file:mime", "file:cdx", "file:meta"}
    assert waits(workspace).why.startswith("connect_failed: the connection was refused")
    for name in (workspace.rows().popitem()[0], "http://example.org/a.pdf"):
        assert "  waits for grobid" in workspace.why(name)
        assert "connect_failed" in workspace.why(name)
    workspace.section = ""
    workspace.run()
    assert "no address in the configuration any more" in waits(workspace).describe()
    ADAPTER.replay(workspace.workspace(), workspace.setup(), Progress(None))
    (row,) = workspace.rows().values()
    assert decode_row(row)["text0:tinfo"]["title"] == "The paper that waits for its server"
    assert waits(workspace) is None


def test_a_pdf_without_its_extra_says_the_command_and_is_counted_as_unread(monkeypatch):
    monkeypatch.setattr("windrow.formats.pdf.is_installed", lambda: False)
    task = Task(
        Item(1, "papers", "attempt", "http://x/"), io.BytesIO(pdf("A paper that nobody reads")), Limits(), {}, {}
    )
    observation, skip = extract(task)
    assert is_declined(observation.value)
    assert skip.reason is Reason.UNSUPPORTED
    assert (
        observation.value["text"]["status"]["reason"] == "reading PDF needs the extra 'pdf': pip install 'windrow[pdf]'"
    )


@pytest.mark.parametrize("coordinates", ["True", "False"])
def test_places_on_pages_are_asked_for_only_where_they_are_wanted(coordinates):
    options = {"grobid": "http://g/", "coordinates": coordinates}
    task = Task(
        Item(1, "papers", "attempt", "http://x/"), io.BytesIO(pdf("Somewhere on a page")), Limits(), {}, options
    )
    (ask,) = [request for request in extract(task) if isinstance(request, Ask)]
    assert ("teiCoordinates" in {field.name for field in ask.form}) == (coordinates == "True")
