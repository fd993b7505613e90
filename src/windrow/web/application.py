"""The routes of the web view: each page as HTML and, with `.json` or by its Accept field, as JSON."""

from __future__ import annotations

import gzip
import re
import shlex
from collections.abc import Callable, Iterable
from datetime import UTC
from typing import Any
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from windrow.app import Windrow
from windrow.app.changes import find_address, format_atom, identify
from windrow.app.listening import ProxyHeader, check_token
from windrow.app.session_details import SessionDetails
from windrow.app.story import StoryAnswer
from windrow.caps import WEB_CARDS, WEB_RESULTS
from windrow.clock import now
from windrow.contract.registry import names
from windrow.digest import digest
from windrow.errors import EXIT_CODES, ArchiveError, LedgerError, StoreError, UsageError, WindrowError
from windrow.formats.text import dump_json, json_message, replace_lone_surrogates, to_json_value, xml_text
from windrow.reasons import Reason
from windrow.web import homes, pages, watching
from windrow.web.guard import CAPTURE_POLICY, LIVE_POLICY, LOOPBACK_NAMES, Guard
from windrow.web.live import LiveSessions
from windrow.web.manual import ManualPage, open_manual, render_manual
from windrow.web.markup import icon, link, render, script, style
from windrow.web.openapi import WebError, describe_api
from windrow.web.query import PageQuery, refuse_unknown_parameters
from windrow.web.routes import CHANGES_PARAMETERS, NUMBERED, PAGES, Fresh, NumberedRoute, PageRoute
from windrow.web.steady import steady_fact
from windrow.web.worker import Workers

_TITLES = {400: "This cannot be asked so", 404: "Not found", 405: "Only GET and HEAD", 503: "Not now", 500: "A fault"}
_LEAST_PACKED = 1_000  # bytes; a smaller response is not packed


def app(
    workspace: Windrow, *, hosts: Iterable[str] = (), token: str = "", behind_tls: bool = False,
    header: ProxyHeader | None = None, is_stopping: Callable[[], bool] = lambda: False,
) -> ASGIApp:  # fmt: skip
    """Return the web view of a workspace as an ASGI application, which can be mounted in another.

    It answers requests whose Host is `localhost`, a loopback address or one of `hosts`. With a `token`, requests must
    have it, as a bearer token or as the password of HTTP's basic authentication, or else the `header` of a proxy. With
    `behind_tls`, a proxy with TLS is in front, so the view's own addresses begin with https. `is_stopping` says whether
    the server is to end: then streams of events end. Raise UsageError for a token that clients cannot send.
    """
    if token:
        check_token(token, "the token")
    view = _View(workspace, is_stopping, behind_tls=behind_tls)
    routes = [Route(f"{page.path}{suffix}", view.endpoint(page, as_json=bool(suffix)))
              for page in (*PAGES, PageRoute("/openapi", "openapi.html", describe_api))
              for suffix in ("", "index.json" if page.path == "/" else ".json")]  # fmt: skip
    routes += [Route(f"{page.path}/{{number:int}}{suffix}", view.numbered(page, as_json=bool(suffix)))
               for page in NUMBERED for suffix in (".json", "")]  # fmt: skip
    routes += [
        Route("/help/{name:path}", view.manual),
        Route("/captures/{number:int}/text", view.capture_text),
        Route("/captures/{number:int}/download", view.capture_download),
        Route("/picture", view.picture),
        Route("/changes.atom", view.atom),
        Route("/changes.feed", view.json_feed),
        Route("/healthz", view.health),
        Route("/metrics", view.metrics),
        Route("/opensearch.xml", view.opensearch),
        Route("/style.css", view.style),
        Route("/icon.svg", view.icon),
        Route("/live.js", view.script),
        Route("/sessions/{number:int}/events", view.events),
        Route("/{path:path}", view.other),  # last: what a collection answers by its own standard
    ]
    handlers = {WindrowError: view.refused, HTTPException: view.unknown, Exception: view.fault}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), {*LOOPBACK_NAMES, *hosts}, token, header)


def _wants_json(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    is_for_programs = request.url.path.endswith((".json", ".atom", ".feed", "/healthz", "/metrics"))
    return is_for_programs or ("application/json" in accepted and "text/html" not in accepted)


def _respond(request: Request, body: bytes, media_type: str, *, tag: str = "", **fields: str) -> Response:
    """Return a response, or 304 if the client has this body already; pack it if the client can unpack it.

    `tag` is the entity tag, by default the digest of the body.
    """
    tag = tag or f'W/"{digest(body)}"'
    headers = {"etag": tag, "vary": "accept, accept-encoding", **{n.replace("_", "-"): v for n, v in fields.items()}}
    if _has(request, tag):
        return Response(status_code=304, headers=headers)
    if len(body) >= _LEAST_PACKED and _accepts_gzip(request.headers.get("accept-encoding", "")):
        body, headers["content-encoding"] = gzip.compress(body, 5, mtime=0), "gzip"
    return Response(body, 200, headers, media_type)


def _accepts_gzip(codings: str) -> bool:
    """Return whether a client that sent Accept-Encoding can unpack gzip (RFC 9110, section 12.5.3).

    >>> [_accepts_gzip(codings) for codings in ("gzip, br", "br, gzip;q=0", "notgzip", "*")]
    [True, False, False, False]
    """
    weights = {
        coding.strip().lower(): weight for coding, _, weight in (each.partition(";") for each in codings.split(","))
    }
    return "gzip" in weights and not re.fullmatch(r"\s*q=0(\.0*)?\s*", weights["gzip"])


def _has(request: Request, tag: str) -> bool:
    """Return whether the client has the response with an entity tag."""
    return tag in [each.strip() for each in request.headers.get("if-none-match", "").split(",")]


def _json_value(value: Any) -> Any:
    """Return the JSON of a page's value; the explanations in a story are lists of messages, as `--json` prints them."""
    members = to_json_value(value._replace(explained=()) if isinstance(value, StoryAnswer) else value)
    if isinstance(value, StoryAnswer):
        members["explained"] = [
            [json_message(*message[:2], omit_empty=message.omit_empty) for message in explanation.messages]
            for explanation in value.explained
        ]
    return members


def _json_bytes(value: Any) -> bytes:
    return replace_lone_surrogates(dump_json(value)).encode()


_OCTETS = "application/octet-stream"


class _View:
    """Answers requests about one workspace."""

    def __init__(self, workspace: Windrow, is_stopping: Callable[[], bool], *, behind_tls: bool) -> None:
        self._workspace = workspace
        self._behind_tls = behind_tls
        self._workers = Workers()
        self._health_workers = Workers()  # of its own: a service that does not answer may hold the others
        self._begun = now().isoformat()  # the configuration, the style and windrow itself are those of this time
        self._live = LiveSessions(workspace, self._workers, is_stopping)

    def endpoint(self, page: PageRoute, *, as_json: bool) -> Callable[[Request], Any]:
        """Return the function that answers requests for a page."""
        known = [parameter.name for parameter in page.parameters]

        async def answer(request: Request) -> Response:
            refuse_unknown_parameters(request.query_params.multi_items(), known)
            query = PageQuery(request.query_params, now())
            return await self._show(
                request, page.path, page.template, lambda: page.make(self._workspace, query), as_json=as_json,
                fresh=page.fresh,
            )  # fmt: skip

        return answer

    def _make_tag(self, request: Request, fresh: Fresh) -> str:
        """Return an entity tag that stays the same as long as the answer does, or "" if only the answer can tell.

        It is made before the answer, from the last fact of the ledger: while no session is under way, nothing that
        windrow stores changes without a fact. So a client that has the answer gets 304, and no page is made. Another
        web view, perhaps with another configuration, makes other tags.
        """
        if fresh is Fresh.BODY:
            return ""
        fact = steady_fact(self._workspace)
        minute = f"{now():%Y-%m-%dT%H:%M}" if fresh is Fresh.MINUTE else ""
        asked = (request.url.path, request.url.query, str(_wants_json(request)), self._begun, str(fact), minute)
        return f'W/"{digest(chr(10).join(asked).encode())}"' if fact else ""

    def numbered(self, page: NumberedRoute, *, as_json: bool) -> Callable[[Request], Any]:
        """Return the function that answers requests for a page about what has a number."""

        async def answer(request: Request) -> Response:
            number = _number(request)
            return await self._show(
                request, page.path, page.template, lambda: page.make(self._workspace, number), as_json=as_json,
                fresh=Fresh.FACTS,
            )  # fmt: skip

        return answer

    async def _show(
        self, request: Request, path: str, template: str, make: Callable[[], Any], *, as_json: bool,
        fresh: Fresh = Fresh.BODY,
    ) -> Response:  # fmt: skip
        """Return a page of the value that `make` returns, or 304. A worker makes all of it: any part can take long."""

        def answer() -> Response:
            tag = self._make_tag(request, fresh)
            if tag and _has(request, tag):
                return _respond(request, b"", "text/plain", tag=tag)
            value = make()
            return self._make_response(
                request, path, template, value, as_json=as_json, tag=tag if pages.lasts(value) else ""
            )

        return await self._workers.run(answer)

    def _make_response(
        self, request: Request, path: str, template: str, value: Any, *, as_json: bool, tag: str
    ) -> Response:
        if as_json or _wants_json(request):
            return _respond(request, _json_bytes(_json_value(value)), "application/json", tag=tag)
        asked = dict(request.query_params)
        twin = "/index" if path == "/" else request.url.path.removeprefix(request.scope.get("root_path", ""))
        html = self._render(
            request, template, value=value, asked=asked, current=path, json=link(f"{twin}.json", **asked),
            collections=names(), sources=[source.name for source in self._workspace.config.sources],
            exit_codes=EXIT_CODES, most=WEB_RESULTS.number, cards=WEB_CARDS.number,
            **_extras(self._workspace, value, request.scope.get("root_path", "")),
        )  # fmt: skip
        policy = {"content_security_policy": LIVE_POLICY} if getattr(value, "progress", None) else {}
        return _respond(request, html, "text/html", tag=tag, **policy)

    def _render(self, request: Request, template: str, **values: Any) -> bytes:
        root = request.scope.get("root_path", "")
        text = render(template, workspace=self._workspace.config.name, root=root, **values)
        return replace_lone_surrogates(text).encode()

    async def manual(self, request: Request) -> Response:
        """Return a page of the manual."""
        name = request.path_params["name"].removesuffix(".json")
        return await self._show(request, "/help", "manual.html", lambda: open_manual(name), as_json=False)

    async def capture_text(self, request: Request) -> Response:
        """Return the start of a capture as plain text, in a page that can do nothing."""

        def answer() -> Response:
            text = pages.shown_text(self._workspace, _number(request))
            return _respond(request, text.encode(), "text/plain", content_security_policy=CAPTURE_POLICY)

        return await self._workers.run(answer)

    async def capture_download(self, request: Request) -> Response:
        """Return a capture as a file to store, piece by piece, however large it is."""
        number = _number(request)
        kept = await self._workers.run(lambda: pages.open_download(self._workspace, number))
        headers = {
            "etag": f'"capture-{number}"', "content-security-policy": CAPTURE_POLICY,
            "content-length": str(kept.size), "content-disposition": f'attachment; filename="{kept.name}"',
        }  # fmt: skip
        is_known = _has(request, headers["etag"])
        if is_known or request.method == "HEAD":
            kept.pieces.close()
            return Response(None, 304 if is_known else 200, headers, _OCTETS)
        return StreamingResponse(kept.pieces, 200, headers, _OCTETS)

    async def _feed(self, request: Request) -> tuple[pages.ChangesPage, dict[str, str]]:
        """Return a page of changes, and the addresses of this feed, of its next page and of the HTML page."""
        known = [parameter.name for parameter in CHANGES_PARAMETERS]
        refuse_unknown_parameters(request.query_params.multi_items(), known)
        query, asked = PageQuery(request.query_params, now()), dict(request.query_params)
        value = await self._workers.run(lambda: pages.feed(self._workspace, query))
        if value.unreadable:  # a reader that asks again later gets all entries
            raise StoreError(value.unreadable[0], hint="windrow check")
        path, since = request.url.path, value.since.isoformat() if value.since else ""
        path = path.removeprefix(request.scope.get("root_path", ""))
        links = {"self": link(path, **asked), "alternate": link("/changes", **asked)}
        if value.next:  # of the same time, so that the next page begins where this one ends
            links["next"] = link(path, **dict(asked, since=since, cursor=value.next))
        base = self._root_address(request)
        return value, {relation: f"{base}{address}" for relation, address in links.items()}

    def _root_address(self, request: Request) -> str:
        """Return the address at which users reach the web view, without a slash at its end."""
        scheme = "https" if self._behind_tls else request.url.scheme
        return f"{scheme}://{request.url.netloc}{request.scope.get('root_path', '')}"

    async def atom(self, request: Request) -> Response:
        """Return the changes of a page as an Atom feed."""
        value, links = await self._feed(request)
        # Without changes, the feed's time is the beginning of the day, so that it does not differ at each request.
        day = now().replace(hour=0, minute=0, second=0, microsecond=0)
        selection = urlencode(sorted((name, text) for name, text in request.query_params.items() if name != "cursor"))
        identity = await self._workers.run(lambda: pages.read_identity(self._workspace))
        text = format_atom(
            value.changes, self._workspace.config.name, day, identity=identity, query=selection, links=links
        )
        return _respond(request, replace_lone_surrogates(text).encode(), "application/atom+xml")

    async def json_feed(self, request: Request) -> Response:
        """Return the changes of a page as a JSON Feed, version 1.1."""
        value, links = await self._feed(request)
        items = [
            {
                "id": identify(change),
                "title": f"{change.kind}: {change.title or change.key}",
                "content_text": change.difference or change.source,
                "date_published": change.at.astimezone(UTC).isoformat(),
                "tags": [change.kind, change.collection, change.source],
                **({"url": address} if (address := find_address(change)) else {}),
            }
            for change in value.changes
        ]
        title = f"{self._workspace.config.name}: what changed"
        feed = {
            "version": "https://jsonfeed.org/version/1.1", "title": title, "home_page_url": links["alternate"],
            "feed_url": links["self"], **({"next_url": links["next"]} if "next" in links else {}), "items": items,
        }  # fmt: skip
        return _respond(request, _json_bytes(feed), "application/feed+json")

    async def health(self, request: Request) -> Response:
        """Return whether the workspace can be read."""
        query = PageQuery({}, now())
        value = await self._health_workers.run(lambda: watching.health(self._workspace, query))
        response = _respond(request, _json_bytes(to_json_value(value)), "application/json")
        response.status_code = response.status_code if value.ready else 503
        return response

    async def metrics(self, request: Request) -> Response:
        """Return counts for Prometheus."""
        query = PageQuery({}, now())
        text = await self._workers.run(lambda: watching.metrics(self._workspace, query))
        return _respond(request, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def opensearch(self, request: Request) -> Response:
        """Return the description by which a browser can search from its address bar."""
        name = xml_text(self._workspace.config.name[:16])
        base = xml_text(self._root_address(request))
        text = (
            '<?xml version="1.0" encoding="utf-8"?>\n<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
            f"<ShortName>{name}</ShortName><Description>Search {name}</Description><InputEncoding>UTF-8</InputEncoding>"
            f'<Url type="text/html" template="{base}/search?q={{searchTerms}}"/></OpenSearchDescription>\n'
        )
        return _respond(request, text.encode(), "application/opensearchdescription+xml")

    async def picture(self, request: Request) -> Response:
        """Return a picture of a collection, or one that a capture is."""
        query = PageQuery(request.query_params, now())

        def answer() -> Response:
            picture = homes.picture(self._workspace, query)
            return _respond(request, picture.content, picture.media, content_security_policy=CAPTURE_POLICY)

        return await self._workers.run(answer)

    async def other(self, request: Request) -> Response:
        """Return what a collection answers at an address that its standard names."""
        # As it was sent: decoded, a name with a slash would be two.
        sent = (request.scope.get("raw_path") or quote(request.scope["path"]).encode()).decode("latin-1")
        path, query = sent.removeprefix(quote(request.scope.get("root_path", ""))), request.scope["query_string"]

        def answer() -> Response | None:
            adapter = homes.find_answering(self._workspace, path)
            if adapter is None:
                return None
            reply = adapter.answer_request(self._workspace.config, path, query, self._root_address(request))
            if reply.status != 200:
                return Response(reply.content, reply.status, media_type=reply.media)
            fields = {**dict(reply.fields), "content_security_policy": CAPTURE_POLICY}
            return _respond(request, reply.content, reply.media, **fields)

        response = await self._workers.run(answer)
        if response is None:
            raise HTTPException(404)
        return response

    async def style(self, request: Request) -> Response:
        """Return the style sheet; its address changes with it."""
        return _respond(request, style(), "text/css", cache_control="public, max-age=31536000, immutable")

    async def icon(self, request: Request) -> Response:
        """Return the picture that browsers show beside the title."""
        return _respond(request, icon(), "image/svg+xml", content_security_policy=CAPTURE_POLICY)

    async def script(self, request: Request) -> Response:
        """Return the script of live pages; its address changes with it."""
        return _respond(request, script(), "text/javascript", cache_control="public, max-age=31536000, immutable")

    async def events(self, request: Request) -> Response:
        """Return the progress of a session as server-sent events, until it has ended."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # proxies must not keep events back
        if request.method == "HEAD":
            return Response(headers=headers, media_type="text/event-stream")
        stream = await self._live.open(_number(request))
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    async def refused(self, request: Request, error: Exception) -> Response:
        """Return the page of an error of windrow."""
        assert isinstance(error, WindrowError)
        if isinstance(error, UsageError):
            code = 400
        elif isinstance(error, LedgerError | StoreError | ArchiveError) or error.reason == Reason.TIME_LIMIT:
            code = 503
        else:
            code = 404
        meaning = error.reason.meaning if error.reason and code == 503 else ""
        return self._error(request, code, str(error), hint=error.hint or "", reason=error.reason or "", meaning=meaning)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Return the page of an address that the web view does not have."""
        assert isinstance(error, HTTPException)
        return self._error(request, error.status_code, "The web view has no page at this address.")

    async def fault(self, request: Request, _error: Exception) -> Response:
        """Return the page of an error in windrow itself, whose trace is in the server's log."""
        return self._error(request, 500, "windrow failed to make this page; its log says where.")

    def _error(
        self, request: Request, code: int, message: str, *, hint: str = "", reason: str = "", meaning: str = ""
    ) -> Response:
        if _wants_json(request):
            value = json_message("error", WebError(message, hint, reason))
            return Response(_json_bytes(value), code, media_type="application/json")
        values = {"title": _TITLES.get(code, "Not possible"), "message": message, "hint": hint}
        values |= {"reason": reason, "meaning": meaning, "current": "", "json": ""}
        return Response(self._render(request, "error.html", **values), code, media_type="text/html")


def _number(request: Request) -> int:
    number: int = request.path_params["number"]
    if number >= 10**18:
        raise WindrowError(f"nothing has the number {number}", reason=Reason.NOT_FOUND)
    return number


def _extras(workspace: Windrow, value: Any, root: str) -> dict[str, Any]:
    """Return what a template needs besides its value; `root` is the path at which the web view is mounted."""
    if isinstance(value, ManualPage):
        return {"manual": render_manual(value, root)}
    if isinstance(value, SessionDetails):
        rows = [
            (source.source, "-" if source.offered is None else source.offered, *source[2:9])
            for source in value.summary.sources
        ]
        return {"sources_of_session": rows}
    if not isinstance(value, StoryAnswer):
        return {}
    story = value.story
    name = shlex.quote(story.key if story else value.asked)
    commands = [(f"windrow why {name}", "the same in a terminal")]
    if story and story.status == "failed":
        option = "--source " if story.kind == "source" else ""
        commands.append((f"windrow retry {option}{name}", "the next run tries again what failed"))
    if value.explained:
        commands.append((f"windrow forget {name}", "removes all that was kept of it, for ever"))
    meaning = Reason(story.reason).meaning if story and story.reason else ""
    return {"commands": commands, "meaning": meaning, "shown_at": homes.find_homes(workspace, value)}
