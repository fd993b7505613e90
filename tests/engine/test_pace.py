"""The pace of a host holds over all connections, sources and processes, by the server's own log."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest

from tests.faults.workspace import DAY, DropsWorkspace
from tests.servers.script import listening
from tests.waiting import PATIENCE
from windrow.demo.partner import drop
from windrow.engine.listed.rest import FIRST_WAIT, wait_after

PACE = 0.15


def test_a_host_is_asked_no_sooner_than_its_strictest_source_says(nginx, tmp_path):
    root = nginx.root / "paced"
    for name in ("one", "two"):
        for action in ("add", "edit", "delete"):
            (root / name / action).mkdir(parents=True)
        for number in range(1, 7):
            file, content = drop("H" if name == "one" else "J", DAY, number)
            (root / name / "add" / file).write_bytes(content)
            (root / name / "add" / f"{file}.md5").write_text("nothing useful")
    workspace = DropsWorkspace(tmp_path / "w")
    for name, centre, pace in (("one", "H", PACE), ("two", "J", 0)):
        url = f"http://127.0.0.1:{nginx.plain.port}/drop/paced/{name}/"
        workspace.add_source(name, url, centre, connections=4, delay=f"{pace} s")
    before = len(nginx.log.read_text().splitlines())
    workspace.run()
    lines = [line.split() for line in nginx.log.read_text().splitlines()[before:]]
    assert sum("impc.zip" in line[2] for line in lines) == 24, "zips and their checksums were not all asked for"
    asked = [float(line[0]) for line in lines]
    gaps = [later - earlier for earlier, later in pairwise(asked)]
    # On a busy machine a request may be late, and the next ones on time: stretches of five are compared, and one
    # stretch and one gap in ten may be short.
    stretches = [later - earlier for earlier, later in zip(asked, asked[5:], strict=False)]
    assert sorted(stretches)[len(stretches) // 10] >= 5 * PACE - 0.1, sorted(stretches)[:5]
    assert sum(gaps) >= PACE * len(gaps) - 0.2, sum(gaps)
    assert sorted(gaps)[len(gaps) // 10] >= PACE / 2, sorted(gaps)[:5]
    assert sum(gaps) < 3 * PACE * len(gaps), "slower than it need be"


def serve_listing(asked: bytes, drops: dict[str, bytes]) -> bytes:
    entries = "".join(f'<a href="{name}">{name}</a>  12-Jan-2026 09:00  {len(drops[name])}\n' for name in drops)
    page = f'<pre><a href="../">../</a>\n{entries if b"/add/ " in asked else ""}</pre>'.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s" % (len(page), page)


@pytest.mark.parametrize(("after", "tried"), [("1", 2), ("86400", 1)])
def test_a_server_that_asks_for_a_pause_gets_it_for_everything(tmp_path, after, tried):
    drops = dict(drop("H", DAY, number) for number in range(1, 9))
    times: list[float] = []

    def talk(connection):
        while asked := connection.recv(65536):
            path = asked.split()[1].decode()
            if path.endswith("/"):
                connection.sendall(serve_listing(asked, drops))
                continue
            times.append(time.monotonic())
            if len(times) == 1:
                connection.sendall(f"HTTP/1.1 429 Slow\r\nRetry-After: {after}\r\nContent-Length: 0\r\n\r\n".encode())
                continue
            body = drops[path.rpartition("/")[2]]
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    workspace = DropsWorkspace(tmp_path / "w")
    began = time.monotonic()
    with listening(talk) as port:
        workspace.add_source("own", f"http://127.0.0.1:{port}/", "H", connections=1)
        workspace.run()
    assert time.monotonic() - began < PATIENCE
    assert len(times) == (9 if after == "1" else 1)
    if tried == 2:
        assert times[1] - times[0] >= 1.0
    else:
        assert workspace.query_ledger(
            "SELECT count(*) FROM pending_step WHERE step = 'download' AND status IN (1, 5)"
        ) == [(8,)]
        assert re.search("429", workspace.tasks("own")[-1][2])


def test_waits_double_and_differ():
    for attempt in range(1, 8):
        waits = {wait_after(attempt) for _ in range(50)}
        most = FIRST_WAIT * 2 ** (attempt - 1)
        assert len(waits) > 40
        assert most / 2 <= min(waits) <= max(waits) <= most
