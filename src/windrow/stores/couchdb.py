"""Documents in CouchDB, or a server with its HTTP API: creates databases, writes in bulk, resolves conflicts."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from windrow.errors import ConfigError, StoreError, StoreUnreachable
from windrow.stores.documents import EVERYTHING, DocumentDatabase, DocumentView, Span, Stored, check_name

DESIGN = "_design/windrow"
_LOCAL = "_local/windrow"
_CHUNK, _BYTES = 500, 4_000_000
_PAGE = 500
_TRIES = 5
_LAST = "\ufff0"  # sorts after every text in CouchDB


class _Response(NamedTuple):
    status: int
    content: Any


_PATIENCE = 60.0
"""Timeout of a request in seconds."""


class CouchDocuments:
    """`windrow.stores.documents.DocumentStore` on a server."""

    def __init__(self, url: str, databases: Sequence[DocumentDatabase], secret: str = "") -> None:
        """Create missing databases and views at this server; `secret` is `user:password`."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"{url!r} is not the address of a CouchDB", hint="http://127.0.0.1:5984/")
        self._url = url
        self._host_port, self._secure = (parts.hostname, parts.port), parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if secret:
            self._headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        self._connection: http.client.HTTPConnection | None = None
        self._databases = {check_name(database.name): database for database in databases}
        self._first = next(iter(self._databases))
        for database in databases:
            self._create(database)

    def _create(self, database: DocumentDatabase) -> None:
        """Create a database and its views if they are missing or of an earlier windrow."""
        # Only an administrator may ask for a database to be created, even if it exists.
        if self._request("GET", f"/{database.name}", good=(200, 404)).status == 404:
            self._request("PUT", f"/{database.name}", good=(201, 202, 412))
        # No reduce function, so that a view without parameters returns its rows.
        views = {view.name: {"map": _map_function(view)} for view in database.views}
        design_fields = {"language": "javascript", "views": views}
        for _ in range(_TRIES):
            answer = self._request("GET", f"/{database.name}/{DESIGN}", good=(200, 404), shape=dict)
            stored = answer.content if answer.status == 200 else {}
            if all(stored.get(name) == wanted_part for name, wanted_part in design_fields.items()):
                return
            # Without the right to write designs, the views of an earlier windrow are used if they sort alike.
            usable = _map_functions(stored.get("views")) == _map_functions(design_fields["views"])
            design, accepted = (
                {**stored, **design_fields, "_id": DESIGN},
                (201, 202, 409, *((401, 403) if usable else ())),
            )
            if self._request("PUT", f"/{database.name}/{DESIGN}", design, good=accepted).status != 409:
                return

    # Requests to the server.

    def _request(
        self, method: str, path: str, document: Any = None, *, good: tuple[int, ...] = (200,), shape: type = object
    ) -> _Response:
        """Send a request, again after a temporary failure; `good` are statuses accepted, `shape` the answer's type."""
        # CouchDB refuses a request with a lone surrogate, which the JSON of a source may contain.
        body = None if document is None else json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        problem = ""
        for number in range(_TRIES):
            if number:
                time.sleep(min(0.1 * 2**number, 2.0))
            try:
                status, content = self._send(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem = str(error) or type(error).__name__
                continue
            if status in good:
                parsed = _parse_json(content)
                if status < 300 and not isinstance(parsed, shape):
                    raise self._unexpected_answer()
                return _Response(status, parsed)
            problem = f"{method} {path[:200]}: status {status}, {content[:300].decode('utf-8', 'replace')}"
            if status in {401, 403}:
                raise StoreError(f"{self._url}: {problem}", hint="look at events.documents_secret")
            if status < 500 and status not in {408, 425, 429}:
                raise StoreError(f"{self._url}: {problem}")
        raise StoreUnreachable(f"{self._url}: {problem}")

    def _rows_of(self, method: str, path: str, content: Any = None) -> list[dict[str, Any]]:
        """Send a request whose answer has rows."""
        rows = self._request(method, path, content, shape=dict).content.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._unexpected_answer()
        return rows

    def _read_number(self, path: str, name: str, *, good: tuple[int, ...] = (200,)) -> int:
        """Get an object and return a number in it; 0 if either is missing."""
        answer = self._request("GET", path, good=good, shape=dict)
        number = answer.content.get(name, 0) if answer.status == 200 else 0
        if not isinstance(number, int):
            raise self._unexpected_answer()
        return number

    def _unexpected_answer(self) -> StoreError:
        return StoreError(f"{self._url}: the answer is not one of CouchDB", hint="look at events.documents")

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        if self._connection is None:
            host, port = self._host_port
            if self._secure:
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
        self._connection.request(method, self._path + path, body, self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    # The methods of a document store.

    def checkpoint(self) -> int:
        """Return the number last written with documents, 0 at first."""
        return self._read_number(f"/{self._first}/{_LOCAL}", "checkpoint", good=(200, 404))

    def _set_checkpoint(self, number: int) -> None:
        for _ in range(_TRIES):
            answer = self._request("GET", f"/{self._first}/{_LOCAL}", good=(200, 404), shape=dict)
            document = {"_id": _LOCAL, "checkpoint": number}
            if answer.status == 200:
                document["_rev"] = answer.content.get("_rev")
            if self._request("PUT", f"/{self._first}/{_LOCAL}", document, good=(201, 202, 409)).status != 409:
                return
        raise StoreError(f"{self._url}: another client keeps writing the checkpoint of {self._first}")

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = (), *,
        checkpoint: int | None = None,
    ) -> int:  # fmt: skip
        """Write documents, replacing those with the same ids, and remove others; return how many are new.

        A document that another client wrote meanwhile is read and replaced by the next revision. Conflicting revisions
        that a replication left are removed.
        """
        fresh = 0
        changes: dict[str, Mapping[str, Any] | None] = dict.fromkeys(removed)
        changes |= {str(document["_id"]): document for document in documents}
        for part in _chunks(changes):
            fresh += self._write(database, part)
        if checkpoint is not None:
            self._set_checkpoint(max(checkpoint, self.checkpoint()))
        return fresh

    def _write(self, database: str, documents: dict[str, Mapping[str, Any] | None]) -> int:
        remaining, fresh, is_first_try = dict(documents), 0, True
        for _ in range(_TRIES):
            existing = self._read_existing(database, list(remaining))
            fresh += (
                sum(document is not None and name not in existing for name, document in remaining.items())
                if is_first_try
                else 0
            )
            is_first_try = False
            changes: list[dict[str, Any]] = []
            for name, document in remaining.items():
                stored = existing.get(name)
                if document is not None:
                    changes.append({**document, **({"_rev": stored["_rev"]} if stored else {})})
                elif stored:
                    changes.append({"_id": name, "_rev": stored["_rev"], "_deleted": True})
                conflicts = stored.get("_conflicts", ()) if stored else ()
                changes += [{"_id": name, "_rev": rev, "_deleted": True} for rev in conflicts]
            remaining = self._write_bulk(database, changes, remaining)
            if not remaining:
                return fresh
        raise StoreError(f"{self._url}: {database}: another client keeps writing {next(iter(remaining))!r}")

    def _write_bulk(
        self, database: str, changes: list[dict[str, Any]], wanted: dict[str, Mapping[str, Any] | None]
    ) -> dict[str, Mapping[str, Any] | None]:
        """Write documents in one request; return those that another client wrote meanwhile."""
        if not changes:
            return {}
        answer = self._request("POST", f"/{database}/_bulk_docs", {"docs": changes}, good=(201, 202, 413), shape=list)
        if answer.status == 413:
            return self._write_split(database, changes, wanted)
        conflicts: dict[str, Mapping[str, Any] | None] = {}
        for row in answer.content:
            if row.get("error") == "conflict":
                conflicts[row["id"]] = wanted[row["id"]]
            elif row.get("error"):
                raise StoreError(f"{self._url}: {database}: {row.get('id')}: {row['error']}: {row.get('reason')}")
        return conflicts

    def _write_split(
        self, database: str, changes: list[dict[str, Any]], wanted: dict[str, Mapping[str, Any] | None]
    ) -> dict[str, Mapping[str, Any] | None]:
        """Write documents in halves, and a single one that is too large without its long text."""
        if len(changes) > 1:
            half = len(changes) // 2
            return self._write_bulk(database, changes[:half], wanted) | self._write_bulk(
                database, changes[half:], wanted
            )
        long_field, document = self._databases[database].once, changes[0]
        if not long_field or not document.get(long_field):
            raise StoreError(f"{self._url}: {database}: {document['_id']}: larger than the server accepts")
        shorter = {**document, long_field: "", f"{long_field}_left_out": len(document[long_field])}
        return self._write_bulk(database, [shorter], wanted)

    def _read_existing(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        path = f"/{database}/_all_docs?include_docs=true&conflicts=true"
        rows = self._rows_of("POST", path, {"keys": list(ids)})
        return {row["doc"]["_id"]: row["doc"] for row in rows if row.get("doc") and not _is_deleted(row)}

    def get(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        """Return the documents that exist, by id."""
        documents: dict[str, Stored] = {}
        for start in range(0, len(ids), _CHUNK):
            documents |= self._read_existing(database, ids[start : start + _CHUNK])
        return {name: _without_server_fields(document) for name, document in documents.items()}

    def view(self, database: str, name: str, span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents in the order of a view."""
        declared = self._databases[database].view(name)
        return islice(self._view_rows(database, declared, span), span.skip, span.skip + span.limit)

    def _view_rows(self, database: str, view: DocumentView, span: Span) -> Iterator[Stored]:
        """Yield the documents of a view in a span; `span.end` is excluded, which a descending query cannot ask for."""
        low, high = _make_key(view, span.first, span.start), _make_key(view, span.first, span.end or _LAST)
        parameters: dict[str, Any] = {"reduce": "false", "include_docs": "true", "limit": _PAGE}
        first, last = (high, low) if span.descending else (low, high)
        parameters |= {"startkey": json.dumps(first), "endkey": json.dumps(last)}
        parameters["inclusive_end"] = "true" if span.descending or len(span.first) == len(view.by) else "false"
        parameters["descending"] = "true" if span.descending else "false"
        skip = 0
        while True:
            path = f"/{database}/{DESIGN}/_view/{quote(view.name)}?{urlencode({**parameters, 'skip': skip})}"
            rows = self._rows_of("GET", path)
            for row in rows:
                if row.get("doc") and not (span.end and row["key"] == high):
                    yield _without_server_fields(row["doc"])
            if len(rows) < _PAGE:
                return
            skip += _PAGE

    def count(self, database: str) -> int:
        """Count the documents of a database without its design documents."""
        design_range = urlencode({"startkey": '"_design/"', "endkey": '"_design0"'})
        designs = self._rows_of("GET", f"/{database}/_all_docs?{design_range}")
        return self._read_number(f"/{database}", "doc_count") - len(designs)

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        last_id = ""
        while True:
            parameters = {"limit": _PAGE + 1, "startkey": json.dumps(last_id)} if last_id else {"limit": _PAGE + 1}
            rows = self._rows_of("GET", f"/{database}/_all_docs?{urlencode(parameters)}")
            names = [row["id"] for row in rows if row["id"] != last_id]
            yield from (name for name in names if not name.startswith("_"))
            if len(rows) <= _PAGE:
                return
            last_id = names[-1]

    def rewind(self) -> None:
        """Set the checkpoint to 0; the documents stay."""
        self._set_checkpoint(0)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _make_key(view: DocumentView, first: tuple[str, ...], rest: str) -> Any:
    """Return a key of a view: a text if it is sorted by one field, else a list."""
    parts = [*first] if len(first) == len(view.by) else [*first, rest]
    return parts[0] if len(view.by) == 1 else parts


def _map_function(view: DocumentView) -> str:
    """Return the map function of a view in JavaScript; documents whose fields are not texts are left out."""
    fields = [f"doc[{json.dumps(name)}]" for name in view.by]
    conditions = [f'typeof {field} === "string"' for field in fields]
    if view.without:
        name, excluded = view.without
        conditions.append(f"doc[{json.dumps(name)}] !== {json.dumps(excluded)}")
    key = fields[0] if len(fields) == 1 else f"[{', '.join(fields)}]"
    return f"function (doc) {{ if ({' && '.join(conditions)}) {{ emit({key}, null); }} }}"


def _map_functions(views: Any) -> dict[str, Any]:
    """Return the map function of each view of a design document."""
    return {name: view.get("map") for name, view in views.items()} if isinstance(views, dict) else {}


def _chunks(wanted: Mapping[str, Mapping[str, Any] | None]) -> Iterator[dict[str, Mapping[str, Any] | None]]:
    """Yield the documents of each bulk write: at most `_CHUNK`, and about `_BYTES`; None stands for a removal."""
    part: dict[str, Mapping[str, Any] | None] = {}
    size = 0
    for name, document in wanted.items():
        length = len(json.dumps(document)) if document is not None else 0
        if part and (len(part) >= _CHUNK or size + length > _BYTES):
            yield part
            part, size = {}, 0
        part[name] = document
        size += length
    if part:
        yield part


def _is_deleted(row: Mapping[str, Any]) -> bool:
    return bool(row.get("value", {}).get("deleted"))


def _without_server_fields(document: Mapping[str, Any]) -> Stored:
    """Return a document without the fields that the server adds."""
    return {name: content for name, content in document.items() if name not in {"_rev", "_conflicts"}}


def _parse_json(content: bytes) -> Any:
    try:
        return json.loads(content) if content else {}
    except (ValueError, RecursionError):
        raise StoreError("the server's answer is not JSON: is this a CouchDB?") from None
