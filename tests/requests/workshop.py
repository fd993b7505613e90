"""A small API with documents, and a service that is sent them, whose answers a test scripts; steps that ask it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.sessions import session_settings
from windrow.adapters.records import RecordAdapter
from windrow.config import load
from windrow.contract import (
    Answer,
    Ask,
    Collection,
    DocumentPart,
    FollowResult,
    FormField,
    Observation,
    Offering,
    Request,
    Requests,
    Settle,
    Task,
)
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.ledger import Ledger
from windrow.model import Source
from windrow.settings.configuration import Configuration, Service
from windrow.settings.kinds import SECRET, URL
from windrow.settings.setting import ASKED, Setting, store_of


@dataclass
class ReceivedRequest:
    """A request as the server received it."""

    method: str
    path: str
    fields: dict[str, str]
    body: bytes

    def form(self) -> dict[str, tuple[str, str, bytes]]:
        """Return the fields of a form: name -> (file name, media type, bytes)."""
        boundary = self.fields["content-type"].partition("boundary=")[2].encode()
        pieces = self.body.split(b"--" + boundary)
        assert (pieces[0], pieces[-1]) == (b"", b"--\r\n")
        parts = {}
        for piece in pieces[1:-1]:
            head, _, content = piece.partition(b"\r\n\r\n")
            disposition: dict[str, str] = dict(re.findall(r'(\w+)="([^"]*)"', head.decode()))
            kind = re.search(r"Content-Type: (\S+)", head.decode())
            parts[disposition["name"]] = (
                disposition.get("filename", ""),
                kind[1] if kind else "",
                content.removesuffix(b"\r\n"),
            )
        return parts


Reply = tuple[int, bytes, dict[str, str]]
AnswerFunction = Callable[[ReceivedRequest], Reply]
"""Returns the status, body and header fields of the answer to a request."""


@dataclass
class Server:
    """A web server on a free local port; `answer` returns (status, body, fields) for a request."""

    answer: AnswerFunction
    asked: list[ReceivedRequest] = field(default_factory=list)
    most_at_once: int = 0  # the most requests at a time
    _open_requests: int = 0

    def __post_init__(self) -> None:
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = ReceivedRequest(
                    self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body
                )
                with lock:
                    outer.asked.append(request)
                    outer._open_requests += 1
                    outer.most_at_once = max(outer.most_at_once, outer._open_requests)
                status, content, fields = (404, b"", {}) if request.path == "/robots.txt" else outer.answer(request)
                with lock:
                    outer._open_requests -= 1
                self.send_response(status)
                for name, text in fields.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(ConnectionError):  # the client has given up
                    super().handle()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def paths(self) -> list[str]:
        return [request.path for request in self.asked if request.path != "/robots.txt"]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def documents(contents: Mapping[str, bytes]) -> AnswerFunction:
    """Serve these documents, and an index of them."""

    def answer(asked: ReceivedRequest) -> Reply:
        name = asked.path.strip("/")
        if not name:
            return 200, "\n".join(contents).encode(), {}
        return (200, contents[name], {"Content-Type": "application/pdf"}) if name in contents else (404, b"", {})

    return answer


def begin(source: Source, learned: Mapping[str, str]) -> tuple[Request, ...]:
    return (Request(""),)


def follow(source: Source, learned: Mapping[str, str], answer: Answer) -> FollowResult:
    """Request each document of the index, and offer it; of a document of lines, offer each line."""
    content = answer.view.read()
    if not answer.request.context:
        return FollowResult(tuple(Request(name, context=name) for name in content.decode().split()))
    name = answer.request.context
    if not name.endswith("lines"):
        return FollowResult(offers=(Offering(name),))
    spans = [(line.start(), line.end() - line.start()) for line in re.finditer(rb"[^\n]+", content)]
    return FollowResult(offers=tuple(Offering(f"{name}-{number}", span) for number, span in enumerate(spans)))


def send_form(task: Task) -> Any:
    """Send each document as a file in a form, as GROBID wants it."""
    if not task.offers:
        return None
    (offer,) = task.offers
    answer = task.answers.get("read")
    if answer is None:
        form = (
            FormField("input", DocumentPart(), f"{offer.key}", "application/pdf"),
            FormField("consolidateHeader", "0"),
            FormField("teiCoordinates", "ref"),
            FormField("teiCoordinates", "figure"),
        )
        return Ask("read", "reader", "api/process", headers=(("Accept", "application/xml"),), form=form)
    return observe_answer(offer, answer)


def observe_answer(offer: Offering, answer: Answer) -> Observation:
    """Make a record of a service's answer."""
    body = answer.view.read().decode()
    return Observation(
        offer.key, {"status": answer.status, "body": body, "reason": answer.reason and str(answer.reason)}
    )


def send_parts(task: Task) -> Any:
    """Send each offer's part of the document."""
    observed: list[Observation | Ask] = []
    for offer in task.offers:
        answer = task.answers.get(offer.key)
        observed.append(
            observe_answer(offer, answer) if answer else Ask(offer.key, "reader", body=DocumentPart(*offer.part or ()))
        )
    return observed


def ask_range(task: Task) -> Any:
    """Request a byte range of something large."""
    for offer in task.offers:
        answer = task.answers.get("range")
        asked = Ask("range", "reader", "large", "GET", byte_range=(1000, 10))
        return observe_answer(offer, answer) if answer else asked
    return None


SERVICE = Service("reader", "workshop.reader", ("POST", "GET"), seconds=20.0, busy=0.2)


def collection(step: Any, service: Service = SERVICE, follow: Any = follow) -> Collection:
    """Return a collection with one step and one service."""
    return Collection(
        "workshop", ("ask", "read"), Requests(begin, follow), (Settle("read", "1", step),),
        configuration=Configuration(
            settings=(store_of("workshop"), Setting("workshop.reader", URL, "", "where the service is"),
                Setting("workshop.token", SECRET, "", "what it knows us by")),
            source=ASKED, services=(service,),
        ),
    )  # fmt: skip


class Workshop:
    """A workspace of such a collection, run in this process."""

    def __init__(
        self, root: Path, api: Server, service: Server, declared: Collection, *lines: str, section: str = "",
        paths: Sequence[str] = ("",), delay: str = "0s",
    ) -> None:  # fmt: skip
        settings = f'[workshop]\nreader = "{service.url}"\n{section}\n'
        for number, path in enumerate(paths):
            settings += f'\n[source.texts{number or ""}]\ncollection = "workshop"\nurl = "{api.url}{path}"\n'
            settings += f'delay = "{delay}"\n' + "".join(f"{line}\n" for line in lines)
        (root / "windrow.toml").write_text(settings)
        self.api = api
        self._open(root, declared)

    def _open(self, root: Path, declared: Collection) -> None:
        self.root, self.made, self.adapter = root, declared, RecordAdapter(declared)
        self.workspace = load(root, environ={}, collections={"workshop": declared})

    @classmethod
    def opened(cls, root: Path, declared: Collection) -> Self:
        """Return an existing workspace."""
        shop = cls.__new__(cls)
        shop._open(root, declared)
        return shop

    def run(self, phases: frozenset[str] | None = None) -> None:
        with Session(session_settings(self.workspace), "run") as session:
            session.run_harvest(self.adapter.harvest(self.workspace), phases=phases)

    def replay(self) -> None:
        self.adapter.replay(self.workspace, session_settings(self.workspace), Progress(quiet=True))

    def records(self) -> dict[str, Any]:
        with self.adapter._store(self.workspace) as store:
            assert store is not None
            return {version.key: version.value for version in store.versions()}

    def ask_next(self) -> None:
        """Make all failed requests due in the next run."""
        ledger = Ledger(self.workspace.ledger)
        with ledger.writing() as writer:
            failing = ledger.addresses.failing("workshop", "", "")
            writer.addresses.set_due("workshop", [address.digest for address in failing], 1)
        ledger.close()

    def waits(self) -> Any:
        """Return the service that documents wait for, if any."""
        ledger = self.ledger()
        service_wait = self.adapter.waits(self.workspace, ledger)
        ledger.close()
        return service_wait

    def notes(self) -> list[str | None]:
        """Return the comments of tasks that belong to no source."""
        ledger = self.ledger()
        comments = [task.comment for task in ledger.sessions.tasks((0, 1 << 60)) if not task.source]
        ledger.close()
        return comments

    def ledger(self) -> Ledger:
        return Ledger(self.workspace.ledger)

    def waiting(self) -> Mapping[int, Any]:
        with self.adapter._store(self.workspace) as store:
            assert store is not None
            return store.waiting(0)


UNARCHIVED = replace(SERVICE, archived=False)
"""The same service, whose answers are not archived."""


def run_again(root: Path) -> None:
    """Run a workspace of documents whose service's answers are not archived again."""
    Workshop.opened(root, collection(send_parts, UNARCHIVED)).run()
