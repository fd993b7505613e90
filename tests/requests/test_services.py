"""Services that steps use: what is sent, what counts as an answer, requests at a time, what is stored."""

import gzip
import hashlib
import io
import os
import threading
from dataclasses import replace
from typing import ClassVar

import pytest

from tests.requests.workshop import SERVICE, Workshop, ask_range, collection, documents, send_form, send_parts
from tests.sessions import session_settings
from tests.waiting import PATIENCE
from windrow.engine.requests.answers import body_of
from windrow.engine.session import Session
from windrow.errors import ReaderFailed, StepError
from windrow.model import Limits
from windrow.reasons import Reason

MARK = b"%PDF-1.5 a mark that is nowhere else"


def md5(asked):
    return 200, hashlib.md5(asked.body).hexdigest().encode(), {}


def test_a_document_is_sent_as_a_file_in_a_form_without_a_copy_of_it_in_the_ledger_or_the_request(tmp_path, serve):
    content = MARK + os.urandom(40 << 20)
    api = serve(documents({"paper.pdf": content, "other.pdf": b"--windrow-\r\n"}))
    service = serve(lambda asked: (200, hashlib.md5(asked.form()["input"][2]).hexdigest().encode(), {}))
    shop = Workshop(tmp_path, api, service, collection(send_form))
    shop.run()
    assert shop.records()["paper.pdf"]["body"] == hashlib.md5(content).hexdigest()
    assert shop.records()["other.pdf"]["body"] == hashlib.md5(b"--windrow-\r\n").hexdigest()
    asked = next(request for request in service.asked if len(request.body) > 1000)
    assert (asked.method, asked.path, asked.fields["accept"]) == ("POST", "/api/process", "application/xml")
    assert asked.form()["input"][:2] == ("paper.pdf", "application/pdf")
    assert asked.body.count(b'name="teiCoordinates"') == 2
    places = [path for path in tmp_path.rglob("*") if path.is_file() and MARK in path.read_bytes()]
    assert [path.suffix for path in places] == [".warc"]
    assert places[0].read_bytes().count(MARK) == 1
    assert shop.workspace.ledger.stat().st_size < 1 << 20


def test_a_part_that_was_offered_is_sent_as_it_lies_in_the_document(tmp_path, serve):
    api = serve(documents({"some.lines": b"first\n\nsecond\nfirst\n"}))
    service = serve(md5)
    shop = Workshop(tmp_path, api, service, collection(send_parts))
    shop.run()
    assert sorted(request.body for request in service.asked) == [b"first", b"first", b"second"]
    assert shop.records()["some.lines-1"]["body"] == hashlib.md5(b"second").hexdigest()


def test_the_same_bytes_from_two_addresses_are_sent_once(tmp_path, serve):
    api = serve(documents({"a.pdf": MARK, "b.pdf": MARK}))
    service = serve(md5)
    shop = Workshop(tmp_path, api, service, collection(send_parts))
    shop.run()
    assert len(service.asked) == 1
    assert set(shop.records()) == {"a.pdf", "b.pdf"}


def test_a_byte_range_is_asked_for_and_its_206_is_the_answer(tmp_path, serve):
    def answer_range(asked):
        assert asked.fields["range"] == "bytes=1000-1009"
        return 206, b"0123456789", {"Content-Range": "bytes 1000-1009/5000"}

    shop = Workshop(tmp_path, serve(documents({"a": b"a"})), serve(answer_range), collection(ask_range))
    shop.run()
    assert shop.records()["a"] == {"status": 206, "body": "0123456789", "reason": None}


def scripted(script, calls, late=None):
    """Answer each document by the next line of its script, then always by the last one; `late` is an event to wait for."""

    def answer(asked):
        lines = script[asked.body.decode()]
        reply = lines[min(calls.get(asked.body, 0), len(lines) - 1)]
        calls[asked.body] = calls.get(asked.body, 0) + 1
        if reply == "late":
            late.wait(PATIENCE)
            return 200, b"too late", {}
        return (*reply, {})

    return answer


SCRIPT = {
    "fine": [(200, b"good")],
    "empty": [(204, b"")],
    "bad": [(500, b"[BAD_INPUT_DATA]")],
    "busy": [(503, b""), (503, b""), (200, b"at last")],
    "slow": ["late"],
    "large": [(200, b"x" * 5000)],
    "refused": [(401, b"who are you?")],
}


def test_answers_of_a_service_are_told_apart_and_nothing_transient_is_stored(tmp_path, serve):
    calls, late = {}, threading.Event()
    service = replace(SERVICE, final=(500, Reason.TIMEOUT), tries=2, seconds=3.0, largest=1000, connections=2)
    api = serve(documents({name: name.encode() for name in SCRIPT}))
    asked = serve(scripted(SCRIPT, calls, late))
    shop = Workshop(tmp_path, api, asked, collection(send_parts, service))
    shop.run()
    late.set()
    replies = {name: (record["status"], record["body"], record["reason"]) for name, record in shop.records().items()}
    assert replies == {
        "fine": (200, "good", None),
        "empty": (204, "", None),
        "bad": (500, "[BAD_INPUT_DATA]", None),
        "busy": (200, "at last", None),
        "slow": (0, "", "timeout"),
        "large": (200, "", "too_large"),
    }
    assert {body.decode(): count for body, count in calls.items() if body != b"refused"} == {
        "fine": 1, "empty": 1, "bad": 1, "busy": 3, "slow": 2, "large": 1,
    }  # fmt: skip
    assert calls[b"refused"] == 1
    assert len(shop.waiting()) == 1
    wait = shop.waits()
    assert (wait.service, wait.documents, wait.why.split(",")[0]) == ("reader", 1, "it answered with status 401")
    assert wait.describe() in shop.notes()[-1]
    asked.answer = scripted(SCRIPT | {"refused": [(200, b"welcome")]}, {})
    before = len(asked.asked)
    shop.run()
    assert len(asked.asked) == before
    shop.ask_next()
    shop.run()
    assert shop.records()["refused"]["body"] == "welcome"
    assert shop.waits() is None
    assert len(asked.asked) == before + 1


def test_a_service_is_asked_by_as_many_requests_at_a_time_as_it_declares(tmp_path, serve):
    barrier = threading.Barrier(4)

    def slow(_asked):
        barrier.wait(PATIENCE)
        return 200, b"done", {}

    api = serve(documents({f"d{number}": b"%d" % number for number in range(12)}))
    service = serve(slow)
    shop = Workshop(tmp_path, api, service, collection(send_parts, replace(SERVICE, connections=4)))
    shop.run()
    assert len(shop.records()) == 12
    assert service.most_at_once == 4


def test_a_packed_answer_is_read_without_memory_for_all_that_it_might_be():
    class CountingBytes(io.BytesIO):
        sizes: ClassVar[list[int]] = []

        def read(self, size=-1, /):
            self.sizes.append(size)
            return super().read(size)

    packed = gzip.compress(b"tea" * 99)
    body = body_of(CountingBytes(packed), {"content-encoding": "gzip"}, Limits(member_size=1 << 40))
    assert body.read() == b"tea" * 99
    assert max(CountingBytes.sizes) <= len(packed)
    with pytest.raises(StepError) as refused:
        body_of(CountingBytes(packed), {"content-encoding": "gzip"}, Limits(member_size=len(packed) - 1))
    assert refused.value.reason is Reason.TOO_LARGE


def test_documents_wait_for_a_service_without_an_address_until_it_has_one(tmp_path, serve):
    service = serve(md5)
    shop = Workshop(tmp_path, serve(documents({"one": b"one"})), service, collection(send_parts))
    settings = (tmp_path / "windrow.toml").read_text()
    (tmp_path / "windrow.toml").write_text(settings.replace(f'reader = "{service.url}"', ""))
    shop = Workshop.opened(tmp_path, shop.made)
    for _ in range(2):
        assert run_exit_code(shop) == 3
        wait = shop.waits()
        assert (wait.service, wait.documents) == ("reader", 1)
        assert wait.why == "it has no address in the configuration: add one"
        assert wait.describe() in shop.notes()[-1]
    assert shop.records() == {}
    (tmp_path / "windrow.toml").write_text(settings)
    shop = Workshop.opened(tmp_path, shop.made)
    assert run_exit_code(shop) == 0
    assert shop.records()["one"]["body"] == hashlib.md5(b"one").hexdigest()
    assert shop.waits() is None


def test_a_replay_without_the_address_of_a_service_leaves_the_records_in_place(tmp_path, serve):
    service = serve(md5)
    shop = Workshop(tmp_path, serve(documents({"one": b"one"})), service, collection(send_parts))
    shop.run()
    settings = (tmp_path / "windrow.toml").read_text()
    (tmp_path / "windrow.toml").write_text(settings.replace(f'reader = "{service.url}"', ""))
    shop = Workshop.opened(tmp_path, shop.made)
    records = shop.records()
    with pytest.raises(ReaderFailed, match="1 document could not be read again"):
        shop.replay()
    assert shop.records() == records


def run_exit_code(shop):
    """Run once; return the exit code."""
    with Session(session_settings(shop.workspace), "run") as session:
        session.run_harvest(shop.adapter.harvest(shop.workspace))
        return session.close()
