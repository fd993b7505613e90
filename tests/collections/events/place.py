"""A workspace of events, a local server whose documents a test sets, and runs in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.sessions import session_settings
from windrow.collections.events.adapter import ADAPTER
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.collection import COLLECTION
from windrow.config import Workspace, load
from windrow.engine.session import Session
from windrow.stores.documents import ViewRange

ICALENDAR = "text/calendar; charset=utf-8"
LOG_KEYS = (
    "parser_name", "parser_version", "parser_runtime", "source_url", "source_text", "access_datetime", "insert_count",
    "result", "traceback",
)  # fmt: skip


class Site:
    """A web site: `documents` has (status, media type, bytes) by path; `asked` every path, in order."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[Any, ...]] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.asked.append(self.path)
                status, media, content, *fields = site.documents.get(self.path, (404, "text/plain", b"none"))
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(content)))
                for name, value in fields[0].items() if fields else ():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def put(self, path: str, content: bytes | str, media: str = ICALENDAR, status: int = 200) -> None:
        self.documents[path] = (status, media, content if isinstance(content, bytes) else content.encode())

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    try:
        yield site
    finally:
        site.close()


def configured(root: Path, url: str, workspace: str = "", name: str = "council", **source: Any) -> Workspace:
    """Write a workspace with one source and load it."""
    settings = {
        "reader": "icalendar", "branch": "Legislative", "entity": "Senate", "timezone": "America/New_York",
        "delay": "0s", "every": "365d",
    } | source  # fmt: skip
    lines = "".join(f"{key} = {to_toml(value)}\n" for key, value in settings.items() if value is not None)
    (root / "windrow.toml").write_text(
        f'[events]\n{workspace}\n\n[source.{name}]\ncollection = "events"\nurl = "{url}"\n{lines}'
    )
    return load(root, environ={}, collections={"events": COLLECTION})


def to_toml(setting: Any) -> str:
    if isinstance(setting, dict):
        return "{ " + ", ".join(f'"{key}" = {to_toml(member)}' for key, member in setting.items()) + " }"
    if isinstance(setting, list):
        return "[" + ", ".join(map(to_toml, setting)) + "]"
    if isinstance(setting, bool):
        return str(setting).lower()
    return str(setting) if isinstance(setting, int | float) else f'"{setting}"'


def run(workspace: Workspace) -> Session:
    """Run one session; return it."""
    with Session(session_settings(workspace), "run") as session:
        session.run_harvest(ADAPTER.harvest(workspace))
    return session


def events(workspace: Workspace) -> list[Any]:
    """Return the documents of vd_events, in the order of time."""
    with open_databases(workspace) as held:
        return list(held.store.view(held.events, "all", ViewRange(limit=10_000)))


def logs(workspace: Workspace) -> list[Any]:
    """Return the documents of vd_log, in the order of time."""
    with open_databases(workspace) as held:
        return list(held.store.view(held.log, "all", ViewRange(limit=10_000)))


def calendar(*events_: str, head: str = "VERSION:2.0\r\nPRODID:-//test//EN") -> str:
    """Return a calendar with these events, each as its lines."""
    blocks = "".join(f"BEGIN:VEVENT\r\n{lines}\r\nEND:VEVENT\r\n" for lines in events_)
    return f"BEGIN:VCALENDAR\r\n{head}\r\n{blocks}END:VCALENDAR\r\n"


def event(uid: str, start: str, title: str = "Hearing", **more: str) -> str:
    lines = [f"UID:{uid}", f"DTSTART{start}", f"SUMMARY:{title}"]
    lines += [
        f"{name.replace('_', '-').upper()}{value if value[0] in ':;' else ':' + value}" for name, value in more.items()
    ]
    return "\r\n".join(lines)
