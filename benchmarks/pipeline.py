"""The whole pipeline, from transfer to loaded: zips of XML through a workspace, and the memory that takes.

A workspace is made as `windrow init` leaves it, with one centre and one source, and harvested by
`windrow.open(FOLDER).run()` in a process of its own: `python -m benchmarks.pipeline FOLDER`.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Comparison
from benchmarks.daemon import Missing, place, scratch
from benchmarks.memory import run_measured
from benchmarks.server import vsftpd
from windrow.demo.partner import experiments, pack, specimens

ZIPS = 2_000
PAIRS = 5
FLAT = 1 / 1.2
"""Ten times the zips may take a fifth more memory."""
CENTRE = "H"
TOML = f"""name = "benchmark"
contact = "operator@example.org"

[[drops.centre]]
short_name = "{CENTRE}"
"""


class Outcome(NamedTuple):
    """The time, memory and result of one run of the pipeline."""

    documents: int
    seconds: float
    peak: int  # bytes


def drop(folder: Path, zips: int, pairs: int = PAIRS) -> None:
    """Write conforming zips to a folder, each of `pairs` specimen and experiment documents of about 10 kB."""
    for action in ("add", "edit", "delete"):
        (folder / action).mkdir(parents=True)
    for number in range(zips):
        members = {}
        for index in range(number * pairs, (number + 1) * pairs):
            day = f"2026-01-{1 + index % 28:02}"
            members[f"{CENTRE}.{day}.{index}.specimen.impc.xml"] = specimens(CENTRE, index, 30)
            members[f"{CENTRE}.{day}.{index}.experiment.impc.xml"] = experiments(CENTRE, index, 6)
        (folder / "add" / f"{CENTRE}.2026-01-12.{number}.impc.zip").write_bytes(pack(members))


def workspace(folder: Path, url: str, secret: str = "") -> None:
    """Make a workspace with one source."""
    (folder / "sources").mkdir(parents=True)
    (folder / "windrow.toml").write_text(TOML)
    lines = [f'url = "{url}"', 'collection = "drops"', f'centre = "{CENTRE}"', *([secret] if secret else [])]
    (folder / "sources" / "h.toml").write_text("\n".join(lines) + "\n")


def run(folder: Path, expected: int) -> Outcome:
    """Harvest a workspace in a process of its own, and check that every document is loaded and in the projections."""
    began = time.monotonic()
    code, peak = run_measured([sys.executable, "-m", "benchmarks.pipeline", str(folder)], Path.cwd())
    seconds = time.monotonic() - began
    with closing(sqlite3.connect(folder / "drops.sqlite")) as store, store:
        published = store.execute("SELECT count(*) FROM submission WHERE published_at IS NOT NULL").fetchone()[0]
    with closing(sqlite3.connect(folder / "tracker.sqlite")) as tracker, tracker:
        tracked = tracker.execute("SELECT count(*) FROM xml_file WHERE phase_id >= 10 AND status_id = 3").fetchone()[0]
    assert (code, published, tracked) == (0, expected, expected), (code, published, tracked)
    return Outcome(published, seconds, peak)


def outcome(folder: Path, zips: int, pairs: int = PAIRS) -> tuple[Outcome, str]:
    """Run this many zips through the pipeline, over FTP if the server can run; return the place that was used."""
    root = folder / "drop"
    drop(root, zips, pairs)
    with ExitStack() as stack:
        try:
            site = stack.enter_context(vsftpd(root, folder / "server")).site
            url, way = f"ftp://{site.username}@{site.host}:{site.port}/", "over FTP"
            secret = f'secret = "{site.secret.place}"' if site.secret else ""
        except Missing:
            url, secret, way = f"file://{root}/", "", "from a folder"
        workspace(folder / "workspace", url, secret)
        return run(folder / "workspace", zips * pairs * 2), f"{way}, {place(folder)}"


def compare(zips: int = ZIPS, pairs: int = PAIRS) -> Iterator[Comparison]:
    """Compare the memory of a run with that of a run ten times as long, and yield the longer one's rate."""
    few = max(1, zips // 10)
    with scratch() as folder:
        small, _ = outcome(folder, few, pairs)
    with scratch() as folder:
        large, way = outcome(folder, zips, pairs)
    rate = large.documents / large.seconds
    note = f"{large.documents:,} documents in {large.seconds:.1f} s {way}; no peer does this"
    yield Comparison(f"transfer to loaded, {zips:,} zips", "documents/s", rate, "nobody", None, 1.0, note=note)
    sizes = (large.peak / 1e6, small.peak / 1e6)
    yield Comparison(
        f"peak memory, {zips:,} zips", "MB", sizes[0], f"windrow with {few:,}", sizes[1], FLAT, "less",
        note="sum of PSS over the process tree",
    )  # fmt: skip


def main() -> int:
    """Harvest the workspace named, as a person's script would, and print its outcome."""
    import windrow  # noqa: PLC0415

    return windrow.open(sys.argv[1]).run().exit_code or 0


if __name__ == "__main__":
    sys.exit(main())
