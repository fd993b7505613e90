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

from tests.requests.glossary import setup_of
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
from windrow.settings.kinds import OPEN, SECRET
from windrow.settings.setting import ASKED, Setting, store_of


@dataclass
class Asked:
    """A request as it came."""

    method: str
    path: str
    fields: dict[str, str]
    body: bytes

    def form(self) -> dict[str, tuple[str, str, bytes]]:
        """Return the fields of a form: name -> (file name, media type, bytes)."""
        boundary = self.fields["content-type"].partition("boundary=")[2].encode()
        pieces = self.body.split(b"--" + boundary)
        assert (pieces[0], pieces[-1]) == (b"", b"--\r\n")
        found = {}
        for piece in pieces[1:-1]:
            head, _, value = piece.partition(b"\r\n\r\n")
            named: dict[str, str] = dict(re.findall(r'(\w+)="([^"]*)"', head.decode()))
            kind = re.search(r"Content-Type: (\S+)", head.decode())
            found[named["name"]] = (named.get("filename", ""), kind[1] if kind else "", value.removesuffix(b"\r\n"))
        return found


Replied = tuple[int, bytes, dict[str, str]]
Answering = Callable[[Asked], Replied]
"""Makes status, body and fields of what is asked."""


@dataclass
class Server:
    """A web server on a free port of this machine; `answer` makes (status, body, fields) of what is asked."""

    answer: Answering
    asked: list[Asked] = field(default_factory=list)
    most: int = 0  # requests at a time
    _now: int = 0

    def __post_init__(self) -> None:
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                one = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                with lock:
                    outer.asked.append(one)
                    outer._now += 1
                    outer.most = max(outer.most, outer._now)
                status, content, fields = (404, b"", {}) if one.path == "/robots.txt" else outer.answer(one)
                with lock:
                    outer._now -= 1
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(ConnectionError):  # who asked has given up
                    super().handle()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def paths(self) -> list[str]:
        return [one.path for one in self.asked if one.path != "/robots.txt"]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def documents(contents: Mapping[str, bytes]) -> Answering:
    """Serve an index of documents, and these."""

    def answer(asked: Asked) -> Replied:
        name = asked.path.strip("/")
        if not name:
            return 200, "\n".join(contents).encode(), {}
        return (200, contents[name], {"Content-Type": "application/pdf"}) if name in contents else (404, b"", {})

    return answer


def begin(source: Source, learned: Mapping[str, str]) -> tuple[Request, ...]:
    return (Request(""),)


def follow(source: Source, learned: Mapping[str, str], answer: Answer) -> FollowResult:
    """Ask for each document of the index, and offer it; one that is lines offers its lines."""
    content = answer.view.read()
    if not answer.request.context:
        return FollowResult(tuple(Request(name, context=name) for name in content.decode().split()))
    name = answer.request.context
    if not name.endswith("lines"):
        return FollowResult(offers=(Offering(name),))
    spans = [(found.start(), found.end() - found.start()) for found in re.finditer(rb"[^\n]+", content)]
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
    return told(offer, answer)


def told(offer: Offering, answer: Answer) -> Observation:
    """Make a record of whatever a service answered."""
    body = answer.view.read().decode()
    return Observation(
        offer.key, {"status": answer.status, "body": body, "reason": answer.reason and str(answer.reason)}
    )


def send_parts(task: Task) -> Any:
    """Send each offer's part as it lies in the document."""
    made: list[Observation | Ask] = []
    for offer in task.offers:
        answer = task.answers.get(offer.key)
        made.append(told(offer, answer) if answer else Ask(offer.key, "reader", body=DocumentPart(*offer.part or ())))
    return made


def ask_range(task: Task) -> Any:
    """Ask for a few bytes of something large."""
    for offer in task.offers:
        answer = task.answers.get("range")
        asked = Ask("range", "reader", "large", "GET", byte_range=(1000, 10))
        return told(offer, answer) if answer else asked
    return None


SERVICE = Service("reader", "workshop.reader", ("POST", "GET"), seconds=20.0, busy=0.2)


def collection(step: Any, service: Service = SERVICE, follow: Any = follow) -> Collection:
    """Return a collection with one step and one service."""
    return Collection(
        "workshop", ("ask", "read"), Requests(begin, follow), (Settle("read", "1", step),),
        configuration=Configuration(
            settings=(store_of("workshop"), Setting("workshop.reader", OPEN, "", "where the service is"),
                Setting("workshop.token", SECRET, "", "what it wants to know us by")),
            source=ASKED, services=(service,),
        ),
    )  # fmt: skip


class Workshop:
    """A workspace of such a collection."""

    def __init__(
        self, root: Path, api: Server, service: Server, made: Collection, *lines: str, section: str = "",
        paths: Sequence[str] = ("",), delay: str = "0s",
    ) -> None:  # fmt: skip
        told = f'[workshop]\nreader = "{service.url}"\n{section}\n'
        for number, path in enumerate(paths):
            told += f'\n[source.texts{number or ""}]\ncollection = "workshop"\nurl = "{api.url}{path}"\n'
            told += f'delay = "{delay}"\n' + "".join(f"{line}\n" for line in lines)
        (root / "windrow.toml").write_text(told)
        self.api = api
        self._open(root, made)

    def _open(self, root: Path, made: Collection) -> None:
        self.root, self.made, self.adapter = root, made, RecordAdapter(made)
        self.workspace = load(root, environ={}, collections={"workshop": made})

    @classmethod
    def opened(cls, root: Path, made: Collection) -> Self:
        """Return a workspace that is there already."""
        shop = cls.__new__(cls)
        shop._open(root, made)
        return shop

    def run(self, phases: frozenset[str] | None = None) -> None:
        with Session(setup_of(self.workspace), "run") as session:
            session.harvest(self.adapter.harvest(self.workspace), phases=phases)

    def replay(self) -> None:
        self.adapter.replay(self.workspace, setup_of(self.workspace), Progress(quiet=True))

    def records(self) -> dict[str, Any]:
        with self.adapter._store(self.workspace) as store:
            assert store is not None
            return {version.key: version.value for version in store.versions()}

    def ask_next(self) -> None:
        """Have everything that failed asked by the next run."""
        ledger = Ledger(self.workspace.ledger)
        with ledger.writing() as writer:
            failing = ledger.addresses.failing("workshop", "", "")
            writer.addresses.due_at("workshop", [one.digest for one in failing], 1)
        ledger.close()

    def waits(self) -> Any:
        """Return what documents wait for."""
        ledger = self.ledger()
        found = self.adapter.waits(self.workspace, ledger)
        ledger.close()
        return found

    def notes(self) -> list[str | None]:
        """Return what sessions said of tasks that are no source's."""
        ledger = self.ledger()
        found = [task.comment for task in ledger.sessions.tasks((0, 1 << 60)) if not task.source]
        ledger.close()
        return found

    def ledger(self) -> Ledger:
        return Ledger(self.workspace.ledger)

    def waiting(self) -> Mapping[int, Any]:
        with self.adapter._store(self.workspace) as store:
            assert store is not None
            return store.waiting(0)


UNARCHIVED = replace(SERVICE, archived=False)
"""The same service, whose answers are not archived."""


def again(root: Path) -> None:
    """Run a workspace of documents whose service's answers are not archived, once more."""
    Workshop.opened(root, collection(send_parts, UNARCHIVED)).run()
