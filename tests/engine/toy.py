"""A tiny collection whose steps do what a test tells them: sleep, eat memory, die, fail."""

import os
import signal
import time

from windrow.contract import Collection, Judge, Listing, Members, Read
from windrow.model import Finding, Member, Offer, OfferingHost, Reading, Status
from windrow.reasons import Reason


def obey(task):
    return act(task.view.read().decode().partition(", then again ")[0], task)


def act(word, task):
    if word.endswith(" unless stopped"):
        if task.stopped:
            return Reading(count=1, findings=(Finding("Stopped", str(task.stopped[0].reason)),))
        word = word.split()[0]
    if word == "sleep, then die":
        word = "die" if task.stopped else "sleep"
    if word == "sleep":
        time.sleep(60)
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "eat":
        bytearray(8 << 30)
    if word == "refuse":
        return Reading(Reason.NOT_VALID)
    if word.startswith("much"):
        return (len(word),)  # no reading: as large as what it was made of may be
    if word == "fail":
        raise KeyError("a fault of the step's own")
    return Reading(count=len(word))


def obey_again(task):
    """Do what the word says after `then`; without one, tell whether the document was read for this step, too."""
    word = task.view.read().decode()
    if ", then again " in word:
        return act(word.partition(", then again ")[2], task)
    return Reading(count=len(word), md5="shared" if task.shared is not None else "")


def plan(source, entries, options):
    return [
        Offer(entry.name, f"{entry.folder}/{entry.name}", entry.size, entry.modified, entry.name) for entry in entries
    ]


def prefer(owner, hosts: list[OfferingHost]):
    return sorted(hosts)


def parent(children):
    return min(children)


def arrived(got):
    return ((1, Status.DONE),)


def failed(reason: Reason):
    return (1, Status.FAILED)


def member_state(member: Member):
    return (2, Status.DONE)


def member(view, name, limits):
    return view


OBEY = Read("obey", "1", "thing", (("obey", Status.RUNNING), ("get", Status.DONE)), obey)

AGAIN = Judge("again", "1", "thing", (("again", Status.RUNNING), ("obey", Status.DONE)), obey_again)

TOY = Collection(
    name="toy",
    phases=("get", "obey", "again"),
    discovery=Listing(
        folders=("",), kind="thing", first=(1, Status.PENDING), refused=(1, Status.FAILED), plan=plan, prefer=prefer,
        arrived=arrived, failed=failed, members=Members("part", member_state, parent, member),
    ),
    steps=(OBEY, AGAIN),
)  # fmt: skip
