"""The Summary Database as a file, and as lines."""

from __future__ import annotations

from typing import TextIO

from windrow.adapter import Export
from windrow.collections.pages.adapter.lookup import when
from windrow.collections.pages.adapter.open_summary import summaries
from windrow.collections.pages.database.plain import copy, generations
from windrow.config import Workspace
from windrow.formats.terminal import json_text
from windrow.json_form import plain

TIMES = ("first_seen", "last_seen", "ended", "created", "updated")


def summary(workspace: Workspace, form: str, out: TextIO) -> int:
    """Write the Summary Database as one SQLite file, as it is now; return its bytes."""
    del form
    with summaries(workspace) as engine:
        return copy(engine, out.buffer)


def pages(workspace: Workspace, form: str, out: TextIO) -> int:
    """Write a line of JSON for every version of every page, its times in ISO 8601; return how many."""
    del form
    count = 0
    with summaries(workspace) as engine:
        for one in generations(engine):
            told = one._asdict() | {name: when(getattr(one, name)) for name in TIMES}
            out.write(json_text(plain(told)) + "\n")
            count += 1
    return count


EXPORTS = (
    Export(
        "summary",
        ("sqlite",),
        "the Summary Database, a whole file as it is at one moment, whoever writes meanwhile",
        summary,
        unit="bytes",
    ),
    Export("pages", ("jsonl",), "a line for each version of each page, its times in ISO 8601", pages),
)
