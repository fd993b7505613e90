"""One host's walk, by itself: what its rules, its pauses and its faults make of it."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from dataclasses import replace

import pytest

from tests.engine.roaming import CRAWL, LIMITS, source
from tests.waiting import PATIENCE
from windrow.archive import ArchiveWriter
from windrow.digest import number
from windrow.engine.crawl.asking import ArchivingClient
from windrow.engine.crawl.walk import OriginCrawler, RecentUrls, origin_site
from windrow.engine.fetchers.message import AttemptEnded, BatchEnded, WalkOrigin
from windrow.engine.listed.connection_pool import HostQueue
from windrow.fetch.http_client import HttpClient, fields_of
from windrow.fetch.politeness import robots_standing
from windrow.fetch.politeness.guard import read_allowed
from windrow.model import FetchJob, Secret, Site, Source
from windrow.reasons import Reason


def unlimited(_address):
    """Read without limits of time: nothing is hostile here."""
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
    """Give each path its answers in turn, the last one again and again; yields the port and what was asked."""
    asked = []

    async def talk(reader, writer):
        with closing(writer):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
            asked.append((time.monotonic(), path))
            row = answers.get(path, [answer(b"<p>a page")])
            writer.write(row.pop(0) if len(row) > 1 else row[0])
            await writer.drain()

    serving = await asyncio.start_server(talk, "127.0.0.9", port)
    async with serving:
        yield serving.sockets[0].getsockname()[1], asked


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
):
    """Walk a host until it is left, or all addresses were asked; return the events and what the server was asked."""

    async def go():
        async with server(answers) as (port, asked):
            origin = f"http://{host}:{port}"
            seed = source([f"{origin}/"])
            seed = seed if allowed is None else replace(seed, site=replace(seed.site, allowed=allowed))
            told = WalkOrigin(1, seed, origin, crawl, {"patience": patience})
            events = []
            keeper = ArchiveWriter(tmp_path / "archive", "windrow-1-1", limits, 1 << 30, "test")
            walker = OriginCrawler(
                told,
                ArchivingClient(keeper, crawl.robots, crawl.large, unlimited),
                RecentUrls(),
                events.append,
                HostQueue(),
            )
            walker.submit(tuple(FetchJob(number(origin + path), origin + path) for path in paths))
            work = asyncio.create_task(walker.run())
            end = time.monotonic() + PATIENCE
            while not work.done() and pages(events) < len(paths) and time.monotonic() < end:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            if not work.done():
                walker.halt()
                await asyncio.wait_for(work, PATIENCE)
            keeper.close()
            return events, asked

    return asyncio.run(go())


def pages(events):
    return sum(isinstance(event, AttemptEnded) and event.attempt.kind == 0 for event in events)


def ended(events):
    """Return how the walk ended: the last event."""
    last = events[-1]
    assert isinstance(last, BatchEnded)
    return last.broken.reason, len(last.untouched)


def test_a_host_whose_rules_fail_pauses_and_is_then_walked_by_them(tmp_path, monkeypatch):
    monkeypatch.setattr(robots_standing, "_FIRST", 0.3)
    answers = {"/robots.txt": [OUT_OF_ORDER, OUT_OF_ORDER, RULES]}
    events, asked = walk(tmp_path, answers, ("/a", "/no"))
    assert [path for _, path in asked] == ["/robots.txt"] * 3 + ["/a"]
    times = [at for at, _ in asked]
    assert times[1] - times[0] >= 0.3
    assert times[2] - times[1] >= 0.6, "twice as long after the second failure"
    last = [event.attempt for event in events if isinstance(event, AttemptEnded)][-1]
    assert (last.reason, last.allowed, last.status) == (Reason.ROBOTS_DENIED, False, None)
    assert ended(events)[0] is Reason.STOPPED


def test_a_host_that_does_not_tell_its_rules_is_left_with_its_addresses(tmp_path):
    events, asked = walk(tmp_path, {"/robots.txt": [OUT_OF_ORDER]}, ("/a", "/b", "/c"))
    assert [path for _, path in asked] == ["/robots.txt"]
    assert ended(events) == (Reason.ROBOTS_UNREACHABLE, 3)
    assert events[-1].broken.wait == pytest.approx(60, abs=1)


@pytest.mark.parametrize(
    "rules",
    [
        answer(gzip.compress(bytes(64 << 20), 1), more="Content-Encoding: gzip\r\n"),
        answer(b"\x1f\x8b broken", more="Content-Encoding: gzip\r\n"),
        answer(b"User-agent: *", more="Content-Encoding: unheard-of\r\n"),
        b"what?\r\n\r\n",
    ],
)
def test_rules_that_cannot_be_read_allow_nothing(tmp_path, rules):
    events, asked = walk(tmp_path, {"/robots.txt": [rules]})
    assert {path for _, path in asked} == {"/robots.txt"}
    assert ended(events) == (Reason.ROBOTS_UNREACHABLE, 1)


def test_of_endless_rules_the_beginning_counts(tmp_path):
    rules = answer(b"User-agent: *\nDisallow: /no\n" + b"# more\n" * 400_000)
    events, asked = walk(tmp_path, {"/robots.txt": [rules]}, ("/a", "/no"))
    assert [path for _, path in asked] == ["/robots.txt", "/a"]
    said = events[0].attempt
    assert (said.status, said.reason) == (200, Reason.TOO_LARGE)
    assert said.kept.size == 1 << 20
    records = b"".join(gzip.decompress(path.read_bytes()) for path in (tmp_path / "archive").glob("*.gz"))
    assert records.count(b"WARC-Truncated: length\r\n") == 1


def test_rules_that_moved_somewhere_private_allow_nothing(tmp_path):
    moved = answer(status="301 Moved Permanently", more="Location: http://127.0.0.77:9/robots.txt\r\n")
    events, asked = walk(tmp_path, {"/robots.txt": [moved]})
    assert [path for _, path in asked] == ["/robots.txt"]
    assert ended(events) == (Reason.PRIVATE_ADDRESS, 1)
    assert [event.attempt.reason for event in events[:-1]] == [None, Reason.PRIVATE_ADDRESS]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.77", "[::ffff:127.0.0.9]", "[::1]", "0.0.0.0"])
def test_a_name_is_judged_by_where_it_leads(tmp_path, host):
    events, asked = walk(tmp_path, {}, host=host, allowed=read_allowed(["127.0.0.8"]))
    assert asked == []
    assert ended(events) == (Reason.PRIVATE_ADDRESS, 1)


def test_a_private_number_is_not_asked_through_a_proxy(tmp_path):
    async def go():
        async with server({"http://127.0.0.8/a": [answer(b"by proxy")]}) as (port, asked):
            found = []
            keeper = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            asker = ArchivingClient(keeper, CRAWL.robots, CRAWL.large, unlimited)
            for host in ("127.0.0.77", "127.0.0.8"):
                site = replace(source(["http://a.example/"]).site, host=host, proxy=f"http://127.0.0.9:{port}")
                async with HttpClient(site) as line:
                    found.append((await asker.fetch(line, FetchJob(1, f"http://{host}/a"))).attempt)
            keeper.close()
            return found, asked

    found, asked = asyncio.run(go())
    assert [(one.status, one.reason) for one in found] == [(None, Reason.PRIVATE_ADDRESS), (200, None)]
    assert [path for _, path in asked] == ["http://127.0.0.8/a"]


def test_a_long_rest_that_a_host_asks_for_is_given_to_it(tmp_path):
    busy = answer(b"later", "429 Too Many Requests", more="Retry-After: 5000\r\n")
    events, asked = walk(tmp_path, {"/a": [busy]}, ("/a", "/b"))
    assert [path for _, path in asked] == ["/robots.txt", "/a"]
    assert ended(events)[0] is Reason.RATE_LIMITED
    said = next(event for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0)
    assert (said.attempt.status, said.attempt.wait) == (429, 5000)


def test_a_halt_ends_a_pause(tmp_path):
    rules = answer(b"User-agent: *\nCrawl-delay: 100")
    begun = time.monotonic()
    events, _ = walk(tmp_path, {"/robots.txt": [rules]}, (), halt=True)
    assert time.monotonic() - begun < 90
    assert ended(events) == (Reason.STOPPED, 0)


def test_a_server_that_falls_silent_is_told_from_one_that_is_slow(tmp_path):
    begun = answer(b"x" * 10).replace(b"Length: 10", b"Length: 5000")

    async def talk(reader, writer):
        with closing(writer):
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
            writer.write(answer(status="404 Not Found") if path == b"/robots.txt" else begun)
            await writer.drain()
            if path == b"/silent":
                with suppress(OSError):
                    await reader.read()  # until the other end is gone
            for _ in range(8 if path == b"/slow" else 0):
                writer.write(b"x")
                await asyncio.sleep(0.3)

    async def go():
        async with await asyncio.start_server(talk, "127.0.0.9", 0) as serving:
            origin = f"http://127.0.0.9:{serving.sockets[0].getsockname()[1]}"
            keeper = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            asker = ArchivingClient(keeper, CRAWL.robots, CRAWL.large, unlimited)
            there = replace(source([origin], timeout=1.0).site, port=int(origin.rpartition(":")[2]), host="127.0.0.9")
            async with HttpClient(there) as line:
                found = [
                    (await asker.fetch(line, FetchJob(1, f"{origin}/{path}"))).attempt for path in ("silent", "slow")
                ]
            keeper.close()
            await asyncio.sleep(0.1)
            return found

    silent, slow = asyncio.run(go())
    assert (silent.reason, slow.reason) == (Reason.TIMEOUT, Reason.INTERRUPTED)
    assert silent.message.endswith("nothing came for 1 seconds")
    assert 1.0 <= silent.seconds < LIMITS.answer_time
    assert slow.seconds >= 2.0


def test_a_page_that_its_reader_fails_at_is_one_page(tmp_path):
    def guide(*told):
        made = CRAWL.rules(*told)
        made.links = lambda url, fields, body: 1 / 0
        return made

    events, _ = walk(tmp_path, {}, ("/a", "/b"), crawl=replace(CRAWL, rules=guide))
    said = [event.attempt for event in events if isinstance(event, AttemptEnded) and event.attempt.kind == 0]
    assert [(one.status, one.reason) for one in said] == [(200, Reason.STEP_FAILED)] * 2
    assert "ZeroDivisionError" in said[0].message
    assert said[0].kept is not None


def test_a_full_disk_says_nothing_of_an_address(tmp_path):
    events, _ = walk(tmp_path, {}, ("/a", "/b"), limits=replace(LIMITS, free_space=1 << 60))
    assert ended(events) == (Reason.DISK_FULL, 2)
    assert pages(events) == 0


def test_http_and_https_of_one_host_wait_in_one_line_and_each_reads_its_own_rules(tmp_path):
    async def go():
        async with server({}) as (first, asked), server({}) as (second, others):
            events, turn = [], HostQueue()
            keeper = ArchiveWriter(tmp_path / "archive", "windrow-1-1", LIMITS, 1 << 30, "test")
            work = []
            for seq, port in ((1, first), (2, second)):
                origin = f"http://127.0.0.9:{port}"
                told = WalkOrigin(seq, source([f"{origin}/"], delay=0.2), origin, CRAWL, {})
                asker = ArchivingClient(keeper, CRAWL.robots, CRAWL.large, unlimited)
                walker = OriginCrawler(told, asker, RecentUrls(), events.append, turn)
                walker.submit(tuple(FetchJob(number(f"{origin}/{at}"), f"{origin}/{at}") for at in range(4)))
                work.append((walker, asyncio.create_task(walker.run())))
            while pages(events) < 8:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            for walker, task in work:
                walker.halt()
                await asyncio.wait_for(task, PATIENCE)
            keeper.close()
            return asked, others

    asked, others = asyncio.run(go())
    assert [path for _, path in asked] == [path for _, path in others] == ["/robots.txt", "/0", "/1", "/2", "/3"]
    times = sorted(at for at, _ in [*asked, *others])
    assert min(later - before for before, later in itertools.pairwise(times)) >= 0.19


def test_a_login_goes_to_the_origin_of_its_source_alone(monkeypatch):
    monkeypatch.setenv("LOGIN", "s3cret")
    own = Site("https", "api.example", username="reader", secret=Secret("env:LOGIN"), base="/v1/")
    walk = WalkOrigin(1, Source("api", "news", own), "https://static.example", CRAWL, {})
    sent = {
        origin: fields_of(origin_site(walk, origin)) for origin in ("https://api.example", "https://static.example")
    }
    assert "Authorization" in sent["https://api.example"]
    assert "Authorization" not in sent["https://static.example"]
