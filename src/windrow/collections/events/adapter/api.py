"""The API of VotersDaily, as an ASGI application that reads the database of events; it answers GET and HEAD.

Paths are `/api/events/all`, `/api/events/branch/NAME` and `/api/events/entity/NAME`, and in addition
`/api/events/parser/NAME` and `/api/events/status/NAME`. Parameters are `start` (inclusive), `end` (exclusive),
`format`, `limit`, `offset`, the values `branch`, `entity`, `source` and `status` that events must have and, if the
databases are in SQLite, the search words `q`. The latest event is first.

If there are more events than a response has, its header field Link has the address of the next ones. X-Total-Count is
the number of events in the range, if the databases are in SQLite and neither words nor values are given. If the client
has the response already, as its ETag shows, the status is 304.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from windrow.caps import WEB_NAME_CHARACTERS
from windrow.collections.events.adapter.databases import EventDatabases, connect_databases
from windrow.collections.events.exports import FORMS, EventForm, FeedAddresses
from windrow.config import Workspace, find_workspace, load
from windrow.contract import NOT_MODIFIED, OK
from windrow.digest import digest
from windrow.errors import WindrowError
from windrow.query.tree import is_time_prefix
from windrow.stores.documents import ALL_DOCUMENTS, StoredDocument, ViewRange
from windrow.stores.sqlite_documents import SqliteDocuments

MAX_EVENTS = 10_000
"""The maximum number of events in a response; a client requests further events with `offset`."""

_VIEWS = frozenset({"branch", "entity", "parser", "status"})
_SELECTED_KEYS = ("branch", "entity", "source", "status")
_PARAMETERS = frozenset({"start", "end", "format", "limit", "offset", "q", *_SELECTED_KEYS})
_NOT_EMPTY = frozenset({"format", *_SELECTED_KEYS})
_MAX_TEXT_LENGTH = 200  # characters of a parameter

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


ReadRange = Callable[[ViewRange], Iterator[StoredDocument]]
"""A function that yields the documents in a range of a view."""


def _select(read: ReadRange, view_range: ViewRange, values: Mapping[str, str]) -> Iterator[StoredDocument]:
    """Yield those documents in a range that have the `values`; `skip` and `limit` count only such documents."""
    events = read(
        view_range._replace(skip=0, limit=ALL_DOCUMENTS)
    )  # one reading, since a run may move events between two
    matching = (event for event in events if all(event.get(name) == value for name, value in values.items()))
    return islice(matching, view_range.skip, view_range.skip + view_range.limit)


class ApiResponse(NamedTuple):
    """A response of the API; `fields` are its header fields, except the fields that every response has."""

    status: int
    media: str
    content: bytes
    fields: Mapping[str, str] = MappingProxyType({})


class EventApi:
    """The ASGI application; it opens the databases at the first request."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._databases: EventDatabases | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to an HTTP request, or to the lifespan messages of the server (ASGI 3.0)."""
        if scope["type"] == "lifespan":
            await _respond_to_lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
        host = dict(scope.get("headers", ())).get(b"host", b"").decode("latin-1")
        path = path.removeprefix(root := quote(scope.get("root_path", "")))
        base = f"{scope.get('scheme', 'http')}://{host}{root}" if host else ""
        status, media, content, fields = self.respond(scope["method"], path, scope.get("query_string", b""), base)
        if status == OK:
            tag = f'"{digest(content).partition(":")[2][:32]}"'
            fields = {**fields, "etag": tag}
            known_tags = dict(scope.get("headers", ())).get(b"if-none-match", b"").decode("latin-1")
            if tag in known_tags or known_tags.strip() == "*":
                status, content = NOT_MODIFIED, b""
        headers = [(b"content-type", media.encode())]
        headers += [(b"content-length", str(len(content)).encode())] if status != NOT_MODIFIED else []
        headers += [(b"access-control-allow-origin", b"*"), (b"x-content-type-options", b"nosniff")]
        headers += [(b"access-control-expose-headers", b"ETag, Link, X-Total-Count")]
        headers += [(name.encode(), text.encode()) for name, text in fields.items()]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def respond(self, method: str, path: str, query: bytes, base: str = "") -> ApiResponse:
        """Return the response to a request; `path` and `query` are percent-encoded.

        `base` is what stands before the path in the addresses that a feed has, such as `https://town.example`.
        """
        if method not in {"GET", "HEAD"}:
            return _error_response(405, "only GET and HEAD are allowed")
        names = [unquote(name) for name in path.strip("/").split("/")]
        view = names[2] if len(names) > 2 and names[:2] == ["api", "events"] else ""
        if (view, len(names)) != ("all", 3) and not (view in _VIEWS and len(names) == 4):
            return _error_response(
                404, "not found; try /api/events/all or, for branch, entity, parser or status, /api/events/branch/NAME"
            )
        parameters, problem = _read_parameters(query)
        if problem:
            return _error_response(400, problem)
        form = FORMS.get(parameters.get("format", "json"))
        if form is None:
            return _error_response(404, f"format must be one of {', '.join(FORMS)}")
        view_range = ViewRange(
            (names[3],) if len(names) == 4 else (),
            parameters.get("start", ""), parameters.get("end", ""),
            descending=True, limit=min(int(parameters.get("limit", MAX_EVENTS)), MAX_EVENTS),
            skip=int(parameters.get("offset", 0)),
        )  # fmt: skip
        return self._select_events(form, view, view_range, parameters, f"{base}{path}")

    def _select_events(
        self, form: EventForm, view: str, view_range: ViewRange, parameters: Mapping[str, str], address: str
    ) -> ApiResponse:
        """Return the response with the events in a range of a view that match the words and values in `parameters`.

        `address` is that of the view, without parameters.
        """
        words = parameters.get("q", "")
        if len(words) > WEB_NAME_CHARACTERS.number:
            return _error_response(400, f"q has {WEB_NAME_CHARACTERS.rule}")
        values = {name: parameters[name] for name in _SELECTED_KEYS if name in parameters}
        longer_range = view_range._replace(limit=view_range.limit + 1)
        fields: dict[str, str] = {}
        try:
            if self._databases is None:
                self._databases = connect_databases(self._workspace)
            store, database = self._databases.store, self._databases.events
            if not words:
                read: ReadRange = partial(store.view, database, view)
                if isinstance(store, SqliteDocuments) and not values:
                    fields["x-total-count"] = str(store.count_range(database, view, view_range))
            elif isinstance(store, SqliteDocuments):
                read = partial(store.search, database, words, view)
            else:
                return _error_response(501, "q is not available because the events are in a CouchDB")
            events = list(_select(read, longer_range, values) if values else read(longer_range))
            further = ""
            if len(events) > view_range.limit:
                page = {"limit": view_range.limit, "offset": view_range.skip + view_range.limit}
                further = f"?{urlencode({**parameters, **page})}"
                fields["link"] = f'<{further}>; rel="next"'
            selected = sorted((name, text) for name, text in parameters.items() if name not in {"limit", "offset"})
            feed = FeedAddresses(
                f"{address}?{urlencode(selected)}", f"{address}?{urlencode(parameters)}", further and address + further
            )
            text = "".join(form.write(events[: view_range.limit], feed))
            return ApiResponse(OK, form.media, text.encode("utf-8", "replace"), fields)
        except WindrowError as error:
            return _error_response(503, type(error).__name__)

    def close(self) -> None:
        """Close the databases."""
        if self._databases is not None:
            self._databases.store.close()
            self._databases = None


def _read_parameters(query: bytes) -> tuple[dict[str, str], str]:
    """Return the parameters of a query, and why the answer would not be what was asked for, or an empty text."""
    try:
        pairs = parse_qsl(query.decode("latin-1"), errors="replace", max_num_fields=20, keep_blank_values=True)
    except ValueError:
        return {}, "there are more than 20 parameters"
    names = [name for name, _ in pairs if not name.startswith("_")]  # such as those with which browsers avoid caches
    values = dict(pairs)
    if unknown := sorted({*names} - _PARAMETERS):
        return values, f"{unknown[0][:_MAX_TEXT_LENGTH]!r} is none of the parameters {', '.join(sorted(_PARAMETERS))}"
    if repeated := next(
        (name for name in names if names.count(name) > 1 or (name in _NOT_EMPTY and not values[name])), ""
    ):
        return values, f"{repeated} must be given once, and not be empty"
    numbers = [values[name] for name in ("limit", "offset") if name in values]
    if (
        not all(digits.isascii() and digits.isdecimal() and len(digits) < 10 for digits in numbers)
        or int(values.get("limit", 1)) == 0
    ):
        return values, "limit and offset must be whole numbers below 1,000,000,000, and limit not 0"
    if any(values.get(name) and not is_time_prefix(values[name]) for name in ("start", "end")):
        return values, "start and end must be times in UTC, such as 2026-11-21, 2026-11 or 2026-11-21T09:30:00Z"
    return values, ""


async def _respond_to_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _error_response(status: int, message: str) -> ApiResponse:
    return ApiResponse(status, "application/json", json.dumps({"error": message}).encode())


def application() -> EventApi:
    """Return the application for the workspace of the current folder; ASGI servers call this factory."""
    return EventApi(load(find_workspace(Path.cwd(), os.environ)))
