"""Fetcher processes: when they are started, and a walk that cannot be started in one, whose end is reported."""

from __future__ import annotations

import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from windrow.contract import Crawl
from windrow.contract.collection import later
from windrow.engine.fetchers import fetcher_pool
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings, BatchEnded, CrawlOrigin
from windrow.engine.runtime import start_process
from windrow.model import FetchJob, Limits, Site, Source
from windrow.reasons import Reason

FAILING = later("math:sqrt")  # called with three arguments, it raises a TypeError
ORIGIN = "http://127.0.0.1"


@pytest.fixture
def fetchers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FetcherPool]:
    pool = FetcherPool(ArchiveSettings(tmp_path, 1, Limits(), 1 << 30, "test"), getattr(request, "param", 1))
    yield pool
    pool.close(at_once=True)


def walk(crawl: Crawl, number: int = 1, origin: str = ORIGIN) -> CrawlOrigin:
    return CrawlOrigin(number, Source("s", "c", Site("http", "127.0.0.1")), origin, crawl, {}, 0.0, None, 0.0)


def test_rules_that_raise_end_the_walk_with_their_error(fetchers: FetcherPool) -> None:
    fetchers.start_walk(walk(Crawl(FAILING, FAILING, FAILING, FAILING, FAILING, 1, 2)))
    fetchers.submit(1, [FetchJob(5, f"{ORIGIN}/")])
    deadline, events = time.monotonic() + 60, []
    while not events and time.monotonic() < deadline:
        events += fetchers.events(0.2)
    (ended,) = events
    assert isinstance(ended, BatchEnded)
    assert ended.broken is not None
    assert ended.broken.reason is Reason.STEP_FAILED
    assert f"the crawl rules of {ORIGIN} failed: TypeError" in ended.broken.message


def test_a_crawl_that_cannot_be_sent_to_another_process_raises_at_once(fetchers: FetcherPool) -> None:
    with pytest.raises(Exception, match="pickle"):
        fetchers.start_walk(walk(Crawl(FAILING, lambda *_: None, FAILING, FAILING, FAILING, 1, 2)))


@pytest.mark.parametrize("fetchers", [2], indirect=True)
def test_a_process_is_started_only_if_all_others_have_work(
    fetchers: FetcherPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[BaseProcess] = []

    def start(process: BaseProcess) -> None:
        started.append(process)
        start_process(process)

    monkeypatch.setattr(fetcher_pool, "start_process", start)
    crawl = Crawl(FAILING, FAILING, FAILING, FAILING, FAILING, 1, 2)
    numbers = []
    for number in (1, 2, 3):
        fetchers.start_walk(walk(crawl, number, f"http://127.0.0.{number}"))
        numbers.append(len(started))
    assert numbers == [1, 2, 2]
