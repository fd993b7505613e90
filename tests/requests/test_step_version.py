"""A new version of a Settle step: runs say that earlier records wait for a replay, until there was one."""

from dataclasses import replace

from tests.requests.workshop import SERVICE, Server, Workshop, collection, documents, send_parts
from tests.sessions import session_settings
from windrow.engine.progress import Progress


def notes(shop):
    ledger = shop.ledger()
    try:
        tasks = ledger.sessions.tasks(ledger.sessions.get(ledger.sessions.latest()).span)
        return [task.comment for task in tasks if not task.source]
    finally:
        ledger.close()


def test_a_run_says_that_records_of_an_earlier_version_of_a_settle_step_wait_for_a_replay(tmp_path):
    api, service = Server(documents({"one": b"one"})), Server(lambda asked: (200, b"", {}))
    declared = collection(send_parts, SERVICE)
    shop = Workshop(tmp_path, api, service, declared)
    shop.run()
    shop.run()
    assert notes(shop) == []
    shop = Workshop.opened(tmp_path, replace(declared, steps=(replace(declared.steps[0], version="2.10"),)))
    shop.run()
    (note,) = notes(shop)
    assert "version 2.10 of read reads new documents" in note
    assert "windrow replay" in note
    shop.adapter.replay(shop.workspace, session_settings(shop.workspace), Progress(quiet=True))
    shop.run()
    assert notes(shop) == []
    shop.run()
    assert notes(shop) == []
    assert set(shop.records()) == {"one"}
    api.close()
    service.close()
