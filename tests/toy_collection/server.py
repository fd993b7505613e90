"""Local servers for the toy collection: an API of terms, and a service that defines them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PER_PAGE = 3


class Glossary:
    """An API and a service on one free port each; `asked` has every request, in order."""

    def __init__(self, terms: int = 10) -> None:
        """Serve this many terms, newest first."""
        self.terms = [_term(number) for number in range(terms, 0, -1)]
        self.asked: list[str] = []
        self.failing = 0  # how many of the next responses of the service are 503
        self.robots = ""
        self.api = self._serve(self._page)
        self.service = self._serve(self._define)

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self.api.server_port}/"

    @property
    def definer(self) -> str:
        """The address of the service."""
        return f"http://127.0.0.1:{self.service.server_port}/"

    def add(self, number: int) -> None:
        """Publish one more term."""
        self.terms.insert(0, _term(number))

    def _serve(self, answer: Any) -> ThreadingHTTPServer:
        glossary = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.reply(b"")

            def do_POST(self) -> None:
                self.reply(self.rfile.read(int(self.headers["Content-Length"])))

            def reply(self, body: bytes) -> None:
                glossary.asked.append(f"{self.command} {self.path} {body.decode()}".rstrip())
                if self.path == "/robots.txt":
                    status, content, fields = (200 if glossary.robots else 404), glossary.robots.encode(), {}
                else:
                    status, content, fields = answer(self.command, self.path, body)
                self.send_response(status)
                for name, text in fields.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def _page(self, _method: str, path: str, _body: bytes) -> tuple[int, bytes, dict[str, str]]:
        number = int(path.partition("page=")[2] or 0)
        part = self.terms[(number - 1) * PER_PAGE : number * PER_PAGE]
        more = number * PER_PAGE < len(self.terms)
        fields = {"Link": f'</terms?page={number + 1}>; rel="next"'} if more else {}
        return 200, "".join(json.dumps(row) + "\n" for row in part).encode(), fields

    def _define(self, method: str, path: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if self.failing:
            self.failing -= 1
            return 503, b"", {}
        if (method, path) != ("POST", "/define"):
            return 404, b"", {}
        asked = json.loads(body)
        return 200, json.dumps({"definition": f"what {asked['term']} means, in {asked['language']}"}).encode(), {}

    def close(self) -> None:
        """Stop both servers."""
        for server in (self.api, self.service):
            server.shutdown()
            server.server_close()


def _term(number: int) -> dict[str, str]:
    return {"id": f"t{number}", "term": f"word{number}", "updated": f"2026-01-{number:02}T00:00:00+00:00"}
