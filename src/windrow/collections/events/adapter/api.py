"""The API of VotersDaily, as a small ASGI application that reads the database of events; GET and HEAD alone.

`/api/events/all`, `/api/events/branch/NAME`, `/api/events/entity/NAME`, and beside them `/api/events/parser/NAME` and
`/api/events/status/NAME`; parameters `start` (inclusive), `end` (exclusive), `format`, `limit`, `offset`, and `q`,
words that events are to have, where the databases are in SQLite. The newest event comes first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from windrow.collections.events.adapter.databases import EventDatabases, databases
from windrow.collections.events.exports import FORMS, EventForm
from windrow.config import Workspace, find, load
from windrow.errors import WindrowError
from windrow.stores.documents import Span, SqliteDocuments

MOST = 10_000
"""Events of one answer at most; a further page is `offset` away."""

_VIEWS = frozenset({"branch", "entity", "parser", "status"})
_LONGEST = 200

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class EventApi:
    """The application; its databases are opened when it is first asked."""

    def __init__(self, workspace: Workspace) -> None:
        """Serve the events of this workspace."""
        self._workspace = workspace
        self._held: EventDatabases | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; of the life of a server, its beginning and its end."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        status, media, content = self.answer(scope["method"], scope["path"], scope.get("query_string", b""))
        fields = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
        fields += [(b"access-control-allow-origin", b"*"), (b"x-content-type-options", b"nosniff")]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def answer(self, method: str, path: str, query: bytes) -> tuple[int, str, bytes]:
        """Return status, media type and content for a request."""
        if method not in {"GET", "HEAD"}:
            return _said(405, "this is read by GET alone")
        parts = [unquote(part) for part in path.strip("/").split("/")]
        view = parts[2] if len(parts) > 2 and parts[:2] == ["api", "events"] else ""
        if (view, len(parts)) != ("all", 3) and not (view in _VIEWS and len(parts) == 4):
            return _said(404, "there is /api/events/all, /api/events/branch/NAME, and entity, parser, status likewise")
        told = {
            name: values[-1]
            for name, values in parse_qs(query.decode("latin-1"), errors="replace", max_num_fields=20).items()
        }
        form = FORMS.get(told.get("format", "json"))
        if form is None:
            return _said(404, f"format is one of {', '.join(FORMS)}")
        numbers = {name: told.get(name, default) for name, default in (("limit", str(MOST)), ("offset", "0"))}
        if not all(value.isdecimal() and len(value) < 10 for value in numbers.values()):
            return _said(400, "limit and offset are whole numbers")
        span = Span(
            (parts[3],) if len(parts) == 4 else (), told.get("start", "")[:_LONGEST], told.get("end", "")[:_LONGEST],
            descending=True, limit=min(int(numbers["limit"]), MOST), skip=int(numbers["offset"]),
        )  # fmt: skip
        return self._written(form, view, span, told.get("q", "")[:_LONGEST])

    def _written(self, form: EventForm, view: str, span: Span, words: str) -> tuple[int, str, bytes]:
        """Write the events of a span of a view, those that have the words where there are any."""
        try:
            if self._held is None:
                self._held = databases(self._workspace)
            store, name = self._held.store, self._held.events
            if not words:
                events = store.view(name, view, span)
            elif isinstance(store, SqliteDocuments):
                events = store.search(name, words, view, span)
            else:
                return _said(501, "a CouchDB is not searched by words")
            return 200, form.media, "".join(form.write(events)).encode("utf-8", "replace")
        except WindrowError as error:
            return _said(503, type(error).__name__)

    def close(self) -> None:
        """Close the databases."""
        if self._held is not None:
            self._held.store.close()
            self._held = None


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _said(status: int, message: str) -> tuple[int, str, bytes]:
    return status, "application/json", json.dumps({"error": message}).encode()


def application() -> EventApi:
    """Make the application of the workspace around, for any ASGI server that takes a factory."""
    return EventApi(load(find(Path.cwd(), os.environ)))
