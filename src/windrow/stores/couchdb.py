"""A store of JSON documents on a CouchDB server, or on another server with CouchDB's HTTP API."""

from __future__ import annotations

import http.client
import json
import secrets
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from windrow.errors import ConfigError, StoreError, StoreUnreachable
from windrow.stores.couchdb_connection import AnswerTooLarge, CouchConnection, ServerAddress
from windrow.stores.documents import (
    FIRST_THOUSAND,
    DatabaseState,
    DocumentDatabase,
    DocumentView,
    StoredDocument,
    ViewRange,
    check_name,
)
from windrow.stores.sqlite import close_on_failure

DESIGN_ID = "_design/windrow"
_CHECKPOINT_ID = "_local/windrow"
_CHUNK_SIZE, _MAX_BULK_BYTES = 500, 4_000_000  # the most documents in a bulk write, and roughly the most bytes
_PAGE_SIZE = 500  # rows of a view or list that are requested at a time
_MAX_ATTEMPTS = 5
_TOO_LARGE = 413
_REFUSALS = (400, _TOO_LARGE)  # statuses for a document that the server does not accept
_MAX_INTEGER = (1 << 63) - 1  # that SQLite can store, which keeps the state of each database
_HIGHEST_TEXT = "\ufff0"  # sorts after every text in CouchDB


_Row = dict[str, Any]
_Changes = dict[str, Mapping[str, Any] | None]
"""Documents to write, by id. None means that the document is to be removed."""


class _Response(NamedTuple):
    status: int
    content: Any


class CouchDocuments:
    """`windrow.stores.documents.DocumentStore` on a server with the HTTP API of CouchDB."""

    def __init__(self, url: str, databases: Sequence[DocumentDatabase], secret: str = "") -> None:
        """Create the databases and views that are missing at `url`; `secret` is `user:password`, or empty for no login.

        Raises ConfigError if `url` is not valid or contains an `@`: messages would show a password in the URL.
        """
        try:
            parts = urlsplit(url)
            port, is_valid = parts.port, parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:  # such as a port above 65,535
            is_valid = False
        if "@" in url:
            raise ConfigError(
                "the address of the CouchDB server may not contain a user, a password or an @",
                hint="store user:password elsewhere, and set events.documents_secret to env:NAME or file:PATH",
            )
        if not is_valid:
            hint = "set events.documents to an address such as http://127.0.0.1:5984/"
            raise ConfigError(f"{url!r} is not the address of a CouchDB server", hint=hint)
        self._url = url
        self._path = parts.path.rstrip("/")
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if secret:
            headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        server = ServerAddress(parts.hostname or "", port, parts.scheme == "https")
        self._connection = CouchConnection(server, headers)
        self._databases = {check_name(database.name): database for database in databases}
        with close_on_failure(self.close):
            for database in databases:
                self._create(database)

    def _create(self, database: DocumentDatabase) -> None:
        """Create a database if it is missing, and write its views if they are missing or differ."""
        # Only an administrator may send a PUT for a database, even if the database exists.
        if self._request("GET", f"/{database.name}", good=(200, 404)).status == 404:
            self._request("PUT", f"/{database.name}", good=(201, 202, 412))
        # No reduce function, so that a view without parameters returns its rows.
        views = {view.name: {"map": _map_function(view)} for view in database.views}
        design_fields = {"language": "javascript", "views": views}
        for _ in range(_MAX_ATTEMPTS):
            response = self._request("GET", f"/{database.name}/{DESIGN_ID}", good=(200, 404), shape=dict)
            stored = response.content if response.status == 200 else {}
            if all(stored.get(name) == content for name, content in design_fields.items()):
                return
            # A user who may not write designs can use the views of an earlier windrow, if these are equal.
            is_usable = _map_functions(stored.get("views")) == _map_functions(design_fields["views"])
            design = {**stored, **design_fields, "_id": DESIGN_ID}
            accepted = (201, 202, 409, *((401, 403) if is_usable else ()))
            if self._request("PUT", f"/{database.name}/{DESIGN_ID}", design, good=accepted).status != 409:
                return
        raise StoreError(f"{self._url}: another client keeps writing the design document of {database.name}")

    # Requests to the server.

    def _request(
        self, method: str, path: str, document: Any = None, *, good: tuple[int, ...] = (200,), shape: type = object
    ) -> _Response:
        """Send a request with the JSON of `document`; if it fails temporarily, send it again.

        At most `_MAX_ATTEMPTS` requests are sent. `good` are the accepted statuses; `shape` is the required type of the
        JSON of a response below status 300. Raises StoreUnreachable after the last failure or an answer that takes
        too long, AnswerTooLarge, and StoreError for any other response.
        """
        # CouchDB refuses a request with a lone surrogate, which the JSON of a source may contain.
        body = None if document is None else json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        problem = ""
        for attempt in range(_MAX_ATTEMPTS):
            if attempt:
                time.sleep(min(0.1 * 2**attempt, 2.0))
            try:
                status, content = self._connection.send(method, self._path + path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem = str(error) or type(error).__name__
                continue
            if status == 500 and b'"doc_validation"' in content:
                status = 400  # servers use either status for a document that is not valid
            if status in good:
                parsed = _parse_json(content, self._url) if status < 300 else _parse_error(content)
                if status < 300 and not isinstance(parsed, shape):
                    raise self._unexpected_response()
                return _Response(status, parsed)
            problem = f"{method} {path[:200]}: status {status}, {content[:300].decode('utf-8', 'replace')}"
            if status in {401, 403}:
                raise StoreError(f"{self._url}: {problem}", hint="check the setting events.documents_secret")
            if status < 500 and status not in {408, 425, 429}:
                raise StoreError(f"{self._url}: {problem}")
        raise StoreUnreachable(f"{self._url}: {problem}")

    def _request_rows(self, method: str, path: str, document: Any = None) -> list[dict[str, Any]]:
        rows = self._request(method, path, document, shape=dict).content.get("rows")
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise self._unexpected_response()
        return rows

    def _number_in(self, content: Mapping[str, Any], name: str) -> int:
        number = content.get(name, 0)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_INTEGER:
            raise self._unexpected_response()
        return number

    def _sequence_in(self, content: Mapping[str, Any], name: str) -> str:
        """Return the text by which a server is asked for the changes after a sequence, which may be any JSON."""
        sequence = content.get(name)
        text = sequence if isinstance(sequence, str) else json.dumps(sequence)
        if sequence is None or not text.isascii():
            raise self._unexpected_response()
        return text

    def _unexpected_response(self) -> StoreError:
        return StoreError(f"{self._url}: the response is not from CouchDB", hint="check the setting events.documents")

    # The methods of a document store.

    def checkpoints(self) -> tuple[int, int]:
        """Return the lowest and the highest checkpoint of the databases; that of a new database is 0."""
        checkpoints = [*map(self._checkpoint_of, self._databases)]
        return min(checkpoints), max(checkpoints)

    def _read_note(self, database: str) -> dict[str, Any]:
        """Return the document that windrow keeps beside the others of a database; it is empty if there is none."""
        response = self._request("GET", f"/{database}/{_CHECKPOINT_ID}", good=(200, 404), shape=dict)
        return dict(response.content) if response.status == 200 else {}

    def _checkpoint_of(self, database: str) -> int:
        return self._number_in(self._read_note(database), "checkpoint")

    def identities(self) -> set[int]:
        """Return the identities that are stored beside the checkpoints."""
        return {self._large_number_in(self._read_note(database), "records") for database in self._databases} - {0}

    def _large_number_in(self, note: Mapping[str, Any], name: str) -> int:
        """Return a number that is stored as a text; 0 if there is none."""
        text = str(note.get(name, "") or "0")
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise self._unexpected_response()
        return self._number_in({name: int(text)}, name)

    def _set_checkpoint(self, database: str, number: int, identity: int) -> None:
        # A number of 62 bits is a text: what a server in JavaScript makes of it is not exact.
        mark = secrets.randbits(62) + 1
        document = {"_id": _CHECKPOINT_ID, "checkpoint": number, "records": str(identity), "mark": str(mark)}
        for _ in range(_MAX_ATTEMPTS):
            stored = self._read_note(database)
            revision = {"_rev": stored.get("_rev")} if stored else {}
            document_path = f"/{database}/{_CHECKPOINT_ID}"
            if self._request("PUT", document_path, document | revision, good=(201, 202, 409)).status != 409:
                return
        raise StoreError(f"{self._url}: another client keeps writing the checkpoint of {database}")

    def state(self, database: str) -> DatabaseState:
        """Return the present state of a database. The count includes design documents."""
        info = self._request("GET", f"/{database}", shape=dict).content
        mark = self._large_number_in(self._read_note(database), "mark")
        return DatabaseState(mark, self._number_in(info, "doc_count"), self._sequence_in(info, "update_seq"))

    def changed_since(self, database: str, state: DatabaseState | None) -> set[str] | None:
        """Return the ids of the documents that were written or removed since `state`; None if any may have been.

        Sequences are texts that only the server understands, and may differ though nothing has changed.
        """
        now = self.state(database)
        if state is None or now.mark != state.mark:
            return None
        if now == state:
            return set()
        changed_ids, removed_count, since = set[str](), 0, state.sequence
        while True:
            parameters = urlencode({"since": since, "limit": _PAGE_SIZE})
            page = self._request("GET", f"/{database}/_changes?{parameters}", shape=dict).content
            rows, last = page.get("results"), self._sequence_in(page, "last_seq")
            if not isinstance(rows, list) or not all(map(_is_row, rows)) or (rows and last == since):
                raise self._unexpected_response()
            if not rows:
                break
            changed_ids |= {row["id"] for row in rows if "id" in row}
            removed_count += sum(row.get("deleted") is True for row in rows)
            since = last
        # Documents that the server purged are in no list of changes.
        return changed_ids if now.document_count >= state.document_count - removed_count else None

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = ()
    ) -> Mapping[str, str]:
        """Write documents, which replace documents with the same ids, and remove documents with the ids `removed`.

        Return the reason for each document that the server refused, by id. A document that another client writes at the
        same time is replaced as well, and conflicting revisions that a replication left are removed.
        """
        refused: dict[str, str] = {}
        changes: _Changes = dict.fromkeys(removed)
        changes |= {str(document["_id"]): document for document in documents}
        for chunk in _split_into_chunks(changes):
            refused |= self._write_chunk(database, chunk)
        return refused

    def set_checkpoint(self, checkpoint: int, identity: int) -> None:
        """Set the identity of each database, and its checkpoint to `checkpoint`, unless that is higher already."""
        for database in self._databases:
            self._set_checkpoint(database, max(checkpoint, self._checkpoint_of(database)), identity)

    def _write_chunk(self, database: str, documents: _Changes) -> dict[str, str]:
        """Write or remove the documents of one chunk; return the reason for each refused document, by id."""
        remaining, refused = dict(documents), dict[str, str]()
        for _ in range(_MAX_ATTEMPTS):
            existing = self._read_existing(database, list(remaining))
            revisions: list[dict[str, Any]] = []
            for id_, document in remaining.items():
                stored = existing.get(id_)
                if document is not None:
                    revisions.append({**document, **({"_rev": stored["_rev"]} if stored else {})})
                elif stored:
                    revisions.append({"_id": id_, "_rev": stored["_rev"], "_deleted": True})
                conflicts = stored.get("_conflicts", ()) if stored else ()
                revisions += [{"_id": id_, "_rev": rev, "_deleted": True} for rev in conflicts]
            conflicting = self._write_bulk(database, revisions, refused)
            remaining = {id_: remaining[id_] for id_ in remaining if id_ in conflicting}
            if not remaining:
                return refused
        raise StoreError(f"{self._url}: {database}: another client keeps writing {next(iter(remaining))!r}")

    def _write_bulk(self, database: str, revisions: list[dict[str, Any]], refused: dict[str, str]) -> set[str]:
        """Write revisions in one request; return the ids of documents that another client has since written.

        The reasons for refused revisions are added to `refused`, by id.
        """
        if not revisions:
            return set()
        body = {"docs": revisions}
        response = self._request("POST", f"/{database}/_bulk_docs", body, good=(201, 202, *_REFUSALS), shape=list)
        if response.status in _REFUSALS:
            return self._write_split(database, revisions, response, refused)
        if not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in response.content):
            raise self._unexpected_response()
        if {row["id"] for row in response.content} != {revision["_id"] for revision in revisions}:
            raise self._unexpected_response()  # some documents may not be written
        errors = {row["id"]: row for row in response.content if row.get("error")}
        conflicting = {id_ for id_, row in errors.items() if row["error"] == "conflict"}
        refused |= {id_: _describe_refusal(row) for id_, row in errors.items() if id_ not in conflicting}
        return conflicting

    def _write_split(
        self, database: str, revisions: list[dict[str, Any]], response: _Response, refused: dict[str, str]
    ) -> set[str]:
        """Write `revisions`, which the server refused together, again in halves; return what `_write_bulk` returns."""
        if len(revisions) > 1:
            half = len(revisions) // 2
            conflicting = self._write_bulk(database, revisions[:half], refused)
            return conflicting | self._write_bulk(database, revisions[half:], refused)
        problem = "larger than the server accepts" if response.status == _TOO_LARGE else f"status {response.status}"
        refused[revisions[0]["_id"]] = f"{problem}: {_describe_refusal(response.content)}"
        return set()

    def _read_existing(self, database: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        path = f"/{database}/_all_docs?include_docs=true&conflicts=true"
        try:
            rows = self._request_rows("POST", path, {"keys": list(ids)})
        except AnswerTooLarge:
            if len(ids) == 1:
                raise
            half = len(ids) // 2
            return self._read_existing(database, ids[:half]) | self._read_existing(database, ids[half:])
        return {row["doc"]["_id"]: row["doc"] for row in rows if row.get("doc") and not _is_deleted(row)}

    def get(self, database: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Return the existing documents with these ids, by id, with the `_conflicts` that a replication left."""
        documents: dict[str, StoredDocument] = {}
        for start in range(0, len(ids), _CHUNK_SIZE):
            documents |= self._read_existing(database, ids[start : start + _CHUNK_SIZE])
        return {id_: _without_revision(document) for id_, document in documents.items()}

    def view(self, database: str, name: str, bounds: ViewRange = FIRST_THOUSAND) -> Iterator[StoredDocument]:
        """Yield the documents in the range `bounds` of the view `name`, in the order that `bounds` states."""
        declared = self._databases[database].view(name)
        return islice(self._view_rows(database, declared, bounds), bounds.skip, bounds.skip + bounds.limit)

    def _view_rows(self, database: str, view: DocumentView, bounds: ViewRange) -> Iterator[StoredDocument]:
        """Yield the documents in the range `bounds` of a view; `bounds.skip` and `bounds.limit` are not applied."""
        low = _make_key(view, bounds.first, bounds.start)
        high = _make_key(view, bounds.first, bounds.end or _HIGHEST_TEXT)
        parameters: dict[str, Any] = {"reduce": "false", "limit": _PAGE_SIZE}
        first, last = (high, low) if bounds.descending else (low, high)
        parameters |= {"startkey": json.dumps(first), "endkey": json.dumps(last)}
        parameters["inclusive_end"] = "true" if bounds.descending or len(bounds.first) == len(view.by) else "false"
        parameters["descending"] = "true" if bounds.descending else "false"
        excluded = high if bounds.end and len(bounds.first) < len(view.by) else None
        last_key, seen = None, set[str]()
        while True:
            path = f"/{database}/{DESIGN_ID}/_view/{quote(view.name)}?{urlencode(parameters)}"
            try:
                page, has_documents = self._request_rows("GET", f"{path}&include_docs=true"), True
            except AnswerTooLarge:  # the documents are requested one by one
                page, has_documents = self._request_rows("GET", path), False
            rows = self._new_rows(page, seen, last_key)
            for row in rows:
                if excluded is not None and row.get("key") == excluded:
                    continue  # a descending query includes the key `bounds.end`
                id_ = row.get("id", "")
                document = row.get("doc") if has_documents else self._read_existing(database, [id_]).get(id_)
                if document:
                    yield _without_revision(document)
            if (
                not rows
            ):  # a page may be shorter than asked for, since servers and proxies may have a limit of their own
                return
            # The next page begins with the last row, not after a number of rows, which a run may change.
            last_id, last_key = str(rows[-1].get("id", "")), rows[-1].get("key")
            parameters |= {"startkey": json.dumps(last_key), "startkey_docid": last_id, "limit": _PAGE_SIZE + 1}

    def _new_rows(self, rows: Sequence[_Row], seen: set[str], last_key: Any) -> list[_Row]:
        """Return the rows of a page that were not in the page before, which `seen` has, and put this page into `seen`.

        The page begins with rows of `last_key`, the last key of the page before; PouchDB sends all of them again. Raise
        StoreError for other rows again, or for nothing new on a full page: a proxy does not pass on where it begins.
        """
        texts = [json.dumps([row.get("key"), row.get("id")]) for row in rows]
        new = [row for row, text in zip(rows, texts, strict=True) if text not in seen]
        repeated = [row for row, text in zip(rows, texts, strict=True) if text in seen]
        if any(row.get("key") != last_key for row in repeated) or (repeated and not new and len(rows) > _PAGE_SIZE):
            raise StoreError(
                f"{self._url}: a page of a list has rows of the page before", hint="check the proxy before the server"
            )
        seen.clear()
        seen.update(texts)
        return new

    def count(self, database: str) -> int:
        """Count the documents of a database, except design documents."""
        design_range = urlencode({"startkey": '"_design/"', "endkey": '"_design0"'})
        designs = self._request_rows("GET", f"/{database}/_all_docs?{design_range}")
        return self._number_in(self._request("GET", f"/{database}", shape=dict).content, "doc_count") - len(designs)

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database, except design documents."""
        last_id, seen = "", set[str]()
        while True:
            start = {"startkey": json.dumps(last_id)} if last_id else {}
            parameters = urlencode({"limit": _PAGE_SIZE + 1, **start})
            rows = self._new_rows(self._request_rows("GET", f"/{database}/_all_docs?{parameters}"), seen, last_id)
            yield from (row["id"] for row in rows if not row.get("id", "_").startswith("_"))
            if not rows:
                return
            last_id = rows[-1].get("id", "")

    def rewind(self, identity: int) -> None:
        """Set the checkpoint of each database to 0 and its identity to `identity`, and keep the documents."""
        for database in self._databases:
            self._set_checkpoint(database, 0, identity)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _make_key(view: DocumentView, first: tuple[str, ...], next_field: str) -> Any:
    """Return a key of a view: a text if the view is sorted by one field, otherwise a list.

    `next_field` is the value of the field after `first`; it is ignored if `first` has all fields of the view.
    """
    fields = [*first] if len(first) == len(view.by) else [*first, next_field]
    return fields[0] if len(view.by) == 1 else fields


def _map_function(view: DocumentView) -> str:
    """Return a view's map function in JavaScript.

    The function leaves out documents that `view.without` describes, and documents in which a field of `view.by` is not
    a text.
    """
    fields = [f"doc[{json.dumps(name)}]" for name in view.by]
    conditions = [f'typeof {field} === "string"' for field in fields]
    if view.without:
        name, excluded = view.without
        conditions.append(f"doc[{json.dumps(name)}] !== {json.dumps(excluded)}")
    key = fields[0] if len(fields) == 1 else f"[{', '.join(fields)}]"
    return f"function (doc) {{ if ({' && '.join(conditions)}) {{ emit({key}, null); }} }}"


def _map_functions(views: Any) -> dict[str, Any]:
    return {name: view.get("map") for name, view in views.items()} if isinstance(views, dict) else {}


def _split_into_chunks(documents: _Changes) -> Iterator[_Changes]:
    """Yield the changes for each bulk write: at most `_CHUNK_SIZE` documents and about `_MAX_BULK_BYTES` bytes."""
    chunk: _Changes = {}
    size = 0
    for id_, document in documents.items():
        length = len(json.dumps(document)) if document is not None else 0
        if chunk and (len(chunk) >= _CHUNK_SIZE or size + length > _MAX_BULK_BYTES):
            yield chunk
            chunk, size = {}, 0
        chunk[id_] = document
        size += length
    if chunk:
        yield chunk


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("value", {}), dict | type(None)):
        return False
    document = row.get("doc")
    if document is None:
        return isinstance(row.get("id"), str) or "error" in row
    return (
        isinstance(document, dict) and isinstance(document.get("_id"), str) and isinstance(document.get("_rev"), str)
        and isinstance(document.get("_conflicts", []), list)
    )  # fmt: skip


def _is_deleted(row: Mapping[str, Any]) -> bool:
    return bool((row.get("value") or {}).get("deleted"))


def _describe_refusal(refusal: Any) -> str:
    error, reason = (
        (str(refusal.get(name) or "") for name in ("error", "reason")) if isinstance(refusal, dict) else ("", "")
    )
    return " ".join(filter(None, (error, reason)))[:300] or "the server gave no reason"


def _without_revision(document: Mapping[str, Any]) -> StoredDocument:
    return {name: content for name, content in document.items() if name != "_rev"}


def _parse_error(content: bytes) -> Any:
    """Return the JSON of an error response or, if it is not JSON (such as from a proxy), an object with its text."""
    try:
        return _parse_json(content, "")
    except StoreError:
        return {"reason": content[:300].decode("utf-8", "replace")}


def _parse_json(content: bytes, url: str) -> Any:
    try:
        return json.loads(content) if content else {}
    except (ValueError, RecursionError):
        raise StoreError(f"{url}: the response is not JSON: is this a CouchDB server?") from None
