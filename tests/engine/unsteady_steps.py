"""Steps that fail in the way that a document names, while the file that it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.engine.toy_steps import ACTS
from tests.requests.workshop import follow
from windrow.collections.pages.steps import summarise
from windrow.contract import Answer, FollowResult, Observation, Task
from windrow.engine.fetchers.message import Done, Job
from windrow.engine.steps import pool
from windrow.model import Reading, Source
from windrow.reasons import Reason

_FAILS = re.compile(rb"\((\w+) while (\S+)\)")


def _fail(view: BinaryIO) -> None:
    word = _FAILS.search(view.read())
    view.seek(0)
    if word and Path(word[2].decode()).exists():
        ACTS[word[1].decode()]()


@contextmanager
def stop_all_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the time limit stop every step; discoveries still read answers."""
    end = pool._Batch.store_result

    def end_stopped(batch: Any, at: int, done: Done) -> None:
        reading = Reading(Reason.TIME_LIMIT) if isinstance(batch.jobs[at], Job) else done.result
        end(batch, at, done._replace(result=reading))

    with monkeypatch.context() as patch:
        patch.setattr(pool._Batch, "store_result", end_stopped)
        yield


def summarise_unsteadily(task: Task) -> Any:
    """Summarise a page."""
    _fail(task.view)
    return summarise(task)


def note_unsteadily(task: Task) -> list[Observation]:
    """Make a record of each offer."""
    _fail(task.view)
    return note(task)


def note(task: Task) -> list[Observation]:
    """Make a record of each offer, without failing."""
    return [Observation(offer.key, {"body": task.part(offer).decode()}) for offer in task.offers]


def note_address(task: Task) -> Observation:
    """Make a record of a document by its address, with the keys of its offers."""
    return Observation(task.item.key, {"offers": [offer.key for offer in task.offers]})


def follow_unsteadily(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer each document of an index."""
    _fail(answer.view)
    return follow(source, learned, answer)
