"""A GROBID that fails for some documents, hangs, or sends answers that are not what they claim to be."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.collections.papers.test_grobid import TEI, XML, answer, waits
from tests.requests.workshop import AnswerFunction, Server
from windrow.app import Windrow as App
from windrow.app.decisions import ask_again
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.grobid import interpret_answer
from windrow.contract import AttemptObservations, Observation, PendingAsk
from windrow.engine.progress import Progress
from windrow.errors import Locked, UsageError
from windrow.ledger import Lease, Ledger
from windrow.model import Limits

GENERAL = (500, b"[GENERAL] Could not get an engine from the pool within configured time.", XML)
LOGIN = (200, b"<html><title>Log in</title></html>", {"Content-Type": "text/html"})


def papers(*names: str) -> dict[str, bytes]:
    return {name: pdf(f"The paper called {name} by everybody") for name in names}


@contextmanager
def library(folder: Path, contents: dict[str, bytes], serve: AnswerFunction, **settings: str) -> Iterator[Library]:
    """Yield a workspace whose papers are sent to a server that answers as `serve` does."""
    server = Server(serve)
    (folder / "warcs").mkdir()
    shelf = Shelf(folder / "warcs" / "shelf.warc.gz")
    for name, content in contents.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    shelf.index(folder / "shelf.cdx")
    lines = [f'grobid = "{server.url}"', *(f'{name} = "{setting}"' for name, setting in settings.items())]
    yield Library(folder, "\n".join(lines), f'cdx = ["{folder}/shelf.cdx"]\nwarc = ["{folder}/warcs"]\n')
    server.close()


def row(workspace: Library, content: bytes) -> dict:
    return decode_row(workspace.rows()[f"sha1:{sha1(content)}"])


def unrepaired(workspace: Library) -> dict[str, int]:
    """Return what `windrow status` counts as failed, by reason."""
    return dict(ADAPTER.count_skipped(workspace.workspace(), None))


def left_out(workspace: Library) -> list[tuple[str, int]]:
    """Return what `windrow status` counts as left out of documents, by reason."""
    return [(count.reason, count.addresses) for count in App(workspace.root).status().left_out]


def by_name(contents: dict[str, bytes], tries: Counter, replies: dict[str, tuple]) -> AnswerFunction:
    """Return a server's function that answers the documents in `replies` with these replies, and others with a TEI."""
    names = {content: name for name, content in contents.items()}

    def serve(request):
        name = names[request.form()["input"][2]]
        tries[name] += 1
        return replies.get(name, (200, TEI.replace(b"</TEI>", b"<!-- %s --></TEI>" % name.encode()), XML))

    return serve


@pytest.mark.parametrize(
    ("reply", "status_code", "reason"),
    [(GENERAL, 500, "GENERAL"), (LOGIN, 200, "wrong_root"), ((418, b"teapot", {}), 418, "HTTP_418")],
)
def test_a_document_that_always_fails_while_others_are_processed_gets_its_outcome(tmp_path, reply, status_code, reason):
    contents, tries = papers("good", "never"), Counter()
    with library(tmp_path, contents, by_name(contents, tries, {"never": reply})) as workspace:
        for number in (1, 2, 3):
            workspace.run()
            assert (tries["good"], tries["never"]) == (1, 3 * number)
            assert waits(workspace).documents == 1
            assert "grobid0:status_code" not in row(workspace, contents["never"])
        assert not workspace.run().failed
        assert not workspace.run().failed
        assert tries["never"] == 9, "a document whose outcome is final is not sent again"
        assert waits(workspace) is None
        assert unrepaired(workspace) == {"server_error": 1}
        assert left_out(workspace) == [("server_error", 1)]
    never = row(workspace, contents["never"])
    assert (never["grobid0:status_code"], never["grobid0:status"]["reason"]) == (status_code, reason)
    assert never["text0:tinfo"]["title"] == "The paper called never by everybody"


def test_no_document_gets_an_outcome_from_a_server_that_processes_none(tmp_path):
    contents, tries = papers(*(f"paper-{number}" for number in range(9))), Counter()
    with library(tmp_path, contents, by_name(contents, tries, dict.fromkeys(contents, LOGIN))) as workspace:
        for _ in range(5):
            assert workspace.run().failed
        assert waits(workspace).documents == 9
        assert not any("grobid0:status_code" in cells for cells in workspace.rows().values())


@pytest.mark.parametrize(("documents", "outcome"), [(1, "final-10"), (8, "final-10"), (9, "before-10")])
def test_an_outcome_is_final_after_ten_runs_in_which_grobid_failed_for_a_few_documents_alone(
    tmp_path, documents, outcome
):
    """A single document that failed was sent in every run for ever if GROBID had no other document to process."""
    at, failure = datetime(2026, 1, 1, tzinfo=UTC), {"grobid": {"passing": True, "status": {"status": "error"}}}

    def entries(*names):
        numbers = range(1, documents + 1)
        return [AttemptObservations(n, at, "u", "a", tuple(PendingAsk(name, n) for name in names)) for n in numbers]

    with closing(PaperStore(tmp_path / "papers.db")) as store:
        for run in range(1, 11):
            assert {ask.name for asks in store.waiting(0).values() for ask in asks} == (
                {f"before-{run - 1}"} - {"before-0"}
            )
            store.settle(entries(f"tei-{run}"), documents)
            store.settle(
                [entry._replace(results=(Observation(f"{entry.attempt}", failure),)) for entry in entries()], documents
            )
            store.finish(0, lambda: True)
        assert {ask.name for asks in store.waiting(0).values() for ask in asks} == {outcome}


def test_a_server_that_hangs_is_given_up_and_its_documents_wait(tmp_path):
    """Timeouts used to count as answers: each document was stored as done, and the run ended without a failure."""
    contents, tries, end, is_well = (
        papers(*(f"paper-{number:02}" for number in range(12))),
        Counter(),
        threading.Event(),
        [],
    )

    def serve(request):
        tries[request.form()["input"][2]] += 1
        if not is_well:
            end.wait(20)
        return 200, TEI, XML

    with library(tmp_path, contents, serve, grobid_timeout="400 ms", grobid_connections="4") as workspace:
        workspace.section = workspace.section.replace('"4"', "4")
        for _ in range(3):
            assert workspace.run().failed
            assert waits(workspace).documents == 12
            assert not any("grobid0:status_code" in cells for cells in workspace.rows().values())
        assert sum(tries.values()) < 60
        end.set()
        is_well.append(True)
        for _ in range(3):
            workspace.run()
        assert waits(workspace) is None
        assert all(decode_row(cells)["grobid0:status_code"] == 200 for cells in workspace.rows().values())


def test_the_tei_of_another_document_is_not_taken():
    mine = TEI.replace(
        b"<analytic>", b'<idno type="MD5">%s</idno><analytic>' % hashlib.md5(b"mine").hexdigest().upper().encode()
    )
    outcome = interpret_answer(answer(200, mine), Limits(), hashlib.md5(b"mine").hexdigest())
    assert (outcome.word, outcome.is_transient) == ("success", False)
    outcome = interpret_answer(answer(200, mine), Limits(), hashlib.md5(b"other").hexdigest())
    assert (outcome.word, outcome.status["reason"], outcome.is_transient) == ("fail", "OTHER_DOCUMENT", True)
    assert outcome.table_json is None


def test_documents_are_sent_again_on_request(tmp_path):
    contents, tries, replies = papers("good", "never"), Counter(), {"never": GENERAL}
    with library(tmp_path, contents, by_name(contents, tries, replies)) as workspace:
        for _ in range(4):
            workspace.run()
        assert row(workspace, contents["never"])["grobid0:status_code"] == 500
        keys = {name: f"sha1:{sha1(content)}" for name, content in contents.items()}
        config = workspace.workspace()
        assert ADAPTER.ask_again(config, "grobid", (), "GENERAL", dry_run=True) == [keys["never"]]
        assert ADAPTER.ask_again(config, "grobid", (), "no such reason", dry_run=True) == []
        with closing(Ledger(config.ledger)) as ledger:
            chosen = ask_again(config, ledger, "grobid", (), reason="error", dry_run=True)
            assert [item.key for item in chosen] == [keys["never"]]
            for service, names in (("another", ()), ("grobid", (keys["never"], "sha1:unknown"))):
                with pytest.raises(UsageError):
                    ask_again(config, ledger, service, names)
            lease = Lease(ledger)
            with pytest.raises(Locked):
                ask_again(config, ledger, "grobid", (keys["never"],))
            lease.release()
            sessions = ledger.sessions.numbers()
            assert [item.key for item in ask_again(config, ledger, "grobid", (keys["never"],))] == [keys["never"]]
            (session,) = set(ledger.sessions.numbers()) - set(sessions)
            assert ledger.sessions.get(session).command == f"retry --service grobid {keys['never']}"
        replies.clear()
        workspace.run()
        assert tries == {"good": 1, "never": 10}
        assert row(workspace, contents["never"])["grobid0:status_code"] == 200
        assert unrepaired(workspace) == {}
        assert left_out(workspace) == []
        assert ADAPTER.ask_again(config, "grobid", (), "", dry_run=False) == sorted(keys.values())
        workspace.run()
        assert tries == {"good": 2, "never": 11}
        later = Shelf(tmp_path / "warcs" / "later.warc.gz")
        later.put("http://mirror.example.org/good.pdf", contents["good"], at="2021-01-01T00:00:00Z")
        later.index(tmp_path / "shelf.cdx")
        with_grobid, workspace.section = workspace.section, ""
        workspace.run()
        kept = row(workspace, contents["good"])
        assert kept["f:c"]["c"] == 2
        assert kept["grobid0:status_code"] == 200, "a further capture of a paper leaves GROBID's result in its row"
        workspace.section = with_grobid
        assert ADAPTER.ask_again(config, "grobid", (keys["good"],), "", dry_run=False) == [keys["good"]]
        replies["good"] = (200, TEI.replace(b"</title>", b" once more</title>"), XML)
        workspace.run()
        with closing(PaperStore(ADAPTER._paper_settings(config).store, read_only=True)) as store:
            assert [version.change for version in store.history(keys["good"])] == ["new", "same"]
        assert b"once more" in row(workspace, contents["good"])["grobid0:tei_xml"]


def test_what_waits_for_its_next_request_still_waits_after_a_replay(tmp_path):
    contents, tries, replies = papers("good", "never"), Counter(), {"never": GENERAL}
    with library(tmp_path, contents, by_name(contents, tries, replies)) as workspace:
        workspace.run()
        ADAPTER.replay(workspace.workspace(), workspace.setup(), Progress(None))
        assert waits(workspace).documents == 1
        replies.clear()
        workspace.run()
        assert tries == {"good": 1, "never": 4}
        assert waits(workspace) is None
        assert row(workspace, contents["never"])["grobid0:status_code"] == 200


def test_a_request_has_one_accept_header(tmp_path):
    contents = papers("good")
    with library(tmp_path, contents, by_name(contents, Counter(), {})) as workspace:
        workspace.run()
        files = [path.read_bytes() for path in workspace.workspace().archive.folder.rglob("*.warc*")]
    archived = b"".join(gzip.decompress(file) if file.startswith(b"\x1f\x8b") else file for file in files)
    head = archived[archived.index(b"POST /api/processFulltextDocument") :].partition(b"\r\n\r\n")[0]
    assert [line for line in head.split(b"\r\n") if line.startswith(b"Accept:")] == [b"Accept: application/xml"]
