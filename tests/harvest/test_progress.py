"""While a transfer runs, the tracker shows its progress, at most two seconds late."""

import random
import sqlite3
import time
from contextlib import closing, suppress
from io import BytesIO
from zipfile import ZIP_STORED, ZipFile

from tests.faults.server import rogue_server
from tests.faults.workspace import DAY
from windrow.demo.partner import specimens

BEHIND = 2.0
SLACK = 2.5
"""Seconds that this machine may be busy otherwise."""


class LoggedBytes(bytes):
    """A file that logs when each slice of it was read: all bytes before the slice were sent by then."""

    log: list[tuple[float, int]]

    def __getitem__(self, part):
        if isinstance(part, slice):
            self.log.append((time.monotonic(), part.start))
        return bytes.__getitem__(self, part)


def test_sizes_follow_the_transfer(make_workspace):
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        archive.writestr(f"H.{DAY}.1.specimen.impc.xml", specimens("H", 1))
        archive.writestr("notes.bin", random.Random(1).randbytes(6_000_000))
    content = LoggedBytes(buffer.getvalue())
    content.log = []
    name = f"H.{DAY}.1.impc.zip"
    workspace = make_workspace()
    with rogue_server(files={f"add/{name}": content}, rate=6e5) as server:
        workspace.add_source("own", server.url(), secret="env:HOME", timeout=20)
        process = workspace.start()
        seen = []
        while process.poll() is None:
            time.sleep(0.1)
            with suppress(sqlite3.Error), closing(sqlite3.connect(workspace.root / "tracker.sqlite")) as tracker:
                rows = tracker.execute("SELECT downloaded_size_bytes, status_id, phase_id FROM zip_download").fetchall()
                seen += [(time.monotonic(), *row) for row in rows]
        assert process.communicate()[1] == b""
    under_way = [(at, size) for at, size, status, phase in seen if (phase, status) == (1, 2)]
    assert len({size for _, size in under_way}) >= 3
    for at, size in under_way:
        sent = max((start for sliced_at, start in content.log if sliced_at <= at - BEHIND - SLACK), default=0)
        assert size >= sent
    workspace.assert_complete(f"add/{name}")
    assert workspace.downloads(name) == [("overview", "done", len(content))]
