"""The API of VotersDaily, as an ASGI application that reads the database of events; it answers GET and HEAD.

Paths are `/api/events/all`, `/api/events/branch/NAME` and `/api/events/entity/NAME`, and in addition
`/api/events/parser/NAME` and `/api/events/status/NAME`. Parameters are `start` (inclusive), `end` (exclusive),
`format`, `limit`, `offset`, and, if the databases are in SQLite, the search words `q`. The newest event comes first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from windrow.collections.events.adapter.databases import EventDatabases, connect_databases
from windrow.collections.events.exports import FORMS, EventForm
from windrow.config import Workspace, find_workspace, load
from windrow.errors import WindrowError
from windrow.stores.documents import SqliteDocuments, ViewRange

MAX_EVENTS = 10_000
"""Events of one response at most; `offset` leads to more."""

_VIEWS = frozenset({"branch", "entity", "parser", "status"})
_MAX_PARAMETER = 200

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class EventApi:
    """The application; it opens the databases at the first request."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._databases: EventDatabases | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request, or the lifespan messages of the server (ASGI 3.0)."""
        if scope["type"] == "lifespan":
            await _answer_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        status, media, content = self.answer(scope["method"], scope["path"], scope.get("query_string", b""))
        fields = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
        fields += [(b"access-control-allow-origin", b"*"), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def answer(self, method: str, path: str, query: bytes) -> tuple[int, str, bytes]:
        """Return status, media type and content of the response to a request."""
        if method not in {"GET", "HEAD"}:
            return _error(405, "only GET and HEAD are allowed")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        view = parts[2] if len(parts) > 2 and parts[:2] == ["api", "events"] else ""
        if (view, len(parts)) != ("all", 3) and not (view in _VIEWS and len(parts) == 4):
            return _error(404, "not found; try /api/events/all or /api/events/branch/NAME, also entity, parser, status")
        parameters = dict(parse_qsl(query.decode("latin-1"), errors="replace", max_num_fields=20))
        form = FORMS.get(parameters.get("format", "json"))
        if form is None:
            return _error(404, f"format must be one of {', '.join(FORMS)}")
        numbers = {"limit": parameters.get("limit", str(MAX_EVENTS)), "offset": parameters.get("offset", "0")}
        if not all(digits.isdecimal() and len(digits) < 10 for digits in numbers.values()):
            return _error(400, "limit and offset must be whole numbers below 1,000,000,000")
        span = ViewRange(
            (parts[3],) if len(parts) == 4 else (),
            parameters.get("start", "")[:_MAX_PARAMETER], parameters.get("end", "")[:_MAX_PARAMETER],
            descending=True, limit=min(int(numbers["limit"]), MAX_EVENTS), skip=int(numbers["offset"]),
        )  # fmt: skip
        return self._write(form, view, span, parameters.get("q", "")[:_MAX_PARAMETER])

    def _write(self, form: EventForm, view: str, span: ViewRange, words: str) -> tuple[int, str, bytes]:
        """Write the events of a span of a view in a form; only those with all the words, if there are any."""
        try:
            if self._databases is None:
                self._databases = connect_databases(self._workspace)
            store, name = self._databases.store, self._databases.events
            if not words:
                events = store.view(name, view, span)
            elif isinstance(store, SqliteDocuments):
                events = store.search(name, words, view, span)
            else:
                return _error(501, "q is not available, as the events are in a CouchDB")
            return 200, form.media, "".join(form.write(events)).encode("utf-8", "replace")
        except WindrowError as error:
            return _error(503, type(error).__name__)

    def close(self) -> None:
        """Close the databases."""
        if self._databases is not None:
            self._databases.store.close()
            self._databases = None


async def _answer_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _error(status: int, message: str) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps({"error": message}).encode()


def application() -> EventApi:
    """Make the application for the workspace of the current folder, for an ASGI server that takes a factory."""
    return EventApi(load(find_workspace(Path.cwd(), os.environ)))
