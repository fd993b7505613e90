"""A small collection whose step does what a document says: sleep, spin, eat memory, die, fail."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from windrow.contract import Collection, Listing, Members, Read, Task
from windrow.engine.plain_values import pack_values
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
    "read passwd": lambda: Path("/etc/passwd").read_bytes(),
    "read a variable": lambda: os.environ["PATH"],
    "write": lambda: Path(tempfile.mkdtemp()).rmdir(),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    "execute": lambda: subprocess.run([sys.executable, "-V"], check=True),
    "change mode": lambda: Path(__file__).chmod(0o644),
    "signal": lambda: os.kill(os.getppid(), 0),
    "write a temporary file": lambda: tempfile.TemporaryFile(suffix=".x").close(),
    "import": lambda: __import__("xml.dom.minidom"),
    "find zone": lambda: ZoneInfo("America/Caracas"),
    "take over": lambda: take_over(b"cos\nsystem\n(S'touch taken-over'\ntR."),
    "take over by length": lambda: take_over((4 << 30).to_bytes(8, "big") + bytes(8) + b"x"),
    "take over by size": lambda: take_over(None, b"\x7f\xff\xff\xff"),
    "take over by half": lambda: take_over(None, b"\0\1\0\0half"),
    "take over by nothing": lambda: take_over(pack_values([])),
    "take over by number": lambda: take_over(None, shown_job=-1),
    "take over and die": lambda: take_over(None, shown_job=-1, then=lambda: os._exit(7)),
    "take over and spin": lambda: take_over(None, then=lambda: re.match(r"(a+)+b", "a" * 60)),
    "take over silently": lambda: take_over(b""),
    "return what is no value": lambda: None,
}


def take_over(
    message: bytes | None, part: bytes = b"", shown_job: int | None = None, then: Callable[[], object] | None = None
) -> None:
    """Do what a worker could do that a document has taken over.

    It sends the engine a message that is not a result, or a part of one, stops its timer, and shows another job.
    """
    frame: Any = sys._getframe()
    while frame.f_code.co_name != "main":
        frame = frame.f_back
    signal.setitimer(signal.ITIMER_PROF, 0)
    if shown_job is not None:
        frame.f_locals["current_job"].numbers[0] = shown_job
    if message == b"":
        frame.f_locals["pipe"].close()
    with suppress(OSError):
        if message is not None:
            frame.f_locals["pipe"].send_bytes(message)
        elif part:
            os.write(frame.f_locals["pipe"].fileno(), part)
    (then or partial(time.sleep, 60))()


class NoValue:
    """What no process may send."""


def list_outputs() -> str:
    """Return as JSON what this process may write to, by descriptor: files and pipes, but no sockets."""
    outputs = {}
    for link in [*Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):
            name, flags = str(link.readlink()), fcntl.fcntl(int(link.name), fcntl.F_GETFL)
            if flags & os.O_ACCMODE != os.O_RDONLY and not name.startswith(("socket:", "/memfd:")):
                outputs[link.name] = name
    return json.dumps(outputs)


def obey(task: Task) -> Reading:
    word = task.view.read().decode()
    if word.endswith(" unless stopped"):
        if task.stopped:
            return Reading(count=1, findings=(Finding("Stopped", str(task.stopped[0].reason)),))
        word = word.split()[0]
    if word == "sleep, then die":
        word = "die" if task.stopped else "sleep"
    if word == "list outputs":
        return Reading(findings=(Finding("Outputs", list_outputs()),))
    ACTS.get(word, int)()
    if word == "return what is no value":
        return Reading(findings=(Finding("X", NoValue()),))  # type: ignore[arg-type]
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
