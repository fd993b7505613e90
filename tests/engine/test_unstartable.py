"""A walk that cannot be started in a fetcher process: its end is reported, and the run does not wait for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.contract import Crawl
from windrow.contract.collection import later
from windrow.engine.fetchers.fetcher_pool import FetcherPool
from windrow.engine.fetchers.message import ArchiveSettings, BatchEnded, CrawlOrigin
from windrow.model import FetchJob, Limits, Site, Source
from windrow.reasons import Reason

FAILING = later("math:sqrt")  # called with three arguments, it raises a TypeError
ORIGIN = "http://127.0.0.1"


@pytest.fixture
def fetchers(tmp_path: Path) -> Iterator[FetcherPool]:
    pool = FetcherPool(ArchiveSettings(tmp_path, 1, Limits(), 1 << 30, "test"), 1)
    yield pool
    pool.close(at_once=True)


def walk(crawl: Crawl) -> CrawlOrigin:
    return CrawlOrigin(1, Source("s", "c", Site("http", "127.0.0.1")), ORIGIN, crawl, {}, 0.0, None, 0.0)


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
