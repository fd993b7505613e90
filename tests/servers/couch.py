"""A server with the part of CouchDB's HTTP API that windrow uses, whose answers a test may change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, Any]
"""A status, and a value of JSON or the bytes of a body."""


class Couch:
    """Databases of documents by name and id; `change` gets each request's method, path and answer, and may change it."""

    def __init__(self) -> None:
        self.databases: dict[str, dict[str, Any]] = {}
        self.changes: list[dict[str, Any]] = []  # the rows of `_changes` of all databases
        self.change: Callable[[str, str, Answer], Answer] = lambda _method, _path, answer: answer
        self.url = ""

    def count(self, database: str) -> int:
        """Return the number of documents without those of windrow itself."""
        return sum(not name.startswith("_") for name in self.databases.get(database, ()))

    def answer(self, method: str, path: str, body: Any) -> Answer:
        name, _, rest = urlsplit(path).path.strip("/").partition("/")
        if method == "PUT" and not rest:
            self.databases.setdefault(name, {})
            return 201, {"ok": True}
        if name not in self.databases:
            return 404, {"error": "not_found"}
        documents = self.databases[name]
        if not rest:
            return 200, {"doc_count": self.count(name), "update_seq": f"{len(self.changes)}-opaque"}
        if rest == "_changes":
            since = int(parse_qs(urlsplit(path).query)["since"][0].partition("-")[0])
            return 200, {"results": self.changes[since:], "last_seq": f"{len(self.changes)}-opaque"}
        if rest == "_bulk_docs":
            for document in body["docs"]:
                documents[document["_id"]] = {**document, "_rev": "1-a"}
                self.changes.append({"id": document["_id"], "deleted": bool(document.get("_deleted"))})
                if document.get("_deleted"):
                    del documents[document["_id"]]
            return 201, [{"id": document["_id"], "ok": True, "rev": "1-a"} for document in body["docs"]]
        if method == "PUT":
            documents[rest] = {**body, "_rev": "1-a"}
            return 201, {"ok": True}
        if rest == "_all_docs" or "/_view/" in rest:
            keys = body["keys"] if body else sorted(key for key in documents if not key.startswith("_"))
            asked = {name: values[-1] for name, values in parse_qs(urlsplit(path).query).items()}
            start = asked.get("startkey_docid") or (rest == "_all_docs" and json.loads(asked.get("startkey", '""')))
            keys = [key for key in keys if body or not start or key >= start][: int(asked.get("limit", 10**6))]
            rows = [{"id": key, "key": key, "value": {}, "doc": documents[key]} for key in keys if key in documents]
            return 200, {"rows": rows}
        return (200, documents[rest]) if rest in documents else (404, {"error": "not_found"})


@contextmanager
def serving_couch() -> Iterator[Couch]:
    """Serve a Couch on a port of this machine."""
    couch = Couch()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = couch.answer(self.command, self.path, json.loads(content) if content else None)
            status, value = couch.change(self.command, self.path, answer)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = respond  # noqa: N815 as the library calls them

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        couch.url = f"http://127.0.0.1:{server.server_port}/"
        yield couch
        server.shutdown()
