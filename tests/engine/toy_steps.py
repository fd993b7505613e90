"""A small collection whose step does what a document says: sleep, spin, eat memory, die, fail."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from windrow.contract import Collection, Listing, Members, Read, Task
from windrow.model import Finding, Limits, ListingEntry, Offer, OfferingSource, Reading, Source


def spin_for_a_second() -> None:
    until = time.process_time() + 1
    while time.process_time() < until:
        pass


def fail() -> None:
    raise KeyError("a fault of the step's own")


ACTS: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(60),
    "spin": lambda: re.match(r"(a+)+b", "a" * 60),  # in a library, and without an end
    "spin for a second": spin_for_a_second,
    "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "abort": os.abort,
    "eat": lambda: bytearray(8 << 30),
    "fail": fail,
}


def obey(task: Task) -> Reading:
    word = task.view.read().decode()
    if word.endswith(" unless stopped"):
        if task.stopped:
            return Reading(count=1, findings=(Finding("Stopped", str(task.stopped[0].reason)),))
        word = word.split()[0]
    if word == "sleep, then die":
        word = "die" if task.stopped else "sleep"
    ACTS.get(word, int)()
    return Reading(count=len(word))


def plan(source: Source, entries: Sequence[ListingEntry], options: Mapping[str, Any]) -> list[Offer]:
    return [
        Offer(entry.name, f"{entry.folder}/{entry.name}", entry.size, entry.modified, entry.name) for entry in entries
    ]


def prefer(owner: str, sources: Sequence[OfferingSource]) -> list[OfferingSource]:
    return sorted(sources)


def member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    return view


OBEY = Read("obey", "1", "thing", obey)

TOY_COLLECTION = Collection(
    name="toy",
    phases=("get", "obey"),
    discovery=Listing(
        folders=("",), kind="thing", list_phase="get", fetch_phase="get", plan=plan, prefer=prefer,
        members=Members("part", member),
    ),
    steps=(OBEY,),
)  # fmt: skip
