"""Steps that fail as a document says, as long as the file that it names is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.engine.toy import ACTS
from windrow.collections.pages.steps import summarise
from windrow.contract import Observation, Task

_FAILS = re.compile(rb"\((\w+) while (\S+)\)")


def _fail(task: Task) -> None:
    word = _FAILS.search(task.view.read())
    task.view.seek(0)
    if word and Path(word[2].decode()).exists():
        ACTS[word[1].decode()]()


def summarise_unsteadily(task: Task) -> Any:
    """Summarise a page."""
    _fail(task)
    return summarise(task)


def note_unsteadily(task: Task) -> list[Observation]:
    """Make a record of each offer."""
    _fail(task)
    return [Observation(offer.key, {"body": task.part(offer).decode()}) for offer in task.offers]
