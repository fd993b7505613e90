"""The pinned figures of cost: measured, compared and written, and the environment in which they hold."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.cost.counting import Figures
from benchmarks.cost.measured import ROOMS

PYTHON = "3.11"
"""The Python of CI; others call other functions."""
COMMAND = "make cost"
"""The command that writes the pins."""
LESS = 0.05
"""The share by which a figure may be below its pin; if it is lower, the pin must be lowered."""
MORE = {"bytes": 0.005}
"""By so much figures of a kind, their first word, may be above their pins: what is random or a time packs to other
lengths. All others are the same each time, and must not be above."""

START = "start"

_PINNED = Path(__file__).with_name("pinned.toml")
_ROOT = Path(__file__).resolve().parents[2]
_LOCK = _ROOT / "requirements" / "dev.txt"
_HEAD = f"""\
# What windrow's work costs, in things that can be counted. `{COMMAND}` writes this file anew. A figure rises only in a
# commit that says why; docs/howto/measure.md tells what each of them is.
"""


def pinned() -> dict[str, dict[str, float]]:
    """Return the pinned figures of each room."""
    rooms = tomllib.loads(_PINNED.read_text())
    return {name: table for name, table in rooms.items() if name != "environment"}


def differences(*, sqlite: bool = True) -> list[str]:
    """Say in what this environment differs from the one of the pins, which is CI's: empty where they hold.

    SQLite is the one that the pins name; where they are written anew, they name the one that is here.
    """
    differing = [f"Python is {sys.version.split()[0]}"] if sys.version_info[:2] != _numbers(PYTHON) else []
    if sqlite and sqlite3.sqlite_version != (there := tomllib.loads(_PINNED.read_text())["environment"]["sqlite"]):
        differing.append(f"SQLite is {sqlite3.sqlite_version} and not {there}")
    locked: dict[str, list[str]] = {}
    for name, number in re.findall(r"^([\w.-]+)==([^\s;]+)", _LOCK.read_text(), re.MULTILINE):
        locked.setdefault(name, []).append(number)  # some have one version for this Python and one for others
    for name, numbers in locked.items():
        try:
            here = version(name)
        except PackageNotFoundError:
            continue  # the lock is for all systems, and some of it is not for this one
        differing += [f"{name} is {here} and not {' or '.join(numbers)}"] if here not in numbers else []
    return differing


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def measure(room: str) -> dict[str, float]:
    """Measure the figures of a room, each in processes of its own in which sets have one order."""
    if room != START:
        return _asked("measured", room)
    with tempfile.TemporaryDirectory() as folder:
        _run("-m", "windrow", "init", folder)
        commands: tuple[list[str], ...] = ([], ["--help"], ["status", "--workspace", folder])
        return {name: figure for words in commands for name, figure in _asked("start", *words).items()}


def _asked(module: str, *words: str) -> dict[str, float]:
    figures: dict[str, float] = json.loads(_run("-m", f"benchmarks.cost.{module}", *words))
    return {name: round(figure, 2) for name, figure in figures.items()}


def _run(*words: str) -> str:
    """Run Python without a person's settings for it or for windrow, and without writing bytecode."""
    theirs = ("PYTHON", "WINDROW", "COV")
    kept = {name: text for name, text in os.environ.items() if name == "PYTHONPATH" or not name.startswith(theirs)}
    kept |= {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, *words], cwd=_ROOT, env=kept, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, (words, ended.stderr[-2000:])
    return ended.stdout


def faults(figures: Figures, pins: Figures) -> Iterator[str]:
    """Return a message for each figure that is above its pin or well below it: by how much, and what to do."""
    for name in {**pins, **figures}:
        if name not in figures:
            yield f"{name}: pinned, and not measured any more. Take it out with `{COMMAND}`."
            continue
        if name not in pins:
            yield f"{name}: {figures[name]:,} and not pinned. Pin it with `{COMMAND}`."
            continue
        here, pin = figures[name], pins[name]
        line = f"{name}: {here:,}, pinned at {pin:,} ({here / pin - 1:+.2%})."
        if here > pin * (1 + MORE.get(name.partition(" ")[0], 0.0)):
            yield f"{line} Find what costs more. If it must, `{COMMAND}` pins it, and the commit says why."
        elif here < pin * (1 - LESS):
            yield f"{line} It costs less: hold that with `{COMMAND}`."


def write() -> None:
    """Measure all rooms and write the pins."""
    lines = [_HEAD, "[environment]", f'sqlite = "{sqlite3.sqlite_version}"']
    for room in (*ROOMS, START):
        lines += ["", f"[{room}]", *(f'"{name}" = {figure}' for name, figure in measure(room).items())]
    _PINNED.write_text("\n".join(lines) + "\n")
