"""A tiny collection whose steps do what a test tells them: sleep, spin, eat memory, die, fail."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from windrow.contract import Collection, Listing, Members, Read, State, Task
from windrow.model import Attempt, Finding, Limits, ListingEntry, Member, Offer, OfferingHost, Reading, Source, Status
from windrow.reasons import Reason


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


def prefer(owner: str, hosts: Sequence[OfferingHost]) -> list[OfferingHost]:
    return sorted(hosts)


def parent(children: Mapping[State, int]) -> State:
    return min(children)


def arrived(got: Attempt) -> tuple[State, ...]:
    return ((1, Status.DONE),)


def failed(reason: Reason) -> State:
    return (1, Status.FAILED)


def member_state(member: Member) -> State:
    return (2, Status.DONE)


def member(view: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    return view


OBEY = Read("obey", "1", "thing", (("obey", Status.RUNNING), ("get", Status.DONE)), obey)

TOY = Collection(
    name="toy",
    phases=("get", "obey"),
    discovery=Listing(
        folders=("",), kind="thing", first=(1, Status.PENDING), refused=(1, Status.FAILED), plan=plan, prefer=prefer,
        arrived=arrived, failed=failed, members=Members("part", member_state, parent, member),
    ),
    steps=(OBEY,),
)  # fmt: skip
