"""A collection that crawls, and whose reader does to its process what a page tells it to."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from tests.engine.roaming import LIMITS, ROAM, source
from windrow.collections.pages.collection import CRAWL
from windrow.engine import heartbeat
from windrow.engine.run import Harvest
from windrow.engine.session import Session, SessionSettings


def hang() -> NoReturn:
    """Be in a library that never comes back, as far as the interpreter can tell."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF})
    while True:
        time.sleep(0.1)


def loop() -> NoReturn:
    """Be in code that never ends."""
    while True:
        pass


def die() -> None:
    """Be in a library that breaks."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hoard() -> NoReturn:
    """Take memory without end."""
    held = []
    while True:
        held.append(bytearray(1 << 24))


ACTS: dict[bytes, Callable[[], None]] = {b"hang": hang, b"loop": loop, b"die": die, b"hoard": hoard}


def rules(*told: Any) -> Any:
    made: Any = CRAWL.rules(*told)
    links, ruled = made.links, made.take_robots

    def act(body: bytes) -> None:
        word = body.partition(b"do:")[2].split(b" ")[0]
        if word:
            ACTS[word]()

    def reading(url: str, fields: Any, body: bytes) -> Any:
        act(body)
        return links(url, fields, body)

    def ruling(at: float, status: int | None, body: bytes) -> Any:
        act(body)
        return ruled(at, status, body)

    made.links, made.take_robots = reading, ruling
    return made


HARM = replace(ROAM, discovery=replace(CRAWL, rules=rules))


def harm(root: Path, *seeds: str, patience: float = 1.0) -> int:
    """Crawl sites, one a seed, in a workspace; one reading may take `patience` seconds of CPU time, and an answer a minute."""
    heartbeat.READING = patience
    limits = replace(LIMITS, memory=256 << 20)
    sites = [source([seed]) for seed in seeds]
    sources = [
        replace(one, name=f"site{number}", site=replace(one.site, timeout=60.0)) for number, one in enumerate(sites)
    ]
    session = Session(SessionSettings(root / "ledger.sqlite", root / "archive", limits, fetchers=1), "test")
    with session.polite_stop():
        session.harvest(Harvest(HARM, tuple(sources), options={"patience": 2.0}))
    code = session.close()
    session.ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(harm(Path(sys.argv[1]), *sys.argv[2:], patience=1000.0))
