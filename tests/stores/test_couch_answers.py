"""Answers of a CouchDB that are too large or never end, and pages whose documents are large."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tests.servers.couch import serving_couch
from tests.servers.pouchdb import couchdb
from windrow.caps import COUCHDB_ANSWER_BYTES, COUCHDB_ANSWER_SECONDS
from windrow.errors import StoreError, StoreUnreachable
from windrow.stores.couchdb import CouchDocuments
from windrow.stores.couchdb_connection import AnswerTooLarge, CouchConnection, ServerAddress
from windrow.stores.documents import ALL_DOCUMENTS, DocumentDatabase, DocumentView, ViewRange
from windrow.stores.time_limit import wait_while

DECLARED = [DocumentDatabase("a", (DocumentView("all", ("at",)),))]
Send = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def small_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "windrow.stores.couchdb_connection"
    monkeypatch.setattr(f"{module}.COUCHDB_ANSWER_BYTES", COUCHDB_ANSWER_BYTES._replace(number=20_000))
    monkeypatch.setattr(f"{module}.COUCHDB_ANSWER_SECONDS", COUCHDB_ANSWER_SECONDS._replace(number=1))


@contextmanager
def answering(send: Send) -> Iterator[CouchConnection]:
    """Yield a connection to a server that answers a request with what `send` sends."""

    def answer(listener: socket.socket) -> None:
        with suppress(OSError):  # the client closes the connection
            while True:
                client, _ = listener.accept()
                with client:
                    client.recv(1000)
                    send(client)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        with closing(CouchConnection(ServerAddress("127.0.0.1", listener.getsockname()[1], False), {})) as connection:
            yield connection
        listener.shutdown(socket.SHUT_RDWR)


def drip_body(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    drip(client)


def drip_chunks(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        client.sendall(b"1\r\n \r\n")
        time.sleep(0.05)


def drip(client: socket.socket) -> None:
    while True:
        client.sendall(b" ")
        time.sleep(0.05)


def send_nothing(_client: socket.socket) -> None:
    time.sleep(2)


@pytest.mark.parametrize("send", [drip_body, drip_chunks, drip, send_nothing])
def test_an_answer_that_does_not_end_is_given_up_in_time(send: Send) -> None:
    with answering(send) as connection:
        began = time.monotonic()
        with pytest.raises(StoreUnreachable, match="no whole answer within 1 seconds") as caught:
            connection.send("GET", "/a", None)
        assert time.monotonic() - began < 2
        assert "then: windrow run" in caught.value.hint


def send_without_end(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        client.sendall(b" " * 10_000)


def announce_gigabytes(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n" + b" " * 30_000)
    time.sleep(2)


@pytest.mark.parametrize("send", [send_without_end, announce_gigabytes])
def test_of_an_answer_that_is_too_large_no_more_is_read_than_the_cap(send: Send) -> None:
    with answering(send) as connection:
        with pytest.raises(AnswerTooLarge, match="more than 20,000 bytes of an answer") as caught:
            connection.send("GET", "/a", None)
        assert "then: windrow run" in caught.value.hint


def test_an_answer_that_ends_early_is_requested_again() -> None:
    with serving_couch() as couch, closing(CouchDocuments(couch.url, DECLARED)) as store:
        store.write("a", [{"_id": "d1"}])
        send, ended = store._connection.send, []

        def end_early(method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
            if ended:
                return send(method, path, body)
            ended.append(path)
            with answering(lambda client: client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")) as cut:
                return cut.send(method, path, body)

        store._connection.send = end_early  # type: ignore[method-assign]
        assert store.get("a", ["d1"]) == {"d1": {"_id": "d1"}}
        assert len(ended) == 1


def test_a_run_of_requests_ends_with_the_first_answer_that_does_not_end() -> None:
    """Such a request is not sent again at once: five would take five times as long."""
    with serving_couch() as couch, closing(CouchDocuments(couch.url, DECLARED)) as store:
        requests = []

        def wait(_method: str, path: str, answer: tuple[int, object]) -> tuple[int, object]:
            requests.append(path)
            time.sleep(1.5)
            return answer

        couch.change = wait
        with pytest.raises(StoreError):
            store.count("a")
        assert len(requests) == 1


def test_pages_of_large_documents_are_read_in_parts(tmp_path: Path) -> None:
    with couchdb(tmp_path) as (url, secret), closing(CouchDocuments(url, DECLARED, secret)) as store:
        documents = [{"_id": f"d{number}", "at": str(number), "text": "x" * 6_000} for number in range(9)]
        store.write("a", documents)
        assert [*store.get("a", [f"d{number}" for number in range(9)]).values()] == documents
        assert [*store.view("a", "all", ViewRange(limit=ALL_DOCUMENTS))] == documents
        store.write("a", [{**document, "more": 1} for document in documents])
        assert all(document["more"] for document in store.view("a", "all"))
        store.write("a", [{"_id": "d7", "at": "7", "text": "x" * 30_000}])
        with pytest.raises(AnswerTooLarge):
            store.get("a", ["d6", "d7"])
        store._request("DELETE", "/a", good=(200, 202))


def test_changes_are_known_by_the_number_of_documents_if_the_list_of_changes_does_not_have_them() -> None:
    with serving_couch() as couch, closing(CouchDocuments(couch.url, DECLARED)) as store:
        store.write("a", [{"_id": "d1"}, {"_id": "d2"}])
        store.set_checkpoint(1, 17)
        state = store.state("a")
        other_text = state._replace(sequence="2-other")  # as nodes of a cluster give for the same changes
        assert store.changed_since("a", other_text) == set()
        del couch.databases["a"]["d1"]  # purged
        assert store.changed_since("a", state) is None
        store.write("a", (), ["d2"])
        assert store.changed_since("a", state) is None
        changes = [{"results": 7, "last_seq": 9}, {"results": []}, {"results": [{"id": "d1"}], "last_seq": "2-opaque"}]
        for content in changes:
            couch.change = lambda _, path, answer, content=content: (200, content) if "_changes" in path else answer
            with pytest.raises(StoreError, match="not from CouchDB"):
                store.changed_since("a", state)
        for info in (
            {"doc_count": 1 << 63, "update_seq": 1},
            {"doc_count": 1},
            {"doc_count": 1, "update_seq": "\ud800"},
        ):
            couch.change = lambda _, path, answer, info=info: (200, info) if path == "/a" else answer
            with pytest.raises(StoreError, match="not from CouchDB"):
                store.state("a")


@pytest.mark.parametrize("is_silent", [False, True])
def test_a_stopped_run_does_not_wait_for_an_answer(monkeypatch: pytest.MonkeyPatch, is_silent: bool) -> None:
    seconds = COUCHDB_ANSWER_SECONDS._replace(number=600)
    monkeypatch.setattr("windrow.stores.couchdb_connection.COUCHDB_ANSWER_SECONDS", seconds)
    began = time.monotonic()
    with (
        answering((lambda _: time.sleep(20)) if is_silent else drip_body) as connection,
        wait_while(lambda: time.monotonic() < began + 1),
    ):
        for _ in range(2):
            with pytest.raises(StoreUnreachable, match="the run is stopped"):
                connection.send("GET", "/a", None)
    assert time.monotonic() - began < 10
