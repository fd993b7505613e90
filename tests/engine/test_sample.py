"""Samples are fetched by the rules of a run."""

from __future__ import annotations

import socket

import pytest

from tests.servers.script import listening
from windrow.engine.sample import HOPS, sample, sample_address, sample_answer
from windrow.errors import TerminalFailure
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.url import parts
from windrow.model import Credential, Limits, Secret, Site, Source
from windrow.reasons import Reason


def greet(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_an_answer_or_a_file_of_a_private_number_needs_the_line_that_allows_it(tmp_path, host) -> None:
    with listening(greet) as port:
        url = f"http://{host}:{port}/a"
        for allowed in (read_allowed([]), read_allowed(["10.0.0.0/8"]), read_allowed(["127.0.0.1"])):
            site = Site("http", host.strip("[]"), port, timeout=60.0, address_family="any", allowed=allowed)
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


def redirect_to(target: str):
    """Answer every request with a redirect."""

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())

    return answer


@pytest.mark.parametrize("credentials", [(), (Credential(Secret("env:KEY"), header="X-Key"),)], ids=["none", "key"])
def test_each_address_that_a_redirect_leads_to_is_judged_by_the_guard(monkeypatch, credentials) -> None:
    monkeypatch.setenv("KEY", "secret")

    def access(url: str) -> Source:
        site = Site("http", parts(url).host, parts(url).port, timeout=60.0, allowed=read_allowed(["127.0.0.1"]))
        return Source("s", "any", site, credentials=credentials)

    with listening(greet) as inner, listening(redirect_to(f"http://127.0.0.1:{inner}/b")) as outer:
        answer = sample_address(access, f"http://127.0.0.1:{outer}/a", Limits())
        assert (answer.url, answer.body) == (f"http://127.0.0.1:{inner}/b", b"hello")
    with listening(redirect_to(f"http://127.0.0.2:{inner}/b")) as outer:
        with pytest.raises(TerminalFailure) as failure:
            sample_address(access, f"http://127.0.0.1:{outer}/a", Limits())
        assert failure.value.reason is Reason.PRIVATE_ADDRESS
        assert "127.0.0.2" in str(failure.value)


@pytest.mark.parametrize(
    ("target_of", "requests"),
    [
        (lambda _number: "/0", 1),  # requested already
        (lambda number: f"/{number + 1}", HOPS + 1),  # for ever
        (lambda _number: "gopher://a.example/", 1),
        (lambda _number: "", 1),
    ],
)
def test_redirects_that_lead_nowhere_are_told(target_of, requests) -> None:
    urls = []

    def access(url: str) -> Source:
        urls.append(url)
        raise TerminalFailure(url, Reason.REDIRECTED, target=target_of(len(urls) - 1))

    with pytest.raises(TerminalFailure) as failure:
        sample_address(access, "http://a.example/0", Limits())
    assert failure.value.reason is Reason.REDIRECTED
    assert len(urls) == requests
