"""Documents in a CouchDB, or in anything that speaks its HTTP API: databases made, bulk writes, views, conflicts."""

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
_LAST = "\ufff0"  # behind every text, as CouchDB sorts them


class _Answered(NamedTuple):
    status: int
    value: Any


_PATIENCE = 60.0
"""Seconds that an answer of the server may take."""


class CouchDocuments:
    """`windrow.stores.documents.DocumentStore` on a server."""

    def __init__(self, url: str, databases: Sequence[DocumentDatabase], secret: str = "") -> None:
        """Talk to this server; `secret` is `user:password`. What is missing is made."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"{url!r} is no address of a CouchDB", hint="http://127.0.0.1:5984/")
        self._url = url
        self._where, self._secure = (parts.hostname, parts.port), parts.scheme == "https"
        self._path = parts.path.rstrip("/")
        self._fields = {"Accept": "application/json", "Content-Type": "application/json"}
        if secret:
            self._fields["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        self._connection: http.client.HTTPConnection | None = None
        self._databases = {check_name(database.name): database for database in databases}
        self._first = next(iter(self._databases))
        for database in databases:
            self._make(database)

    def _make(self, database: DocumentDatabase) -> None:
        """Make a database and its views, where they are not there or are of an earlier windrow."""
        # Only an administrator of the server may make a database, whether it is there or not.
        if self._ask("GET", f"/{database.name}", good=(200, 404)).status == 404:
            self._ask("PUT", f"/{database.name}", good=(201, 202, 412))
        # Without a reduce: a client that asks for a view, and says no more, means its rows.
        wanted = {"language": "javascript", "views": {view.name: {"map": _map(view)} for view in database.views}}
        for _ in range(_TRIES):
            found = self._ask("GET", f"/{database.name}/{DESIGN}", good=(200, 404), shape=dict)
            known = found.value if found.status == 200 else {}
            if all(known.get(name) == value for name, value in wanted.items()):
                return
            # Who may not write designs reads the views of an earlier windrow, where they sort as ours.
            usable = _maps(known.get("views")) == _maps(wanted["views"])
            told, good = {**known, **wanted, "_id": DESIGN}, (201, 202, 409, *((401, 403) if usable else ()))
            if self._ask("PUT", f"/{database.name}/{DESIGN}", told, good=good).status != 409:
                return

    # The line to the server.

    def _ask(
        self, method: str, path: str, value: Any = None, *, good: tuple[int, ...] = (200,), shape: type = object
    ) -> _Answered:
        """Make one request; one that the server could not take now is made again. `shape` is that of a good answer."""
        # CouchDB refuses a whole request for half of a surrogate pair, which JSON of a source may have.
        body = None if value is None else json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        told = ""
        for number in range(_TRIES):
            if number:
                time.sleep(min(0.1 * 2**number, 2.0))
            try:
                status, content = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                told = str(error) or type(error).__name__
                continue
            if status in good:
                said = _json(content)
                if status < 300 and not isinstance(said, shape):
                    raise self._strange()
                return _Answered(status, said)
            told = f"{method} {path[:200]}: status {status}, {content[:300].decode('utf-8', 'replace')}"
            if status in {401, 403}:
                raise StoreError(f"{self._url}: {told}", hint="look at events.documents_secret")
            if status < 500 and status not in {408, 425, 429}:
                raise StoreError(f"{self._url}: {told}")
        raise StoreUnreachable(f"{self._url}: {told}")

    def _rows_of(self, method: str, path: str, value: Any = None) -> list[dict[str, Any]]:
        """Make one request whose answer has rows."""
        rows = self._ask(method, path, value, shape=dict).value.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._strange()
        return rows

    def _number(self, path: str, name: str, *, good: tuple[int, ...] = (200,)) -> int:
        """Ask for an object, and return a number in it; 0 where there is none."""
        found = self._ask("GET", path, good=good, shape=dict)
        number = found.value.get(name, 0) if found.status == 200 else 0
        if not isinstance(number, int):
            raise self._strange()
        return number

    def _strange(self) -> StoreError:
        return StoreError(f"{self._url}: its answer is none of a CouchDB's", hint="look at events.documents")

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        if self._connection is None:
            host, port = self._where
            if self._secure:
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
        self._connection.request(method, self._path + path, body, self._fields)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    # What a store does.

    def checkpoint(self) -> int:
        """Return the number that was last written with documents, 0 at first."""
        return self._number(f"/{self._first}/{_LOCAL}", "checkpoint", good=(200, 404))

    def _set_checkpoint(self, value: int) -> None:
        for _ in range(_TRIES):
            found = self._ask("GET", f"/{self._first}/{_LOCAL}", good=(200, 404), shape=dict)
            told = {"_id": _LOCAL, "checkpoint": value}
            if found.status == 200:
                told["_rev"] = found.value.get("_rev")
            if self._ask("PUT", f"/{self._first}/{_LOCAL}", told, good=(201, 202, 409)).status != 409:
                return
        raise StoreError(f"{self._url}: somebody else writes the checkpoint of {self._first}")

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = (), *,
        checkpoint: int | None = None,
    ) -> int:  # fmt: skip
        """Put documents, whatever was there under their ids, and remove others; return how many are new.

        Who wrote at the same time has written before: ours is the next revision. Of revisions that a replication left
        beside each other, the others are removed.
        """
        fresh = 0
        wanted: dict[str, Mapping[str, Any] | None] = dict.fromkeys(removed)
        wanted |= {str(document["_id"]): document for document in documents}
        for part in _parts(wanted):
            fresh += self._write(database, part)
        if checkpoint is not None:
            self._set_checkpoint(max(checkpoint, self.checkpoint()))
        return fresh

    def _write(self, database: str, wanted: dict[str, Mapping[str, Any] | None]) -> int:
        left, fresh, first = dict(wanted), 0, True
        for _ in range(_TRIES):
            known = self._known(database, list(left))
            fresh += sum(one is not None and name not in known for name, one in left.items()) if first else 0
            first = False
            told: list[dict[str, Any]] = []
            for name, one in left.items():
                before = known.get(name)
                if one is not None:
                    told.append({**one, **({"_rev": before["_rev"]} if before else {})})
                elif before:
                    told.append({"_id": name, "_rev": before["_rev"], "_deleted": True})
                others = before.get("_conflicts", ()) if before else ()
                told += [{"_id": name, "_rev": rev, "_deleted": True} for rev in others]
            left = self._bulk(database, told, left)
            if not left:
                return fresh
        raise StoreError(f"{self._url}: {database}: others write {next(iter(left))!r} again and again")

    def _bulk(
        self, database: str, told: list[dict[str, Any]], wanted: dict[str, Mapping[str, Any] | None]
    ) -> dict[str, Mapping[str, Any] | None]:
        """Write documents at once; return those that somebody else wrote meanwhile."""
        if not told:
            return {}
        answer = self._ask("POST", f"/{database}/_bulk_docs", {"docs": told}, good=(201, 202, 413), shape=list)
        if answer.status == 413:
            return self._large(database, told, wanted)
        conflicts: dict[str, Mapping[str, Any] | None] = {}
        for one in answer.value:
            if one.get("error") == "conflict":
                conflicts[one["id"]] = wanted[one["id"]]
            elif one.get("error"):
                raise StoreError(f"{self._url}: {database}: {one.get('id')}: {one['error']}: {one.get('reason')}")
        return conflicts

    def _large(
        self, database: str, told: list[dict[str, Any]], wanted: dict[str, Mapping[str, Any] | None]
    ) -> dict[str, Mapping[str, Any] | None]:
        """Write what is too much at once in halves; one that is too large by itself goes without its long text."""
        if len(told) > 1:
            half = len(told) // 2
            return self._bulk(database, told[:half], wanted) | self._bulk(database, told[half:], wanted)
        once, one = self._databases[database].once, told[0]
        if not once or not one.get(once):
            raise StoreError(f"{self._url}: {database}: {one['_id']}: it is larger than the server takes")
        shorter = {**one, once: "", f"{once}_left_out": len(one[once])}
        return self._bulk(database, [shorter], wanted)

    def _known(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        path = f"/{database}/_all_docs?include_docs=true&conflicts=true"
        rows = self._rows_of("POST", path, {"keys": list(ids)})
        return {row["doc"]["_id"]: row["doc"] for row in rows if row.get("doc") and not _gone(row)}

    def get(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        """Return those of the documents that there are, by id."""
        found: dict[str, Stored] = {}
        for start in range(0, len(ids), _CHUNK):
            found |= self._known(database, ids[start : start + _CHUNK])
        return {name: _plain(one) for name, one in found.items()}

    def view(self, database: str, name: str, span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents in the order of a view."""
        told = self._databases[database].view(name)
        return islice(self._rows(database, told, span), span.skip, span.skip + span.limit)

    def _rows(self, database: str, view: DocumentView, span: Span) -> Iterator[Stored]:
        """Yield what a view has in a span; the end is left out, which a server does not do where it comes first."""
        low, high = _key(view, span.first, span.start), _key(view, span.first, span.end or _LAST)
        asked: dict[str, Any] = {"reduce": "false", "include_docs": "true", "limit": _PAGE}
        first, last = (high, low) if span.descending else (low, high)
        asked |= {"startkey": json.dumps(first), "endkey": json.dumps(last)}
        asked["inclusive_end"] = "true" if span.descending or len(span.first) == len(view.by) else "false"
        asked["descending"] = "true" if span.descending else "false"
        skip = 0
        while True:
            path = f"/{database}/{DESIGN}/_view/{quote(view.name)}?{urlencode({**asked, 'skip': skip})}"
            rows = self._rows_of("GET", path)
            for row in rows:
                if row.get("doc") and not (span.end and row["key"] == high):
                    yield _plain(row["doc"])
            if len(rows) < _PAGE:
                return
            skip += _PAGE

    def count(self, database: str) -> int:
        """Count the documents of a database, those of its design apart."""
        between = urlencode({"startkey": '"_design/"', "endkey": '"_design0"'})
        designs = self._rows_of("GET", f"/{database}/_all_docs?{between}")
        return self._number(f"/{database}", "doc_count") - len(designs)

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        last = ""
        while True:
            asked = {"limit": _PAGE + 1, "startkey": json.dumps(last)} if last else {"limit": _PAGE + 1}
            rows = self._rows_of("GET", f"/{database}/_all_docs?{urlencode(asked)}")
            names = [row["id"] for row in rows if row["id"] != last]
            yield from (name for name in names if not name.startswith("_"))
            if len(rows) <= _PAGE:
                return
            last = names[-1]

    def rewind(self) -> None:
        """Begin at checkpoint 0 again; the documents stay."""
        self._set_checkpoint(0)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _key(view: DocumentView, first: tuple[str, ...], rest: str) -> Any:
    """Return a key of a view: a text where it is sorted by one field, else a list."""
    parts = [*first] if len(first) == len(view.by) else [*first, rest]
    return parts[0] if len(view.by) == 1 else parts


def _map(view: DocumentView) -> str:
    """Write a view in JavaScript; what is no text has no place in it."""
    fields = [f"doc[{json.dumps(name)}]" for name in view.by]
    conditions = [f'typeof {field} === "string"' for field in fields]
    if view.without:
        name, value = view.without
        conditions.append(f"doc[{json.dumps(name)}] !== {json.dumps(value)}")
    key = fields[0] if len(fields) == 1 else f"[{', '.join(fields)}]"
    return f"function (doc) {{ if ({' && '.join(conditions)}) {{ emit({key}, null); }} }}"


def _maps(views: Any) -> dict[str, Any]:
    """Return what each view of a design sorts by, in JavaScript."""
    return {name: view.get("map") for name, view in views.items()} if isinstance(views, dict) else {}


def _parts(wanted: Mapping[str, Mapping[str, Any] | None]) -> Iterator[dict[str, Mapping[str, Any] | None]]:
    """Yield what is written at once: so many documents, or so many bytes. What is removed goes first, with the rest."""
    part: dict[str, Mapping[str, Any] | None] = {}
    size = 0
    for name, one in wanted.items():
        length = len(json.dumps(one)) if one is not None else 0
        if part and (len(part) >= _CHUNK or size + length > _BYTES):
            yield part
            part, size = {}, 0
        part[name] = one
        size += length
    if part:
        yield part


def _gone(row: Mapping[str, Any]) -> bool:
    return bool(row.get("value", {}).get("deleted"))


def _plain(document: Mapping[str, Any]) -> Stored:
    """Return a document without what the server adds."""
    return {name: value for name, value in document.items() if name not in {"_rev", "_conflicts"}}


def _json(content: bytes) -> Any:
    try:
        return json.loads(content) if content else {}
    except (ValueError, RecursionError):
        raise StoreError("the server's answer is no JSON: is this a CouchDB?") from None
