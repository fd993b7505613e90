"""The crawl of one host: its rules, its pauses and its faults."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from dataclasses import replace

import pytest

from tests.engine.site_crawl import CRAWL, LIMITS, source
from tests.waiting import PATIENCE
from windrow.archive import ArchiveWriter
from windrow.digest import hash64
from windrow.engine.crawl.archiving_client import ArchivingClient, site_at
from windrow.engine.crawl.walk import OriginCrawler, RecentUrls
from windrow.engine.fetchers.message import AttemptEnded, BatchEnded, CrawlOrigin
from windrow.engine.listed.connection_pool import HostQueue
from windrow.fetch.http_client import HttpClient, request_fields
from windrow.fetch.politeness import robots_state
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.http import CUT_BODY
from windrow.formats.http_response import SURPLUS_RULE
from windrow.model import FetchJob, Secret, Site
from windrow.reasons import Reason


def unlimited(_address):
    """Read without time limits: nothing is hostile here."""
    return nullcontext()


def answer(body=b"", status="200 OK", kind="text/html", more=""):
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    )
    return head.encode() + body


OUT_OF_ORDER = answer(b"no", "500 Internal Server Error")
RULES = answer(b"User-agent: *\nDisallow: /no", kind="text/plain")


@asynccontextmanager
async def server(answers, port=0):
    """Serve each path its answers in queue, then always the last; yield the port and the requests."""
    asked = []

    async def talk(reader, writer):
        with closing(writer):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
            asked.append((time.monotonic(), path))
            row = answers.get(path, [answer(b"<p>a page")])
            writer.write(row.pop(0) if len(row) > 1 else row[0])
            await writer.drain()

    running = await asyncio.start_server(talk, "127.0.0.9", port)
    async with running:
        yield running.sockets[0].getsockname()[1], asked


def walk(
    tmp_path,
    answers,
    paths=("/a",),
    *,
    halt=None,
    host="127.0.0.9",
    limits=LIMITS,
    patience=2.0,
    crawl=CRAWL,
    allowed=None,
    queue=None,
):
    """Crawl a host until it is left or all addresses were requested; return the events and the server's requests."""

    async def go():
        async with server(answers) as (port, asked):
            origin = f"http://{host}:{port}"
            seed = source([f"{origin}/"])
            seed = seed if allowed is None else replace(seed, site=replace(seed.site, allowed=allowed))
            walk_order = CrawlOrigin(1, seed, origin, crawl, {"patience": patience})
            events = []
            archive = ArchiveWriter(tmp_path / "archive", "windrow-1-1", limits, 1 << 30, "test")
            walker = OriginCrawler(
                walk_order,
                ArchivingClient(archive, crawl.robots, crawl.large, unlimited),
                RecentUrls(),
                events.append,
                queue or HostQueue(),
            )
            walker.submit(tuple(FetchJob(hash64(origin + path), origin + path) for path in paths))
            work = asyncio.create_task(walker.run())
            end = time.monotonic() + PATIENCE
            while not work.done() and count_pages(events) < len(paths) and time.monotonic() < end:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            if not work.done():
                walker.halt()
                await asyncio.wait_for(work, PATIENCE)
            archive.close()
            return events, asked

    return asyncio.run(go())


def count_pages(events):
    return sum(isinstance(event, AttemptEnded) and event.attempt.kind == 0 for event in events)


def how_it_ended(events):
    """Return the reason and the number of untouched addresses of the last event."""
    last = events[-1]
    assert isinstance(last, BatchEnded)
    return last.broken.reason, len(last.untouched)


def test_a_host_whose_rules_fail_pauses_and_is_then_walked_by_them(tmp_path, monkeypatch):
    monkeypatch.setattr(robots_state, "_FIRST_RETRY_SECONDS", 0.3)
    answers = {"/robots.txt": [OUT_OF_ORDER, OUT_OF_ORDER, RULES]}
    events, asked = walk(tmp_path, answers, ("/a", "/no"))
    assert [path for _, path in asked] == ["/robots.txt"] * 3 + ["/a"]
    times = [at for at, _ in asked]
    assert times[1] - times[0] >= 0.3
    assert times[2] - times[1] >= 0.6, "twice as long after the second failure"
    last = [event.attempt for event in events if isinstance(event, AttemptEnded)][-1]
    assert (last.reason, last.allowed, last.status) == (Reason.ROBOTS_DENIED, False, None)
    assert how_it_ended(events)[0] is Reason.STOPPED


def test_a_host_that_does_not_tell_its_rules_is_left_with_its_addresses(tmp_path):
    events, asked = walk(tmp_path, {"/robots.txt": [OUT_OF_ORDER]}, ("/a", "/b", "/c"))
    assert [path for _, path in asked] == ["/robots.txt"]
    assert how_it_ended(events) == (Reason.ROBOTS_UNREACHABLE, 3)
    assert events[-1].broken.wait == pytest.approx(60, abs=1)


@pytest.mark.parametrize(
    "rules",
    [
        lambda: answer(gzip.compress(bytes(64 << 20), 1), more="Content-Encoding: gzip\r\n"),
        answer(b"\x1f\x8b broken", more="Content-Encoding: gzip\r\n"),
        answer(gzip.compress(b"User-agent: *\nAllow: /\n")[:-9], more="Content-Encoding: gzip\r\n"),
        answer(b"User-agent: *", more="Content-Encoding: unheard-of\r\n"),
        b"what?\r\n\r\n",
    ],
)
def test_rules_that_cannot_be_read_allow_nothing(tmp_path, rules):
    events, asked = walk(tmp_path, {"/robots.txt": [rules() if callable(rules) else rules]})
    assert {path for _, path in asked} == {"/robots.txt"}
    assert how_it_ended(events) == (Reason.ROBOTS_UNREACHABLE, 1)


def test_of_a_compressed_page_that_is_cut_a_part_is_read_and_marked(tmp_path):
    packed = gzip.compress(b'<a href="/b">b</a>' + bytes(range(256)) * 9)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    for body, is_partial in ((packed, False), (packed[:-30], True)):
        events, _ = walk(tmp_path, {"/a": [head + body]})
        (ended,) = [event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
        assert [url.url.rpartition("/")[2] for url in ended.found] == ["b"]
        assert (ended.attempt.is_partial, ended.attempt.reason) == (is_partial, None)
        assert ended.attempt.message == (CUT_BODY if is_partial else "")


def test_the_location_of_a_page_that_is_no_redirect_is_not_followed_in_place_of_its_links(tmp_path):
    page = answer(b"<a href=/deep>x</a>", more="Location: /b\r\n")
    events, _ = walk(tmp_path, {"/robots.txt": [RULES], "/a": [page]})
    (page_event,) = [event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
    assert ([url.url.rpartition("/")[2] for url in page_event.found], page_event.attempt.location) == (["deep"], "")


def test_a_page_that_a_proxy_changed_is_read_like_any_other(tmp_path):
    page = answer(b"<a href=/deep>x</a>", status="203 Non-Authoritative Information")
    events, _ = walk(tmp_path, {"/robots.txt": [RULES], "/a": [page]})
    (page_event,) = [event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
    assert ([url.url.rpartition("/")[2] for url in page_event.found], page_event.attempt.status) == (["deep"], 200)


def test_what_comes_after_a_content_length_that_is_too_low_is_told(tmp_path):
    page = answer(b"<p>a page, and its end").replace(b"Length: 22", b"Length: 9")
    events, _ = walk(tmp_path, {"/robots.txt": [RULES], "/a": [page]})
    (page_event,) = [event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
    assert page_event.attempt.kept.size == 9
    assert (page_event.attempt.is_partial, page_event.attempt.message) == (True, SURPLUS_RULE)


def test_of_endless_rules_the_beginning_counts(tmp_path):
    rules = answer(b"User-agent: *\nDisallow: /no\n" + b"# more\n" * 400_000)
    events, asked = walk(tmp_path, {"/robots.txt": [rules]}, ("/a", "/no"))
    assert [path for _, path in asked] == ["/robots.txt", "/a"]
    attempt = events[0].attempt
    assert (attempt.status, attempt.reason) == (200, Reason.TOO_LARGE)
    assert attempt.kept.size == 1 << 20
    records = b"".join(gzip.decompress(path.read_bytes()) for path in (tmp_path / "archive").glob("*.gz"))
    assert records.count(b"WARC-Truncated: length\r\n") == 1


def test_rules_that_moved_somewhere_private_allow_nothing(tmp_path):
    moved = answer(status="301 Moved Permanently", more="Location: http://127.0.0.77:9/robots.txt\r\n")
    events, asked = walk(tmp_path, {"/robots.txt": [moved]})
    assert [path for _, path in asked] == ["/robots.txt"]
    assert how_it_ended(events) == (Reason.PRIVATE_ADDRESS, 1)
    assert [event.attempt.reason for event in events[:-1]] == [None, Reason.PRIVATE_ADDRESS]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.77", "[::ffff:127.0.0.9]", "[::1]", "0.0.0.0"])
def test_a_name_is_judged_by_where_it_leads(tmp_path, host):
    events, asked = walk(tmp_path, {}, host=host, allowed=read_allowed(["127.0.0.8"]))
    assert asked == []
    assert how_it_ended(events) == (Reason.PRIVATE_ADDRESS, 1)


def test_a_private_number_is_not_asked_through_a_proxy(tmp_path):
    async def go():
        async with server({"http://127.0.0.8/a": [answer(b"by proxy")]}) as (port, asked):
            attempts = []
            archive = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            client = ArchivingClient(archive, CRAWL.robots, CRAWL.large, unlimited)
            for host in ("127.0.0.77", "127.0.0.8"):
                site = replace(source(["http://a.example/"]).site, host=host, proxy=f"http://127.0.0.9:{port}")
                async with HttpClient(site) as connection:
                    attempts.append((await client.fetch(connection, FetchJob(1, f"http://{host}/a"))).attempt)
            archive.close()
            return attempts, asked

    attempts, asked = asyncio.run(go())
    assert [(attempt.status, attempt.reason) for attempt in attempts] == [(None, Reason.PRIVATE_ADDRESS), (200, None)]
    assert [path for _, path in asked] == ["http://127.0.0.8/a"]


def test_a_long_rest_that_a_host_asks_for_is_given_to_it(tmp_path):
    busy = answer(b"later", "429 Too Many Requests", more="Retry-After: 5000\r\n")
    events, asked = walk(tmp_path, {"/a": [busy]}, ("/a", "/b"))
    assert [path for _, path in asked] == ["/robots.txt", "/a"]
    assert how_it_ended(events)[0] is Reason.RATE_LIMITED
    first = next(event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0)
    assert (first.attempt.status, first.attempt.wait) == (429, 5000)


def test_a_halt_ends_a_pause(tmp_path):
    rules = answer(b"User-agent: *\nCrawl-delay: 100")
    begun = time.monotonic()
    events, _ = walk(tmp_path, {"/robots.txt": [rules]}, (), halt=True)
    assert time.monotonic() - begun < 90
    assert how_it_ended(events) == (Reason.STOPPED, 0)


def test_a_server_that_falls_silent_is_told_from_one_that_is_slow(tmp_path):
    begun = answer(b"x" * 10).replace(b"Length: 10", b"Length: 5000")

    async def talk(reader, writer):
        with closing(writer):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
            writer.write(answer(status="404 Not Found") if path == b"/robots.txt" else begun)
            await writer.drain()
            if path == b"/silent":
                with suppress(OSError):
                    await reader.read()  # until the client is gone
            for _ in range(8 if path == b"/slow" else 0):
                writer.write(b"x")
                await asyncio.sleep(0.3)

    async def go():
        async with await asyncio.start_server(talk, "127.0.0.9", 0) as running:
            origin = f"http://127.0.0.9:{running.sockets[0].getsockname()[1]}"
            archive = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            client = ArchivingClient(archive, CRAWL.robots, CRAWL.large, unlimited)
            site = replace(source([origin], timeout=1.0).site, port=int(origin.rpartition(":")[2]), host="127.0.0.9")
            async with HttpClient(site) as connection:
                attempts = [
                    (await client.fetch(connection, FetchJob(1, f"{origin}/{path}"))).attempt
                    for path in ("silent", "slow")
                ]
            archive.close()
            await asyncio.sleep(0.1)
            return attempts

    silent, slow = asyncio.run(go())
    assert (silent.reason, slow.reason) == (Reason.TIMEOUT, Reason.INTERRUPTED)
    assert silent.message.endswith("nothing received for 1 seconds")
    assert 1.0 <= silent.seconds < LIMITS.answer_time
    assert slow.seconds >= 2.0


def test_a_page_that_its_reader_fails_at_is_one_page(tmp_path):
    def failing_rules(*arguments):
        site_rules = CRAWL.rules(*arguments)
        site_rules.links = lambda url, fields, body: 1 / 0
        return site_rules

    events, _ = walk(tmp_path, {}, ("/a", "/b"), crawl=replace(CRAWL, rules=failing_rules))
    attempts = [event.attempt for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
    assert [(attempt.status, attempt.reason) for attempt in attempts] == [(200, Reason.STEP_FAILED)] * 2
    assert "ZeroDivisionError" in attempts[0].message
    assert attempts[0].kept is not None


def test_a_full_disk_says_nothing_of_an_address(tmp_path):
    events, _ = walk(tmp_path, {}, ("/a", "/b"), limits=replace(LIMITS, free_space=1 << 60))
    assert how_it_ended(events) == (Reason.DISK_FULL, 2)
    assert count_pages(events) == 0


def test_http_and_https_of_one_host_wait_in_one_line_and_each_reads_its_own_rules(tmp_path):
    async def go():
        async with server({}) as (first, asked), server({}) as (second, others):
            events, queue = [], HostQueue()
            archive = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            work = []
            for seq, port in ((1, first), (2, second)):
                origin = f"http://127.0.0.9:{port}"
                walk_order = CrawlOrigin(seq, source([f"{origin}/"], delay=0.2), origin, CRAWL, {})
                client = ArchivingClient(archive, CRAWL.robots, CRAWL.large, unlimited)
                walker = OriginCrawler(walk_order, client, RecentUrls(), events.append, queue)
                walker.submit(tuple(FetchJob(hash64(f"{origin}/{at}"), f"{origin}/{at}") for at in range(4)))
                work.append((walker, asyncio.create_task(walker.run())))
            while count_pages(events) < 8:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            for walker, task in work:
                walker.halt()
                await asyncio.wait_for(task, PATIENCE)
            archive.close()
            return asked, others

    asked, others = asyncio.run(go())
    assert [path for _, path in asked] == [path for _, path in others] == ["/robots.txt", "/0", "/1", "/2", "/3"]
    times = sorted(at for at, _ in [*asked, *others])
    assert min(later - before for before, later in itertools.pairwise(times)) >= 0.19


def test_a_long_pause_that_one_service_of_a_host_asks_for_is_not_one_of_another(tmp_path):
    queue = HostQueue()
    busy = answer(status="429 Too Many Requests", more="Retry-After: 5000\r\n")
    events, _ = walk(tmp_path, {"/a": [busy]}, ("/a", "/b"), queue=queue)
    assert how_it_ended(events)[0] is Reason.RATE_LIMITED
    _, asked = walk(tmp_path, {}, queue=queue)
    assert [path for _, path in asked] == ["/robots.txt", "/a"], "at another port"


def test_a_login_goes_to_the_origin_of_its_source_alone(monkeypatch):
    monkeypatch.setenv("LOGIN", "s3cret")
    own = Site("https", "api.example", username="reader", secret=Secret("env:LOGIN"), base="/v1/")
    assert "Authorization" in request_fields(site_at(own, "https://api.example"))
    for origin in ("https://static.example", "https://api.example:8443", "http://api.example"):
        moved_site = site_at(own, origin)
        assert (moved_site.origin, "Authorization" in request_fields(moved_site)) == (origin, False)
