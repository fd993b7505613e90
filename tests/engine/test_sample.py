"""What is fetched to be looked at is fetched by the rules of a run."""

from __future__ import annotations

import socket

import pytest

from tests.servers.script import listening
from windrow.engine.sample import sample, sample_answer
from windrow.errors import TerminalFailure
from windrow.fetch.politeness.guard import read_allowed
from windrow.model import Limits, Site, Source
from windrow.reasons import Reason


def greet(line: socket.socket) -> None:
    line.recv(65536)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_an_answer_or_a_file_of_a_private_number_needs_the_line_that_allows_it(tmp_path, host) -> None:
    with listening(greet) as port:
        url = f"http://{host}:{port}/a"
        for allowed in (read_allowed([]), read_allowed(["10.0.0.0/8"]), read_allowed(["127.0.0.1"])):
            site = Site("http", host.strip("[]"), port, timeout=60.0, family="any", allowed=allowed)
            tries = (
                lambda site=site: sample_answer(tmp_path / "answer", Source("s", "any", site), url, Limits()),
                lambda site=site: sample(tmp_path / "file", site, url, url, Limits()),
            )
            for attempt in tries:
                if allowed == read_allowed(["127.0.0.1"]):
                    assert attempt()[0].size == 5
                    continue
                with pytest.raises(TerminalFailure) as failure:
                    attempt()
                assert failure.value.reason is Reason.PRIVATE_ADDRESS
