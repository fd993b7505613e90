"""Answers of services that are not archived: recorded, read once, and requested again by a replay."""

import gzip
import os
from dataclasses import replace

from tests.requests.killed import killed_at_each_kind
from tests.requests.workshop import SERVICE, UNARCHIVED, Workshop, collection, documents, send_parts
from tests.sessions import session_settings
from windrow.app.takedowns import take_down
from windrow.contract import Ask, Observation
from windrow.digest import hash64
from windrow.engine.check import check_archive, check_index, check_states
from windrow.engine.progress import Progress
from windrow.engine.session import Session

SECRET = b"an answer that nobody may keep"


def answer_secretly(asked):
    return 200, SECRET + b" of " + asked.body, {}


def ask_twice(task):
    """Send two requests, one after the other, and record both answers."""
    for offer in task.offers:
        first = task.answers.get("first")
        if first is None:
            return Ask("first", "reader", body=b"first")
        second = task.answers.get("second")
        if second is None:
            return [Ask("first", "reader", body=b"first"), Ask("second", "reader", body=b"second")]
        return Observation(offer.key, {"body": (first.view.read() + second.view.read()).decode()})
    return None


def unarchived_files(root):
    return [path for path in root.rglob("*") if path.is_file() and path.name.startswith("unarchived-")]


def attempts(ledger):
    """Return the digest and the file of each answer of the service."""
    text = "SELECT v.digest, v.warc, v.status FROM attempt v JOIN host h ON h.seq = v.host WHERE h.source = 'reader'"
    return ledger.takedowns._database.connection.execute(text).fetchall()


def find_faults(shop):
    ledger, archive = shop.ledger(), shop.workspace.archive.folder
    faults = [fault for fault in check_archive(ledger, archive) if not isinstance(fault, int)]
    faults += [*check_index(ledger, archive), *check_states(ledger)]
    ledger.close()
    return faults


def test_unarchived_answers_of_a_service_are_remembered_and_their_bytes_are_kept_no_longer_than_they_are_needed(
    tmp_path, serve
):
    large = os.urandom(3 << 20)  # more than is kept in memory during the transfer
    service = serve(lambda asked: (200, large.hex().encode(), {}) if asked.body == b"large" else answer_secretly(asked))
    api = serve(documents({"one": b"one", "two": b"two", "large": b"large"}))
    shop = Workshop(tmp_path, api, service, collection(send_parts, UNARCHIVED))
    shop.run()
    assert shop.records()["one"]["body"] == "an answer that nobody may keep of one"
    assert shop.records()["large"]["body"] == large.hex()
    assert unarchived_files(tmp_path) == []
    ledger = shop.ledger()
    rows = attempts(ledger)
    ledger.close()
    assert len(rows) == 3
    assert all(digest.startswith("sha256:") and not warc and status == 200 for digest, warc, status in rows)
    assert find_faults(shop) == []
    shop.run()
    assert len(service.asked) == 3  # no request is sent twice


def test_an_unarchived_answer_stays_while_its_step_waits_for_another_one(tmp_path, serve):
    up = []
    service = serve(lambda asked: answer_secretly(asked) if asked.body == b"first" or up else (401, b"", {}))
    shop = Workshop(tmp_path, serve(documents({"one": b"1"})), service, collection(ask_twice, UNARCHIVED))
    shop.run()
    assert len(unarchived_files(tmp_path)) == 1
    assert find_faults(shop) == []
    up.append(True)
    shop.ask_next()
    shop.run()
    assert "of first" in shop.records()["one"]["body"]
    assert "of second" in shop.records()["one"]["body"]
    assert [request.body for request in service.asked] == [b"first", b"second", b"second"]
    assert unarchived_files(tmp_path) == []


def test_a_replay_asks_again_for_what_is_not_archived_and_only_for_that(tmp_path, serve):
    api = serve(documents({"one": b"one"}))
    for archived in (False, True):
        root = tmp_path / str(archived)
        root.mkdir()
        service = serve(answer_secretly)
        shop = Workshop(root, api, service, collection(send_parts, replace(SERVICE, archived=archived)))
        shop.run()
        before = shop.records()
        shop.adapter.replay(shop.workspace, session_settings(shop.workspace), Progress(quiet=True))
        assert len(service.asked) == (1 if archived else 2)
        assert shop.records() == before
        assert unarchived_files(root) == []
        assert find_faults(shop) == []


def test_another_document_with_the_same_bytes_has_an_unarchived_answer_asked_for_again(tmp_path, serve):
    contents, service = {"one": b"same"}, serve(answer_secretly)
    api = serve(documents(contents))
    shop = Workshop(tmp_path, api, service, collection(send_parts, UNARCHIVED))
    shop.run()
    contents["two"] = b"same"
    ledger = shop.ledger()
    with ledger.writing() as writer:
        writer.addresses.set_due("workshop", [hash64(api.url)], 1)
    ledger.close()
    shop.run()
    assert set(shop.records()) == {"one", "two"}
    assert len(service.asked) == 2
    assert unarchived_files(tmp_path) == []


def test_a_run_killed_anywhere_keeps_unarchived_answers_until_they_are_read_and_none_longer(tmp_path, serve):
    api, service = serve(documents({name: name.encode() for name in ("one", "two")})), serve(answer_secretly)
    template = tmp_path / "template"
    template.mkdir()
    Workshop(template, api, service, collection(send_parts, UNARCHIVED))
    kinds = []
    for kind, when, root in killed_at_each_kind("tests.requests.workshop", template, tmp_path):
        kinds.append(kind)
        shop = Workshop.opened(root, collection(send_parts, UNARCHIVED))
        assert set(shop.records()) == {"one", "two"}, (kind, when)
        assert unarchived_files(root) == [], (kind, when)
        assert find_faults(shop) == [], (kind, when)
    assert len(kinds) > 5
    assert any("address attempt" in kind for kind in kinds)


def test_a_document_that_waits_may_be_forgotten_with_its_unarchived_answers_and_no_run_misses_them(tmp_path, serve):
    service = serve(lambda asked: answer_secretly(asked) if asked.body == b"first" else (401, b"", {}))
    api = serve(documents({"one": b"1"}))
    shop = Workshop(tmp_path, api, service, collection(ask_twice, UNARCHIVED))
    shop.run()
    assert len(unarchived_files(tmp_path)) == 1
    take_down(shop.workspace, session_settings(shop.workspace), [f"{api.url}one"], "asked", {"workshop": shop.adapter})
    assert all(SECRET not in gzip.decompress(path.read_bytes()) for path in unarchived_files(tmp_path))
    for _ in range(2):
        with Session(session_settings(shop.workspace), "run") as session:
            session.run_harvest(shop.adapter.harvest(shop.workspace))
        assert session.repaired == []
    assert unarchived_files(tmp_path) == []
    assert find_faults(shop) == []
