"""Transfers over loopback: windrow with archive and ledger beside lftp and OpenSSH's sftp.

Ours is a run of the engine in a fresh Python: it lists the folder, fetches every file, makes its
digest, writes it into WARC and puts every attempt on the ledger. The peer has its own defaults. Both
write to the same file system. Each is timed as a whole process, and then again over a folder with
nothing to fetch (for one large file: one of eight bytes): the difference is the rate, and the note has the
rate of the whole process too.

A second line has what the client's processes take of the processor, without the server's: on a machine
that does something else besides, it is the steadier one.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.cpu import Meter, Taken
from benchmarks.daemon import Missing, find, place, scratch
from benchmarks.gather import count_captures, read_part_seconds, write
from benchmarks.server import Server, sshd, vsftpd

TURNS = 5


class Load(NamedTuple):
    """The files to fetch: so many of one size."""

    files: int
    size: int

    @property
    def is_one(self) -> bool:
        """Return whether it is a single file, which is counted in bytes."""
        return self.files == 1

    @property
    def idle(self) -> Load:
        """The smallest load for the same client: no files, or one of eight bytes."""
        return Load(1, 8) if self.is_one else Load(0, self.size)

    @property
    def folder(self) -> str:
        """The folder below the server's root."""
        return f"load-{self.files}-{self.size}"

    def rate(self, seconds: float) -> float:
        """Return files or megabytes a second."""
        return (self.size / 1e6 if self.is_one else self.files) / seconds

    def make(self, root: Path) -> None:
        """Write the files, of bytes that cannot be compressed and are the same each time."""
        folder = root / self.folder
        folder.mkdir(parents=True)
        dice = random.Random(self.size)
        block = dice.randbytes(min(self.size, 1 << 20))
        for number in range(self.files):
            with (folder / f"{number:05}.bin").open("wb") as out:
                out.write(number.to_bytes(8, "big"))
                for at in range(8, self.size, len(block)):
                    out.write(block[: self.size - at])


SMALL = Load(2_000, 20_000)
LARGE = Load(1, 1 << 30)
Peer = Callable[[Server, Load, Path], list[str]]


def lftp(server: Server, load: Load, into: Path) -> list[str]:
    """Mirror the folder with one connection, or get its one file."""
    base = server.base.rstrip("/")
    get, mirror = f"get {base}/{load.folder}/00000.bin -o {into}/", f"mirror {base}/{load.folder} {into}/load"
    return [find("lftp"), "-c", f"{server.lftp}; {get if load.is_one else mirror}"]


def sftp(server: Server, load: Load, into: Path) -> list[str]:
    """Get the one file with OpenSSH's client."""
    *words, where = server.sftp
    return [find(words[0]), *words[1:], f"{where}:{server.base}/{load.folder}/00000.bin", str(into / "00000.bin")]


def ours(server: Server, load: Load, into: Path) -> list[str]:
    """Harvest the folder."""
    return write(server.at(f"{server.base.rstrip('/')}/{load.folder}"), into)


def time_client(make: Peer, server: Server, load: Load, into: Path) -> tuple[Taken, dict[str, float]]:
    """Run one client and check what it fetched; return its seconds, and for ours those of its parts."""
    into.mkdir()
    command = make(server, load, into)
    with Meter() as meter:
        began = time.monotonic()
        ended = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        seconds = time.monotonic() - began
    assert ended.returncode == 0, (command[0], ended.returncode, ended.stderr[-1000:])
    if make is ours:
        count_and_bytes, parts = count_captures(into), read_part_seconds(into)
    else:
        parts = {}
        sizes = [path.stat().st_size for path in into.rglob("*.bin")]
        count_and_bytes = (len(sizes), sum(sizes))
    assert count_and_bytes == (load.files, load.files * load.size), count_and_bytes
    shutil.rmtree(into)
    return Taken(seconds, meter.seconds), parts


class Clock:
    """The times of one client's runs over the load (`whole`) and over an empty one (`bare`)."""

    def __init__(self, client: Peer) -> None:
        self.client = client
        self.whole: list[Taken] = []
        self.bare: list[Taken] = []
        self.parts: tuple[list[dict[str, float]], list[dict[str, float]]] = [], []  # of ours, in the same order

    def run(self, server: Server, load: Load, into: Path) -> None:
        """Run the client over the load, and over an empty one."""
        for part_load, taken, parts in zip((load, load.idle), (self.whole, self.bare), self.parts, strict=True):
            seconds, spent_on = time_client(self.client, server, part_load, into)
            taken.append(seconds)
            parts.append(spent_on)

    def rates(self, load: Load, kind: str = "clock") -> list[float]:
        """Return the rate of each run, without the time that the client takes to start, log in and end."""
        start = median_of([getattr(run, kind) for run in self.bare])
        return [load.rate(max(getattr(run, kind) - start, 1e-3)) for run in self.whole]

    def describe(self, load: Load) -> str:
        """Return the rate of whole processes as text, and the time that they take to start and end."""
        rate = load.rate(median_of([run.clock for run in self.whole]))
        text = f"{rate:,.0f} with its {median_of([run.clock for run in self.bare]):.2f} s of start and end"
        if self.client is ours and not load.is_one:
            whole, bare = self.parts
            for part in whole[0]:
                more = median_of([spent_on[part] for spent_on in whole]) - median_of(
                    [spent_on[part] for spent_on in bare]
                )
                text += f", {1e6 * more / load.files:,.0f} us a file for the {part}"
        return text


def compare(
    serve: Callable[[Path, Path], AbstractContextManager[Server]], load: Load, peer: Peer, goal: float,
    turns: int = TURNS,
) -> Iterator[Comparison]:  # fmt: skip
    """Run both alternately, so that load on the machine affects both, and compare the medians."""
    mine, theirs = Clock(ours), Clock(peer)
    with scratch() as folder:
        for part_load in (load, load.idle):
            part_load.make(folder / "root")
        with serve(folder / "root", folder / "server") as server:
            for turn in range(turns):
                for clock in (mine, theirs) if turn % 2 else (theirs, mine):
                    try:
                        clock.run(server, load, folder / f"turn{turn}-{clock.client.__name__}")
                    except Missing:
                        assert clock is theirs
        scheme = server.site.scheme.upper()
        many = f"{load.files:,} files of {load.size / 1000:g} kB"
        work = f"one file of {load.size >> 20} MiB" if load.is_one else many
        unit, name = ("MB/s", peer.__name__) if load.is_one else ("files/s", f"{peer.__name__} mirror")
        totals = f"ours {mine.describe(load)}" + (f", theirs {theirs.describe(load)}" if theirs.whole else "")
        for kind, of, aim in (("clock", unit, goal), ("cpu", f"{unit.removesuffix('/s')} a CPU second", None)):
            rates = mine.rates(load, kind), theirs.rates(load, kind)
            note = f"{turns} runs each, {place(folder)}; {spread(*rates)}" + (f"; {totals}" if kind == "clock" else "")
            ahead = median_of(rates[0]), median_of(rates[1]) or None
            yield Comparison(f"{work} over {scheme}", of, ahead[0], name, ahead[1], aim, note=note)


def small_ftp(load: Load = SMALL, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare many small files over FTP."""
    return compare(vsftpd, load, lftp, 1.1, turns)


def small_sftp(load: Load = SMALL, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare many small files over SFTP."""
    return compare(sshd, load, lftp, 1.1, turns)


def large_ftp(load: Load = LARGE, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare a large file over FTP."""
    return compare(vsftpd, load, lftp, 0.8, turns)


def large_sftp(load: Load = LARGE, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare a large file over SFTP."""
    return compare(sshd, load, sftp, 0.8, turns)
