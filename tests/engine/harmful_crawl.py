"""A collection that crawls, and whose reader harms its process as a page says."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from tests.engine.site_crawl import CRAWL_ONLY, LIMITS, source
from windrow.collections.pages.collection import CRAWL
from windrow.engine import heartbeat
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.session import Session


def hang() -> NoReturn:
    """Hang as in a library that never returns to the interpreter."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
    while True:
        time.sleep(0.1)


def loop() -> NoReturn:
    """Loop for ever in Python code."""
    while True:
        pass


def die() -> None:
    """Crash as in a faulty library."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hoard() -> NoReturn:
    """Take memory without end."""
    held = []
    while True:
        held.append(bytearray(1 << 24))


ACTS: dict[bytes, Callable[[], None]] = {b"hang": hang, b"loop": loop, b"die": die, b"hoard": hoard}


def rules(*arguments: Any) -> Any:
    site_rules: Any = CRAWL.rules(*arguments)
    links, take_robots = site_rules.links, site_rules.take_robots

    def act(body: bytes) -> None:
        word = body.partition(b"do:")[2].split(b" ")[0]
        if word:
            ACTS[word]()

    def harmful_links(url: str, fields: Any, body: bytes) -> Any:
        act(body)
        return links(url, fields, body)

    def harmful_robots(at: float, status: int | None, body: bytes) -> Any:
        act(body)
        return take_robots(at, status, body)

    site_rules.links, site_rules.take_robots = harmful_links, harmful_robots
    return site_rules


HARM = replace(CRAWL_ONLY, discovery=replace(CRAWL, rules=rules))


def crawl_harmful(root: Path, *seeds: str, patience: float = 1.0) -> int:
    """Crawl a site for each seed; a reading may take `patience` seconds of CPU time, an answer a minute. Return the exit code."""
    heartbeat.MAX_READING_CPU = patience
    limits = replace(LIMITS, memory=256 << 20)
    sites = [source([seed]) for seed in seeds]
    sources = [
        replace(site, name=f"site{number}", site=replace(site.site, timeout=60.0)) for number, site in enumerate(sites)
    ]
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits, fetchers=1), "test")
    with session.polite_stop():
        session.run_harvest(Harvest(HARM, tuple(sources), options={"patience": 2.0}))
    code = session.close()
    session.ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(crawl_harmful(Path(sys.argv[1]), *sys.argv[2:], patience=1000.0))
