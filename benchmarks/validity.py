"""Parsing and XSD of documents in windrow's reader processes, beside libxml2's own `xmllint --schema`.

Ours: the `xsd` step of drops, run by the engine's pool on captures in a WARC archive, as in a run:
each document is sent to a reader process, read from the archive, admitted (encoding, DTD), parsed
and validated within limits of time and memory, and its reading comes back. The peer: `xmllint
--noout --schema` over the same documents as files, as many processes as there are cores, each with
its share. Both are timed whole, and then again with a document for each core: the difference is the rate. A second
line has what all processes of each take of the processor.

The documents are the procedure examples that the shared folder holds: as they are, and gathered
into documents of some 235 kB. Without that folder, windrow's own made-up documents take their place.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from benchmarks.comparison import Comparison, median_of, spread
from benchmarks.cpu import Meter, Taken
from benchmarks.daemon import Missing, find, place, scratch
from benchmarks.gather import write
from benchmarks.shared import shared
from windrow.collections.drops.settings import SHIPPED_SCHEMAS
from windrow.demo.partner import experiments
from windrow.model import Site

TURNS = 5
NAME = "H.2026-01-12.{}.experiment.impc.xml"
ROOM = 240 << 20  # bytes of documents in one run


class Batch(NamedTuple):
    """The documents to validate: a name, distinct documents, and the copies of each."""

    name: str
    documents: list[bytes]
    times: int

    @property
    def size(self) -> int:
        """Return the number of documents."""
        return len(self.documents) * self.times


def examples() -> tuple[str, list[bytes]]:
    """Return "real" and real documents, or "made-up" and generated ones if there are none."""
    try:
        folder = shared("drops/examples")
    except Missing:
        return "made-up", [experiments("H", seed, 4) for seed in range(20)]
    return "real", [path.read_bytes() for path in sorted(folder.glob("*.xml"))]


def concatenate(documents: list[bytes], size: int) -> bytes:
    """Repeat the experiments of all documents in one document of about `size` bytes."""
    roots = [etree.fromstring(document) for document in documents]
    root, copies = roots[0], max(1, size // sum(map(len, documents)))
    (centre,) = root.findall("{*}centre")
    kinds = [experiment for each in roots for experiment in each.iterfind("{*}centre/{*}experiment")]
    for experiment in list(centre):
        centre.remove(experiment)
    for copy in range(copies):
        for number, experiment in enumerate(kinds):
            again = etree.fromstring(etree.tostring(experiment))
            again.set("experimentID", f"{experiment.get('experimentID')}_{copy}_{number}")
            centre.append(again)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def batches(room: int = ROOM) -> Iterator[Batch]:
    """Make the two batches: documents as they are, and large ones."""
    kind, small = examples()
    size = sum(map(len, small)) // len(small)
    yield Batch(f"{kind} documents of {size / 1e3:.0f} kB", small, max(1, room // 6 // sum(map(len, small))))
    large = concatenate(small, 235_000)
    yield Batch(f"{kind} experiments in documents of {len(large) / 1e3:.0f} kB", [large], max(2, room // len(large)))


def peer(files: list[Path], sheet: Path, cores: int) -> Taken:
    """Validate with xmllint, a process per core; return the seconds."""
    program = find("xmllint")
    shares = [[str(file) for file in files[core::cores]] for core in range(cores)]
    with Meter() as meter:
        began = time.monotonic()
        running = [
            subprocess.Popen([program, "--noout", "--schema", str(sheet), *share], stderr=subprocess.DEVNULL)
            for share in shares
            if share
        ]
        codes = [process.wait() for process in running]
        seconds = time.monotonic() - began
    assert set(codes) == {0}, codes
    return Taken(seconds, meter.seconds)


def ours(into: Path, cores: int, most: int) -> Taken:
    """Validate with the engine's pool in a process of its own, `most` documents; return the seconds."""
    command = [sys.executable, "-m", "benchmarks.validity", str(into), str(cores), str(most)]
    with Meter() as meter:
        began = time.monotonic()
        ended = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.monotonic() - began
    report = json.loads(ended.stdout)
    assert (report["bad"], report["count"]) == (0, most), report
    return Taken(seconds, meter.seconds)


def lay_out(batch: Batch, folder: Path) -> list[Path]:
    """Write a batch as files of conforming names."""
    folder.mkdir()
    files = []
    for number in range(batch.size):
        path = folder / NAME.format(number)
        path.write_bytes(batch.documents[number % len(batch.documents)])
        files.append(path)
    return files


def main() -> int:
    """Run the step on every capture of a harvest, and print the number of captures and of invalid ones."""
    from windrow.collections.drops.adapter.harvest import read_schema  # noqa: PLC0415
    from windrow.collections.drops.collection import COLLECTION  # noqa: PLC0415
    from windrow.engine.fetchers.message import Job  # noqa: PLC0415
    from windrow.engine.steps.pool import Pool  # noqa: PLC0415
    from windrow.engine.steps.worker import WorkerConfig  # noqa: PLC0415
    from windrow.model import ArchivePlace, Item, Limits  # noqa: PLC0415

    into, cores, most = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    step = next(number for number, step_ in enumerate(COLLECTION.steps) if step_.phase == "xsd")
    sheets = {name: read_schema(name, path) for name, path in SHIPPED_SCHEMAS.items()}
    text = "SELECT f.file_key, e.digest, e.warc, e.place_offset, e.place_length FROM attempt e"
    with closing(sqlite3.connect(into / "ledger.sqlite")) as ledger, ledger:
        rows = ledger.execute(
            f"{text} JOIN listed_file f ON f.seq = e.listed_file WHERE e.reason IS NULL"
        ).fetchall()  # all of them, even if few are validated: this is not measured
    # Documents of the same bytes are one capture: each is read from there as often as it was offered.
    where = {digest: ArchivePlace(*place) for _, digest, *place in rows if place[0]}

    def jobs() -> Iterator[Job]:
        for number, (key, digest, *_) in enumerate(rows[:most]):
            item = Item(number, "drops", "xml", key, attempt=1, digest=digest)
            yield Job(step, item, where[digest], {})

    pool = Pool(WorkerConfig(COLLECTION, into / "archive", Limits(), sheets), cores)
    readings = [done.result for _, done in pool.run(jobs())]
    pool.close()
    bad = [str(reading) for reading in readings if not reading.done]
    print(json.dumps({"count": len(readings), "bad": len(bad), "first": bad[:1]}))
    return 0


def compare(room: int = ROOM, turns: int = TURNS) -> Iterator[Comparison]:
    """Compare both batches."""
    cores = os.cpu_count() or 1
    for batch in batches(room):
        few = min(cores, batch.size // 2)
        mine: list[Taken] = []
        theirs: list[Taken] = []
        idle: list[Taken] = []
        their_idle: list[Taken] = []
        with scratch() as folder:
            files = lay_out(batch, folder / "documents")
            (folder / "kept").mkdir()
            subprocess.run(write(Site("file", base=str(folder / "documents")), folder / "kept"), check=True)
            for _ in range(turns):
                for most, seconds in ((batch.size, mine), (few, idle)):
                    seconds.append(ours(folder / "kept", cores, most))
                try:
                    for most, seconds in ((batch.size, theirs), (few, their_idle)):
                        seconds.append(peer(files[:most], SHIPPED_SCHEMAS["experiment"], cores))
                except Missing:
                    continue
            runs = f"{batch.size:,} documents, {cores} cores, {turns} runs each, {place(folder)}"
        for kind, unit, aim in (("clock", "documents/s", 0.9), ("cpu", "documents a CPU second", None)):
            rates = [
                _rates(batch.size - few, *([getattr(run, kind) for run in runs] for runs in both))
                for both in ((mine, idle), (theirs, their_idle))
            ]
            yield Comparison(
                f"parse and XSD of {batch.name}", unit, median_of(rates[0]), "xmllint --schema",
                median_of(rates[1]) or None, aim, note=f"{runs}; {spread(*rates)}",
            )  # fmt: skip


def _rates(count: int, whole: list[float], bare: list[float]) -> list[float]:
    """Return the rate of each run, without what it takes to start and end."""
    return [count / max(seconds - median_of(bare), 1e-3) for seconds in whole]


if __name__ == "__main__":
    sys.exit(main())
