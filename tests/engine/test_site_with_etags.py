"""A site with ETags over several runs: what is requested with validators, and what is found in pages that stay."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.engine.site_crawl import CRAWL_ONLY, change_ledger, crawl_sites, query_ledger, source
from windrow.engine.frontier import frontier_of
from windrow.ledger import Ledger


class Site(ThreadingHTTPServer):
    """A site whose pages have an ETag: `robots` is its robots.txt, `pages` the other bodies by path."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.2", 0), _Handler)
        self.robots = b""
        self.pages = {
            "/": b"<a href=/news/1>n</a><a href=/minutes/1>m</a><a href=/list?from=3>p</a>",
            "/news/1": b"<a href=/minutes/2>m</a>",
        }
        self.corrupt: set[str] = set()  # paths whose bodies are not what their header says
        self.requested: list[tuple[str, int]] = []  # paths and statuses

    @property
    def seed(self) -> str:
        return f"http://127.0.0.2:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer 304 to every conditional request."""
        is_robots = self.path == "/robots.txt"
        body = self.server.robots if is_robots else self.server.pages.get(self.path, b"<p>a page")
        if self.path in self.server.corrupt:
            body = gzip.compress(body)[:10] + b"\xff" * 20  # no block begins so
        status = 304 if self.headers["If-None-Match"] else 200
        if not is_robots:
            self.server.requested.append((self.path, status))
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if is_robots else "text/html")
        self.send_header("ETag", '"1"')
        if self.path in self.server.corrupt:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", "0" if status == 304 else str(len(body)))
        self.end_headers()
        if status == 200:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def left_out(root):
    """Return what `windrow status` says that rules left out."""
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return frontier_of(ledger, CRAWL_ONLY).left_out("site", ())


def crawl_again(root, site, **options):
    """Make all addresses due, crawl the site, and return what it was asked."""
    change_ledger(root, "UPDATE address SET due = 1 WHERE due > 0")
    site.requested.clear()
    crawl_sites(root, source([site.seed], **options))
    return sorted(site.requested)


def test_links_left_out_by_a_setting_are_requested_once_it_is_changed(site, tmp_path):
    crawl_sites(tmp_path, source([site.seed], do_not_crawl=("/minutes/",)))
    assert sorted(site.requested) == [("/", 200), ("/news/1", 200)]
    assert {count.reason for count in left_out(tmp_path)} == {"policy_denied", "query_denied"}
    known = [("/", 304), ("/news/1", 304)]
    assert crawl_again(tmp_path, site, do_not_crawl=("/minutes/",)) == known
    assert len(left_out(tmp_path)) == 2
    new = [("/list?from=3", 200), ("/minutes/1", 200), ("/minutes/2", 200)]
    assert crawl_again(tmp_path, site, url_query_parameters=("from",)) == sorted([*known, *new])
    assert left_out(tmp_path) == [], "nothing, by the rules of now"
    change_ledger(tmp_path, "DELETE FROM address WHERE url LIKE '%/minutes/_'")
    assert ("/minutes/1", 200) not in crawl_again(tmp_path, site, url_query_parameters=("from",)), "they are read once"


def test_links_that_robots_txt_forbade_are_requested_once_it_allows_them(site, tmp_path):
    site.robots = b"User-agent: *\nDisallow: /minutes/"
    crawl_sites(tmp_path, source([site.seed]))
    site.robots = b""
    site.requested.clear()
    change_ledger(tmp_path, "UPDATE address SET due = 1 WHERE url NOT LIKE '%/news/1'")
    crawl_sites(tmp_path, source([site.seed]))
    assert sorted(site.requested) == [("/", 304), ("/minutes/1", 200)], "the other page is not due"
    assert ("/minutes/2", 200) in crawl_again(tmp_path, site), "its links are read when it is due"


def test_pages_that_a_setting_refused_are_requested_once_it_is_changed_back(site, tmp_path):
    """They were put off as for a failure, so an edit or a removal meanwhile was not seen for weeks."""
    crawl_sites(tmp_path, source([site.seed]))
    crawl_again(tmp_path, site, do_not_crawl=("/minutes/",))
    assert not {"/minutes/1", "/minutes/2"} & {path for path, _ in site.requested}
    site.requested.clear()
    crawl_sites(tmp_path, source([site.seed], do_not_crawl=("/minutes/",)))
    assert site.requested == [], "nothing is due, and the setting is the same"
    crawl_sites(tmp_path, source([site.seed]))
    assert sorted(path for path, _ in site.requested) == ["/minutes/1", "/minutes/2"]


def test_pages_that_robots_txt_refused_are_requested_once_it_allows_them_again(site, tmp_path):
    crawl_sites(tmp_path, source([site.seed]))
    site.robots = b"User-agent: *\nDisallow: /minutes/"
    crawl_again(tmp_path, site)
    site.robots = b""
    site.requested.clear()
    change_ledger(tmp_path, "UPDATE address SET due = 1 WHERE url LIKE '%/news/1'")
    crawl_sites(tmp_path, source([site.seed]))
    assert sorted(path for path, _ in site.requested) == ["/minutes/1", "/minutes/2", "/news/1"]


def test_pages_that_are_due_in_each_run_are_requested_once_in_it(site, tmp_path):
    """Nor is a page again that cannot be decoded, which fails each time and is due at once."""
    site.pages["/"] = b"<a href=/broken>b</a>" + b"".join(b"<a href=/%d>p</a>" % number for number in range(20))
    site.pages |= {f"/{number}": b"<a href=/deep/%d>d</a>" % number for number in range(20)}
    site.corrupt.add("/broken")
    crawl_sites(tmp_path, source([site.seed], every=0.0))
    assert len(site.requested) == len(set(site.requested)) == 42
    assert len({path for path, _ in crawl_again(tmp_path, site, every=0.0)}) == len(site.requested) == 42


def test_a_failed_address_is_requested_without_validators_after_a_retry(site, tmp_path):
    """A server that answers 304 for ever kept a page in place that could not be used, whatever the operator did."""
    crawl_sites(tmp_path, source([site.seed]))
    site.requested.clear()
    change_ledger(tmp_path, "UPDATE address SET due = 1, failures = url LIKE '%/news/1' WHERE url LIKE '%/_'")
    crawl_sites(tmp_path, source([site.seed]))
    assert {path: status for path, status in site.requested if path != "/"} == {
        "/news/1": 200, "/minutes/1": 304, "/minutes/2": 304,
    }  # fmt: skip


def test_a_larger_cap_finds_the_links_beyond_the_former_one(site, tmp_path):
    crawl_sites(tmp_path, source([site.seed], max_links=1))
    assert ("/minutes/1", 200) not in site.requested
    assert ("/minutes/1", 200) in crawl_again(tmp_path, site)


def test_a_body_that_could_not_be_decoded_is_requested_without_its_validators(site, tmp_path):
    """A 304 said that the broken body was still the same, so that no later run got the page."""
    site.corrupt = {"/news/1"}
    crawl_sites(tmp_path, source([site.seed]))
    site.corrupt.clear()
    assert {("/news/1", 200), ("/minutes/2", 200)} <= {*crawl_again(tmp_path, site)}
    assert ("/news/1", 304) in crawl_again(tmp_path, site)


def test_bytes_in_a_file_that_is_lost_are_kept_when_they_come_again(site, tmp_path):
    """They were requested by their validators, or recorded as the same as those that were lost, in every run."""
    crawl_sites(tmp_path, source([site.seed]))
    (lost,) = (tmp_path / "archive").glob("*.warc.gz")
    lost.unlink()
    assert {status for _, status in crawl_again(tmp_path, site)} == {200}
    change_ledger(tmp_path, "UPDATE attempt SET etag = '' WHERE address <> 0")
    assert {status for _, status in crawl_again(tmp_path, site)} == {200}
    rows = query_ledger(
        tmp_path, "SELECT address, digest, revisit FROM attempt WHERE address <> 0 ORDER BY seq DESC LIMIT 4"
    )
    assert [revisit for *_, revisit in rows] == [1, 1, 1, 1], "once"
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        places = [ledger.captures.original(address, digest) for address, digest, _ in rows]
        assert all((tmp_path / "archive" / place.warc).exists() for place in places)
    assert {status for _, status in crawl_again(tmp_path, site)} == {304}


def test_a_site_whose_seed_is_empty_has_failed_until_it_has_a_page(site, tmp_path):
    site.pages["/"] = b""
    codes = [crawl_sites(tmp_path, source([site.seed]))]
    codes.append(crawl_sites(tmp_path, source([site.seed])))
    crawl_again(tmp_path, site)
    assert [*codes, *query_ledger(tmp_path, "SELECT failed, comment FROM task_end ORDER BY seq DESC LIMIT 1")] == [
        3, 3, (1, f"site: 2 requested, 0 found; the seed {site.seed} returned no page: the response is empty")
    ]  # fmt: skip


def test_a_page_whose_kept_bytes_are_damaged_is_received_anew_for_its_links(site, tmp_path):
    crawl_sites(tmp_path, source([site.seed], do_not_crawl=("/minutes/",)))
    ((warc, offset),) = query_ledger(
        tmp_path,
        "SELECT v.warc, v.place_offset FROM attempt v JOIN address a ON a.capture = v.seq WHERE a.url = ?",
        site.seed,
    )
    with (tmp_path / "archive" / str(warc)).open("r+b") as file:
        file.seek(int(str(offset)) + 40)
        file.write(bytes(40))
    assert ("/", 304) in crawl_again(tmp_path, site)
    assert query_ledger(tmp_path, "SELECT failures FROM address WHERE url = ?", site.seed) == [(1,)]
    assert {("/", 200), ("/minutes/1", 200)} <= {*crawl_again(tmp_path, site)}
    assert ("/", 304) in crawl_again(tmp_path, site)
