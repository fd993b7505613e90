"""A news site on a free local port: WordPress's REST API over a list of posts, and pages that tests add."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PER_PAGE = 10
"""Posts on a page at most, so that few posts have many pages."""


class Press:
    """`asked` has every request in order; `pages` the response of a path: (status, media type, body).

    A redirect has "-> TARGET" instead of the media type.
    """

    def __init__(self, posts: int = 0) -> None:
        self.asked: list[str] = []
        self.pages: dict[str, tuple[int, str, bytes]] = {}
        self.posts: dict[int, dict[str, Any]] = {}
        self.old = False  # a WordPress without modified_after and headers with totals
        self.ignored: frozenset[str] = frozenset()  # names of parameters that it ignores, such as page
        self.most_included: int | None = None  # the most posts of a response to a request by numbers
        self.before: Callable[[str], object] = lambda path: None  # called before each response
        self.server = self._serve()
        for number in range(1, posts + 1):
            self.post(number)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def post(self, number: int, at: str | None = None, **fields: Any) -> None:
        """Publish a post, dated one hour after the previous one."""
        at = at or (datetime(2025, 11, 1, tzinfo=UTC) + timedelta(hours=number)).isoformat()[:19]
        self.posts[number] = {
            "id": number, "date": at, "date_gmt": at, "modified": at, "modified_gmt": at, "slug": f"story-{number}",
            "status": "publish", "type": "post", "link": f"{self.url}/{at[:4]}/{at[5:7]}/story-{number}/",
            "title": {"rendered": f"Story &#8220;{number}&#8221; &amp; more"},
            "content": {"rendered": f"<p>Body of <b>story</b> {number}.</p>", "protected": False},
            "excerpt": {"rendered": f"<p>Short {number} [&hellip;]</p>", "protected": False},
            "author": 1, "featured_media": 5, "categories": [1], "tags": [2],
            "_embedded": {
                "author": [{"id": 1, "name": "In\u00e9s M\u00fcller"}],
                "wp:featuredmedia": [{"id": 5, "source_url": f"{self.url}/picture.jpg"}],
                "wp:term": [[{"name": "Sport &amp; Leisure", "taxonomy": "category"}], [{"name": "odd"}]],
            },
        } | fields  # fmt: skip

    def edit(self, number: int, at: str, **fields: Any) -> None:
        self.posts[number] |= {"modified": at, "modified_gmt": at} | fields

    def put(self, path: str, body: bytes | str, media: str = "text/html; charset=utf-8", status: int = 200) -> None:
        self.pages[path] = (status, media, body if isinstance(body, bytes) else body.encode())

    def _serve(self) -> ThreadingHTTPServer:
        press = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                press.before(self.path)
                press.asked.append(self.path)
                status, fields, body = press._answer(self.path)
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def _answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if path in self.pages:
            status, media, body = self.pages[path]
            if media.startswith("-> "):
                return status, {"Content-Type": "text/html", "Location": media[3:]}, body
            return status, {"Content-Type": media}, body
        split = urlsplit(path)
        if self.posts and split.path == "/wp-json/wp/v2/posts":
            return self._list({name: values[0] for name, values in parse_qs(split.query).items()})
        return 404, {"Content-Type": "text/html"}, b"<h1>Not matching</h1>"

    def _list(self, asked: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        asked = {"page": "1"} | {name: text for name, text in asked.items() if name not in self.ignored}
        if "include" in asked:
            numbers = {int(number) for number in asked["include"].split(",")}
            posts = [entry for entry in self.posts.values() if entry["id"] in numbers and entry["status"] == "publish"]
            fields = {"Content-Type": "application/json; charset=UTF-8"}
            fields |= {} if self.old else {"X-WP-Total": str(len(posts))}
            return 200, fields, json.dumps(posts[: self.most_included]).encode()
        column = asked.get("orderby", "date")
        matching = sorted(self.posts.values(), key=lambda entry: (entry[column], entry["id"]))
        if asked.get("order", "desc") == "desc":
            matching.reverse()
        matching = [entry for entry in matching if entry["status"] == "publish"]
        if "after" in asked:
            matching = [entry for entry in matching if entry["date"] > asked["after"]]
        if "before" in asked:
            matching = [entry for entry in matching if entry["date"] < asked["before"]]
        if "modified_before" in asked and not self.old:
            matching = [entry for entry in matching if entry["modified"] < asked["modified_before"]]
        if "modified_after" in asked and not self.old:
            matching = [entry for entry in matching if entry["modified"] > asked["modified_after"]]
        page, size = int(asked["page"]), PER_PAGE
        part = matching[(page - 1) * size : page * size]
        if page > 1 and not part:
            error = {"code": "rest_post_invalid_page_number", "data": {"status": 400}}
            return 400, {"Content-Type": "application/json"}, json.dumps(error).encode()
        fields = {"Content-Type": "application/json; charset=UTF-8"}
        if not self.old:
            fields |= {"X-WP-Total": str(len(matching)), "X-WP-TotalPages": str(-(-len(matching) // size))}
        if asked.get("_fields") == "id":
            part = [{"id": entry["id"]} for entry in part]
        return 200, fields, json.dumps(part).encode()
