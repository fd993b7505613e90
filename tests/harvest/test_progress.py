"""While a transfer runs, the tracker shows how far it is: at most two seconds behind."""

import random
import sqlite3
import time
from contextlib import closing, suppress
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile

from tests.faults.place import DAY
from tests.faults.server import rogue
from windrow.demo.partner import specimens

BEHIND = 2.0
SLACK = 2.5
"""Seconds that this machine may be busy with other things."""


class Told(bytes):
    """A file that notes when each part of it was asked for: all before it is sent by then."""

    log: list[tuple[float, int]]

    def __getitem__(self, part):
        if isinstance(part, slice):
            self.log.append((time.monotonic(), part.start))
        return bytes.__getitem__(self, part)


def test_sizes_follow_the_transfer(place):
    into = BytesIO()
    with ZipFile(into, "w", ZIP_STORED) as archive:
        archive.writestr(f"H.{DAY}.1.specimen.impc.xml", specimens("H", 1))
        archive.writestr("notes.bin", random.Random(1).randbytes(6_000_000))
    content = Told(into.getvalue())
    content.log = []
    name = f"H.{DAY}.1.impc.zip"
    made = place()
    with rogue(files={f"add/{name}": content}, rate=6e5) as server:
        made.source("own", server.url(), secret="env:HOME", timeout=20)
        process = made.start()
        seen = []
        while process.poll() is None:
            time.sleep(0.1)
            with suppress(sqlite3.Error), closing(sqlite3.connect(made.root / "tracker.sqlite")) as tracker:
                rows = tracker.execute("SELECT downloaded_size_bytes, status_id, phase_id FROM zip_download").fetchall()
                seen += [(time.monotonic(), *row) for row in rows]
        assert process.communicate()[1] == b""
    under_way = [(at, size) for at, size, status, phase in seen if (phase, status) == (1, 2)]
    assert len({size for _, size in under_way}) >= 3
    for at, size in under_way:
        sent = max((start for moment, start in content.log if moment <= at - BEHIND - SLACK), default=0)
        assert size >= sent
    made.whole(f"add/{name}")
    assert made.downloads(name) == [("overview", "done", len(content))]
