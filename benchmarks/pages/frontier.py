"""A frontier of ten million addresses: written to the ledger, killed with -9 in the middle, opened again and continued.

    python -m benchmarks.pages frontier [--json]        WINDROW_FRONTIER is how many addresses (10,000,000)

A process of its own opens the ledger as a run does and puts addresses of some thousand hosts on record
through the crawl's own writer, in batches of some pages' links, each batch a transaction; one address in
a hundred is visited. It is killed at half of the way. Then it is started again: it reads the
hosts as the dispatcher does, asks each for what is due, and goes on. In the end nothing is lost and
nothing twice. The file is on the disk that temporary files are on.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Comparison
from benchmarks.memory import PeakMemory
from windrow.digest import hash64
from windrow.ledger import Ledger
from windrow.model import ArchivePlace, Attempt, FoundUrl, KeptResponse

ADDRESSES = int(os.environ.get("WINDROW_FRONTIER", "10000000"))
HOSTS = 4_000
LINKS = 20  # new addresses of one page, all of one host
BATCH = 100  # pages of one transaction: what 50 ms of crawling bring
VISITED = 5  # addresses visited in each batch
STEP = LINKS * BATCH
WORDS = [f"{a}{b}" for a in ("ba", "de", "ki", "lo", "mu", "ra", "si", "to") for b in ("nd", "rk", "lt", "mp", "st")]
AT = datetime(2026, 1, 1, tzinfo=UTC)


def origin(host: int) -> str:
    """Name a host."""
    return f"https://www.site{host:04}.example"


def page(batch: int, at: int) -> tuple[int, list[FoundUrl]]:
    """Return the host of a batch's page and its addresses: the same each time."""
    dice = random.Random(batch * BATCH + at)
    host = dice.randrange(HOSTS)
    where = origin(host)
    urls = [
        f"{where}/{dice.choice(WORDS)}/{dice.choice(WORDS)}-{dice.choice(WORDS)}-{batch * STEP + at * LINKS + n}.html"
        for n in range(LINKS)
    ]
    return host, [FoundUrl(hash64(url), where, url, 2) for url in urls]


def attempt(found_url: FoundUrl) -> Attempt:
    """Return the attempt of a page that was fetched and stored."""
    name = f"sha256:{found_url.digest & (1 << 63) - 1:064x}"
    kept = KeptResponse(name, 30_000, ArchivePlace("windrow-000001-1-00001.warc.gz", 1, 9_000))
    return Attempt(found_url.digest, found_url.url, 0, True, AT, 0.01, 200, kept, validators=('"1-2"', ""))


def hosts_of(ledger: Ledger, session: int) -> dict[str, int]:
    """Return the hosts, recorded at the first call."""
    rows = ledger.addresses.hosts("pages")
    if not rows:
        with ledger.writing() as writer:
            for host in range(HOSTS):
                writer.addresses.add_host(session, "pages", "benchmark", origin(host))
        rows = ledger.addresses.hosts("pages")
    return {row.origin: row.seq for row in rows}


def put(ledger: Ledger, session: int, hosts: dict[str, int], batch: int) -> None:
    """Record a batch: its addresses, and some attempts."""
    with ledger.writing() as writer:
        for at in range(BATCH):
            host, found_urls = page(batch, at)
            seq = hosts[origin(host)]
            writer.addresses.add(seq, 0, found_urls)
            if at < VISITED:
                writer.flush()
                schedule = (int(time.time()) + 86_400, 86_400, 0)
                writer.attempts.record_attempt(session, seq, attempt(found_urls[0]), schedule=schedule)


def child(folder: Path, count: int, last: int) -> int:
    """Go on from where the ledger stands, telling each batch that is on the disk.

    In the middle of what follows batch `last`, the process kills itself: however busy the machine is, it is not over.
    """
    began = time.monotonic()
    ledger = Ledger(folder / "ledger.sqlite")
    with ledger.writing() as writer:
        session = writer.sessions.open("benchmark", "frontier")
    hosts = hosts_of(ledger, session)
    opened = time.monotonic() - began
    due = sum(len(ledger.addresses.due(seq, int(time.time()), 8)) for seq in hosts.values())
    fed = time.monotonic() - began
    print(f"opened {opened:.3f} {fed:.3f} {due}", flush=True)
    done = int(ledger.database.connection.execute("SELECT count(*) FROM address").fetchone()[0])
    assert done % STEP == 0, "a batch is there wholly or not at all"
    for batch in range(done // STEP, count // STEP):
        put(ledger, session, hosts, batch)
        print(f"at {batch + 1} {time.monotonic() - began:.3f}", flush=True)
        if batch + 1 == last:
            threading.Timer(0.013, os.kill, (os.getpid(), signal.SIGKILL)).start()
    ledger.close()
    return 0


class ChildReport(NamedTuple):
    """The output of a process before it ended: its last batch, the times of all, and its start."""

    batches: dict[int, float]
    opened: float
    fed: float
    due: int
    peak: int


def drive(folder: Path, count: int, last: int = 0) -> ChildReport:
    """Run a process to the end, or until it has reported batch `last` and some more time has passed."""
    command = [sys.executable, "-m", "benchmarks.pages.frontier", str(folder), str(count), str(last)]
    batches: dict[int, float] = {}
    opened, fed, due = 0.0, 0.0, 0
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        PeakMemory(process.pid, every=0.05) as watch,  # its smoke form runs for half a second
    ):
        assert process.stdout is not None
        for line in process.stdout:
            word, *rest = line.split()
            if word == "opened":
                opened, fed, due = float(rest[0]), float(rest[1]), int(rest[2])
            elif word == "at":
                batches[int(rest[0])] = float(rest[1])
        code = process.wait()
    assert code == (-signal.SIGKILL if last else 0), code
    return ChildReport(batches, opened, fed, due, watch.peak)


def rate(batches: dict[int, float], share: float = 0.2) -> float:
    """Return addresses a second over the last part of a run."""
    last = max(batches)
    first = max(min(batches), int(last - (last - min(batches)) * share))
    return (last - first) * STEP / max(batches[last] - batches[first], 1e-3)


def check(folder: Path, count: int) -> None:
    """Assert that every address is there exactly once."""
    ledger = Ledger(folder / "ledger.sqlite")
    with closing(ledger):
        batches = count // STEP
        there = ledger.database.connection.execute(
            "SELECT count(*), count(DISTINCT digest), sum(due > 0) FROM address"
        ).fetchone()
        assert there == (count, count, batches * VISITED), there
        seen = ledger.database.connection.execute("SELECT count(*), count(DISTINCT address) FROM attempt").fetchone()
        assert seen == (batches * VISITED, batches * VISITED), seen
        for batch in random.Random(1).sample(range(batches), min(batches, 200)):
            for at in range(0, BATCH, 17):
                for link in page(batch, at)[1]:
                    row = ledger.database.connection.execute(
                        "SELECT url FROM address WHERE digest = ?", (link.digest,)
                    ).fetchone()
                    assert row == (link.url,), link
        assert ledger.database.connection.execute("PRAGMA quick_check").fetchone() == ("ok",)


def frontier(count: int = ADDRESSES) -> Iterator[Comparison]:
    """Fill a frontier, kill its process, continue, and report the times."""
    count -= count % STEP
    with tempfile.TemporaryDirectory(prefix="windrow-frontier-") as name:
        folder = Path(name)
        first = drive(folder, count, count // STEP // 2)
        acknowledged = max(first.batches)
        second = drive(folder, count)
        assert min(second.batches) in {acknowledged + 1, acknowledged + 2}, (acknowledged, min(second.batches))
        check(folder, count)
        size = (folder / "ledger.sqlite").stat().st_size
        many = f"{count:,} addresses of {HOSTS:,} hosts"
        message = f"killed at {acknowledged * STEP:,}; {os.cpu_count()} cores shared, load {os.getloadavg()[0]:.1f}"
        whole = first.batches[acknowledged] + second.batches[max(second.batches)]
        rates = f"{rate(first.batches):,.0f} a second before half, {rate(second.batches):,.0f} at the end"
        yield Comparison(f"put {many}", "addresses/s", count / whole, "nobody", None, 1.0, note=f"{rates}; {message}")
        note = f"{size / 1e9:.2f} GB, one in {STEP // VISITED} visited"
        yield Comparison(f"keep {many}", "bytes each", size / count, "nobody", None, 1.0, "less", note)
        note = f"the ledger open after {second.opened:.2f} s, then {second.due:,} addresses, 8 of every host"
        yield Comparison(f"go on with half of {many}", "s", second.fed, "nobody", None, 1.0, "less", note)
        peak = max(first.peak, second.peak) / 1e6
        yield Comparison(f"peak memory of the writer, {many}", "MB", peak, "nobody", None, 1.0, "less", "PSS")


if __name__ == "__main__":
    sys.exit(child(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
