"""A small web of sites for crawls, written by hand: each part declares which of its pages may be requested.

The expectation is declared where a page is made, and not derived by windrow's own rules.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks.daemon import free_port, listens

from tests.servers.daemon import find, home, running
from tests.servers.odd import STRANGE, Odd, odd

HOSTS = {
    "tree": "127.0.0.2", "rules": "127.0.0.3", "traps": "127.0.0.4", "words": "127.0.0.5", "broken": "127.0.0.6",
    "shut": "127.0.0.7", "moved": "127.0.0.8", "odd": "127.0.0.9", "huge": "127.0.0.10", "bom": "127.0.0.11",
    "circle": "127.0.0.12", "busy": "127.0.0.13", "down": "127.0.0.14", "quiet": "127.0.0.15", "maps": "127.0.0.16",
    "private": "127.0.0.66",
}  # fmt: skip

CONFIG = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
{user}
events {{ worker_connections 512; }}
http {{
  log_format told '$msec $request_time $server_addr $status $http_if_none_match $http_accept_encoding|$request_uri';
  access_log {folder}/access.log told; types {{ text/html html; text/xml xml; application/gzip gz; text/plain txt; }}
  default_type text/html; gzip on; gzip_min_length 200; gzip_types text/plain; keepalive_timeout 60;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5; absolute_redirect off;
  {servers}
}}
"""
SERVER = "server {{ listen {address}:{port}; root {root}/{name}; {more} }}"
PROXIED = "location /{path}/ {{ proxy_pass http://127.0.0.9:{odd}; proxy_buffering off; }}"
MORE = {
    "broken": "location = /robots.txt { return 500; }",
    "shut": "location = /robots.txt { return 403; }",
    "circle": "location = /robots.txt { return 302 /r1; } location = /r1 { return 302 /robots.txt; }",
    "quiet": "location /header/ { add_header X-Robots-Tag 'nofollow'; }"
    " location /other/ { add_header X-Robots-Tag 'another-crawler: nofollow'; }",
    "words": "location /gb/ { charset gb2312; }",
    "traps": "location = /bomb/gzip.html { gzip off; add_header Content-Encoding gzip; }"
    " location = /bomb/nested.html { gzip off; add_header Content-Encoding 'gzip, gzip'; }"
    " location = /long.html { gzip off; } location = /large.html { gzip off; }"
    ' location ~ "^/r/chain(x{0,11})$" { return 302 /r/chain$1x; } location = /r/self { return 301 /r/self; }'
    " location = /r/one { return 301 /r/two; } location = /r/two { return 301 /r/one; }",
}


class Line(NamedTuple):
    """A request in nginx's log; times are in seconds, to the millisecond."""

    begun: float
    ended: float
    host: str
    status: int
    validator: str
    coding: str
    path: str


LETTERS = str.maketrans("0123456789", "abcdefghij")


@dataclass
class Sites:
    """The web sites: port, folder, log, and the paths that may be requested."""

    port: int
    root: Path
    log: Path
    odd: Odd
    wanted: set[tuple[str, str]] = field(default_factory=set)
    seeds: list[str] = field(default_factory=list)
    pages: int = 0

    def origin(self, name: str) -> str:
        """Return the origin of a host."""
        return f"http://{HOSTS[name]}:{self.odd.port if name == 'odd' else self.port}"

    def want(self, name: str, *paths: str) -> None:
        """Expect requests for these paths."""
        self.wanted.update((HOSTS[name], path) for path in paths)

    def put(self, name: str, path: str, content: str | bytes) -> None:
        """Put a file below a host."""
        file = self.root / name / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(file, (1_700_000_000, 1_700_000_000))
        self.pages += 1

    def page(self, name: str, path: str, links: Iterable[str] = (), *, wanted: bool, head: str = "") -> None:
        """Put a page with links below a host."""
        anchors = "".join(f'<li><a href="{link}">a link</a>' for link in links)
        letters = path.translate(LETTERS)  # pages that differ by numbers alone would be a row without end
        body = f"{head}<p>The page {path} of {name}, which tells of {letters}.<ul>{anchors}</ul>"
        self.put(name, path, f"<!doctype html><title>{path}</title>{body}")
        if wanted:
            self.want(name, path)

    def seed(self, name: str, path: str = "/index.html") -> None:
        """Add a seed, and expect a request for it."""
        self.seeds.append(self.origin(name) + path)
        self.want(name, path, "/robots.txt")

    def lines(self) -> list[Line]:
        """Return all requests to nginx, in the order of its log."""
        requests = []
        for line in self.log.read_text().splitlines():
            referrer, _, path = line.partition("|")
            ended, took, host, status, validator, coding = referrer.split(" ", 5)
            at = float(ended)
            requests.append(Line(at - float(took), at, host, int(status), validator, coding, path))
        return requests


def lay(sites: Sites) -> None:
    """Create all hosts."""
    for part in (_tree, _rules, _traps, _words, _robots, _busy, _quiet, _maps, _odd):
        part(sites)


def _tree(sites: Sites) -> None:
    """Make 1,500 pages that link to each other, to files that are not pages, and to other sites."""
    count = 1500
    sites.seed("tree", "/p/0.html")
    astray = ["mailto:a@b.example", "javascript:void(0)", "#top", "picture.png", "http://elsewhere.example/", "ftp://a/b",
              f"http://user:secret@{HOSTS['tree']}:{sites.port}/p/1.html", "//elsewhere.example/x"]  # fmt: skip
    for page in range(count):
        links = [f"{(page * 2 + step) % count}.html" for step in (1, 2)] + [f"/p/{page * 7 % count}.html?utm_source=x"]
        links += [
            f"{sites.origin('tree')}/p/{page * 11 % count}.html#part",
            *astray,
            f"../p/./{page}.html",
            "/p/missing.html",
        ]
        sites.page("tree", f"/p/{page}.html", links, wanted=True)
    sites.want("tree", "/p/missing.html")


def _rules(sites: Sites) -> None:
    """Make a host with rules of every kind, and a crawl-delay."""
    sites.seed("rules")
    rules = ["User-agent: another-crawler", "Disallow: /", "", "User-Agent: SITES-crawler # us", "Crawl-delay: 0.05",
             "Disallow: /no/", "Allow: /no/yes/", "Disallow: /*.php$", "Disallow: /half*/private", "Allow: /",
             "Disallow: /caf%C3%A9", "Disallow:/tight", "", "User-agent: *", "Disallow: /"]  # fmt: skip
    sites.put("rules", "/robots.txt", "\r\n".join(rules))
    may = ["/no/yes/a.html", "/a.php.html", "/half/public/a.html", "/cafe/a.html", "/No/a.html", "/a.phpx/b.html"]
    may += [f"/many/{page}.html" for page in range(40)]
    may_not = ["/no/a.html", "/no/b/c.html", "/a.php", "/x/y.php", "/half/private/a.html", "/halfway/x/private.html",
               "/caf\u00e9/a.html", "/tight/a.html"]  # fmt: skip
    for path in may:
        sites.page("rules", path, may_not, wanted=True)
    for path in may_not:
        sites.page("rules", path, wanted=False)
    sites.page("rules", "/index.html", [*may, *may_not], wanted=True)


def _traps(sites: Sites) -> None:
    """Make endless pages, and bodies that inflate to many times their size."""
    sites.seed("traps")
    year = datetime.now(UTC).year
    links = [f"/cal/{year}/01/", "/session/", "/rep/index.html", "/r/chain", "/r/self", "/r/one", "/bomb/gzip.html",
             "/bomb/nested.html", "/long.html", "/large.html", "/q.html?page=2", "/q.html?sort=up", "/q.html?page=2&sort=up",
             "/deep/" + "/".join(str(step) for step in range(20)), f"{sites.origin('private')}/index.html",
             "/r/away", "/r/in", "/gone/", "/" + "x" * 3000]  # fmt: skip
    sites.page("traps", "/index.html", links, wanted=True)
    sites.want("traps", *(f"/cal/{year_}/{month:02}/" for year_ in (year, year + 1) for month in range(1, 13)))
    sites.want("traps", "/session/", *(f"/session/{page}" for page in "abcd"))
    for depth in (1, 2, 3, 4, 5):  # each page links to one more below itself
        sites.page("traps", "/rep" * depth + "/index.html", ["rep/index.html"], wanted=depth < 4)
    sites.want("traps", "/r/self", "/r/one", "/r/two", "/r/away", "/r/in", "/gone/")
    sites.want("traps", *("/r/chain" + "x" * step for step in range(13)))
    sites.page("traps", "/q.html", wanted=False)
    sites.want("traps", "/q.html?page=2")
    for name, packed in (
        ("gzip", gzip.compress(bytes(200 << 20), 1)),
        ("nested", gzip.compress(gzip.compress(bytes(40 << 20)))),
    ):
        sites.put("traps", f"/bomb/{name}.html", packed)
        sites.want("traps", f"/bomb/{name}.html")
    sites.put("traps", "/long.html", b"<p>" + b"word " * (10 << 18) + b"<a href='/after/long.html'>on</a>")
    sites.page("traps", "/after/long.html", wanted=True)
    sites.want("traps", "/long.html", "/large.html")
    sites.put("traps", "/large.html", b"<a href='/after/large.html'>on</a>" + b"word " * (18 << 18))
    sites.page("traps", "/after/large.html", wanted=False)


def _words(sites: Sites) -> None:
    """Make pages in wrong encodings and broken HTML whose links a browser would still find."""
    sites.seed("words")
    pages = []
    texts = {
        "cp1251": "<meta charset=windows-1251><p>\u0427\u0430\u0439 <a href='{}'>\u0447\u0430\u0439</a>",
        "utf-16": "<p>tea <a href='{}'>\u8336</a>",
        "shift_jis": "<meta http-equiv=content-type content='text/html; charset=shift_jis'><p>\u304a\u8336<a href={}>\u8336",
        "latin-1": "<meta charset=utf-8><p>th\u00e9 th\u00e9 th\u00e9 <A HREF = '{}' >th\u00e9</A>",
        "gb2312": '<p>\u8336 <a href="{}">\u8336</a>',
    }
    for number, (encoding, text) in enumerate(texts.items()):
        folder = "/gb/" if encoding == "gb2312" else "/w/"
        pages.append(f"{folder}{number}.html")
        sites.put("words", pages[-1], text.format(f"/t/{number}.html").encode(encoding))
        sites.page("words", f"/t/{number}.html", wanted=True)
    broken = [
        "<a href=/b/{0}.html><a href='/b/{0}.html'><table><a href=\"/b/{0}.html\"><tr><td>",
        "<div " * 50 + "><a href='/b/{0}.html'>x",
        "<b><i></b></i><p><a\nhref\n=\n'\t/b/\n{0}.html '>x",
        "<!-- <a href='/b/no.html'> --><a href='/b/{0}&period;html'>x<!-- not closed <a href='/b/no.html'>",
        "<script>document.write(\"<a href='/b/no.html'>\")</script><a href='/b/{0}.html'>x<script>",
        "<base href='/b/sub/'><a href='../{0}.html'>x",
        "\0<a href='/b/{0}.html'>nul</a>\0",
        "<textarea><a href='/b/no.html'></textarea><a href=\"/b/{0}.html\" href='/b/no.html'>x",
        "<div>" * 5000 + "<a href='/b/{0}.html'>deep",
        "<iframe src='/b/{0}.html'></iframe><area href='/b/{0}.html'>",
        "<template><a href='/b/{0}.html'>in a template</a></template><a href='/b/{0}.html'>x</a>",
        "<meta http-equiv=refresh content='0; url=/b/{0}.html'>",
    ]
    for number, text in enumerate(broken):
        pages.append(f"/h/{number}.html")
        sites.put("words", pages[-1], text.replace("{0}", str(number)))
        sites.page("words", f"/b/{number}.html", wanted=True)
    sites.page("words", "/b/no.html", wanted=False)
    sites.want("words", *pages)
    sites.page("words", "/index.html", pages, wanted=True)


def _robots(sites: Sites) -> None:
    """Make robots.txt that are missing, forbidden, broken, moved, endless, huge, or begin with a mark."""
    sites.page("broken", "/index.html", wanted=False)
    sites.seeds.append(f"{sites.origin('broken')}/index.html")
    sites.want("broken", "/robots.txt")
    sites.seed("shut")
    sites.page("shut", "/index.html", ["/a.html"], wanted=True)
    sites.page("shut", "/a.html", wanted=True)
    sites.seed("moved")
    sites.put("tree", "/rules-of-another.txt", "User-agent: *\nDisallow: /no")
    sites.want("tree", "/rules-of-another.txt")
    sites.seed("huge")
    rules = "User-agent: *\nDisallow: /no\n" + "# a comment\n" * 50_000 + "Disallow: /behind\n" + "# more\n" * 200_000
    sites.put("huge", "/robots.txt", rules)
    sites.seed("bom")
    sites.put("bom", "/robots.txt", b"\xef\xbb\xbfuser-agent:*\ndisallow:/no")
    sites.seed("circle")
    sites.want("circle", "/r1")
    for name in ("moved", "huge", "bom", "circle"):
        links = ["/yes.html", "/no.html", "/behind.html"]
        sites.page(name, "/index.html", links, wanted=True)
        sites.page(name, "/yes.html", wanted=True)
        sites.page(name, "/behind.html", wanted=True)  # past the 500 KiB that are read, where it is forbidden
        sites.page(name, "/no.html", wanted=name == "circle")
    sites.page("private", "/index.html", wanted=False)
    mapped = f"http://[::ffff:{HOSTS['private']}]:{sites.port}/index.html"
    sites.seeds += [f"{sites.origin('private')}/index.html", mapped]


def _busy(sites: Sites) -> None:
    """Make a host that asks to wait, and one that answers with errors."""
    sites.seed("busy", "/busy/")
    sites.want("busy", *(f"/busy/{page}" for page in range(3)))
    sites.want("down", "/robots.txt", *(f"/down/{page}" for page in range(3)))
    sites.seeds += [f"{sites.origin('down')}/down/{page}" for page in range(3)]
    sites.seeds += [f"{sites.origin('down')}/down/later/{page}" for page in range(3)]


def _quiet(sites: Sites) -> None:
    """Make pages that ask not to be followed, on a host whose rules are empty."""
    sites.seed("quiet")
    sites.put("quiet", "/robots.txt", "")
    here = ["/header/a.html", "/other/a.html", "/meta.html", "/ours.html", "/rel.html", "/follow.html"]
    sites.page("quiet", "/index.html", here, wanted=True)
    sites.page("quiet", "/header/a.html", ["/n/header.html"], wanted=True)
    sites.page("quiet", "/other/a.html", ["/y/other.html"], wanted=True)
    sites.page(
        "quiet", "/meta.html", ["/n/meta.html"], wanted=True, head='<meta name=ROBOTS content="noindex, NoFollow">'
    )
    sites.page("quiet", "/ours.html", ["/n/ours.html"], wanted=True, head='<meta name=sites-crawler content="none">')
    sites.put(
        "quiet", "/rel.html", '<a rel="external nofollow" href="/n/rel.html">x</a><a rel=me href="/y/rel.html">y</a>'
    )
    sites.page("quiet", "/follow.html", ["/y/follow.html"], wanted=True, head='<meta name=robots content="noindex">')
    sites.want("quiet", "/rel.html")
    for name in ("header", "meta", "ours", "rel"):
        sites.page("quiet", f"/n/{name}.html", wanted=False)
    for name in ("other", "rel", "follow"):
        sites.page("quiet", f"/y/{name}.html", wanted=True)


def _maps(sites: Sites) -> None:
    """Make pages that only sitemaps and feeds name."""
    sites.seed("maps")
    here, now = sites.origin("maps"), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sites.put("maps", "/robots.txt", f"User-agent: *\nDisallow: /no\nSitemap: {here}/maps/index.xml\nSitemap: {here}/map.txt\n"
              "Sitemap: http://elsewhere.example/map.xml\nSitemap: {here}/no/map.xml")  # fmt: skip
    sites.page(
        "maps", "/index.html", wanted=True, head='<link rel=alternate type="application/rss+xml" href="/feed.xml">'
    )

    def index(*names: str) -> str:
        inner = "".join(f"<sitemap><loc>{here}{name}</loc></sitemap>" for name in names)
        return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</sitemapindex>'

    def listed(*names: str) -> str:
        inner = "".join(f"<url><loc>{here}{name}</loc><lastmod>{now}</lastmod></url>" for name in names)
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</urlset>'

    sites.put("maps", "/maps/index.xml", index("/maps/second.xml", "/maps/a.xml.gz", "/maps/missing.xml"))
    sites.put("maps", "/maps/second.xml", index("/maps/third.xml"))
    sites.put("maps", "/maps/third.xml", index("/maps/fourth.xml"))
    sites.put("maps", "/maps/fourth.xml", listed("/n/fourth.html"))
    names = [f"/m/{page}.html" for page in range(400)]
    sites.put(
        "maps", "/maps/a.xml.gz", gzip.compress(listed(*names, "/no/a.html", "/picture.png", "/m/1.html?x=1").encode())
    )
    sites.put("maps", "/map.txt", f"{here}/t/1.html\nhttp://elsewhere.example/\n{here}/t/2.html\n")
    sites.put(
        "maps", "/feed.xml", f"<rss version='2.0'><channel><item><link>{here}/f/1.html</link></item></channel></rss>"
    )
    sites.want("maps", "/maps/index.xml", "/maps/second.xml", "/maps/third.xml", "/maps/a.xml.gz", "/maps/missing.xml")
    sites.want("maps", "/map.txt", "/feed.xml")
    for name in (*names, "/t/1.html", "/t/2.html", "/f/1.html"):
        sites.page("maps", name, wanted=True)
    for name in ("/n/fourth.html", "/no/a.html"):
        sites.page("maps", name, wanted=False)


def _odd(sites: Sites) -> None:
    """Add the seeds of the server that misbehaves."""
    sites.seed("odd", "/odd/")
    sites.want("odd", *(f"/{kind}/x" for kind in STRANGE), "/sound/1")


@pytest.fixture(scope="session")
def sites() -> Iterator[Sites]:
    """Run the sites."""
    program, port = find("nginx"), free_port()
    owner = "user www-data;" if os.getuid() == 0 else ""
    with odd("127.0.0.9") as strange, home("root") as folder:
        websites = Sites(port, folder / "root", folder / "access.log", strange)
        lay(websites)
        more = dict(MORE)
        more["moved"] = f"location = /robots.txt {{ return 301 {websites.origin('tree')}/rules-of-another.txt; }}"
        more["traps"] += f" location = /r/away {{ return 302 {websites.origin('private')}/index.html; }}"
        more["traps"] += f" location = /r/in {{ return 302 {websites.origin('tree')}/p/0.html; }}"
        proxied = {"traps": ("cal", "session"), "busy": ("busy",), "down": ("down",)}
        for name, paths in proxied.items():
            more[name] = more.get(name, "") + " ".join(PROXIED.format(path=path, odd=strange.port) for path in paths)
        servers = "\n".join(
            SERVER.format(address=address, port=port, root=websites.root, name=name, more=more.get(name, ""))
            for name, address in HOSTS.items()
            if name != "odd"
        )
        (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, user=owner, servers=servers))
        command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        with running(command, folder / "log", lambda: listens(port, "127.0.0.2")):
            websites.log.write_text("")
            yield websites
