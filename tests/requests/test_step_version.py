"""A new version of a Settle step: runs say that earlier records wait for a replay, until there was one."""

from contextlib import closing
from dataclasses import replace

from tests.requests.workshop import Server, Workshop, collection, documents
from windrow.contract import Observation, Skip
from windrow.engine.steps.unread import count_unread
from windrow.reasons import Reason


def read_one(task):
    """Read documents by a step that fails at one of them and skips another one."""
    (key,) = [offer.key for offer in task.offers] or [""]
    if key == "bad":
        raise ValueError(key)
    return Skip(Reason.NO_TEXT, key) if key == "odd" else Observation(key, {"by": 1}) if key else None


def read_all(task):
    """Read all documents, as a later version of the step does."""
    return [Observation(offer.key, {"by": 2}) for offer in task.offers]


def notes(shop):
    with closing(shop.ledger()) as ledger:
        tasks = ledger.sessions.tasks(ledger.sessions.get(ledger.sessions.latest()).span)
    return [task.comment for task in tasks if not task.source and "reads new documents" in task.comment]


def values(shop):
    return {key: value["by"] for key, value in shop.records().items()}


def test_a_run_says_that_records_of_an_earlier_version_of_a_settle_step_wait_for_a_replay(tmp_path):
    """A run reads again what failed, and a replay everything: each once."""
    texts = {name: name.encode() for name in ("one", "bad", "odd")}
    with closing(Server(documents(texts))) as api, closing(Server(lambda asked: (200, b"", {}))) as service:
        declared = collection(read_one)
        shop = Workshop(tmp_path, api, service, declared)
        shop.run()
        shop.run()
        assert notes(shop) == []
        assert values(shop) == {"one": 1}
        later = replace(declared, steps=(replace(declared.steps[0], version="2.10", run=read_all),))
        shop = Workshop.opened(tmp_path, later)
        shop.run()
        (note,) = notes(shop)
        assert "version 2.10 of read reads new documents" in note
        assert "windrow replay" in note
        assert values(shop) == {"one": 1, "bad": 2}
        assert count_unread(shop.ledger(), later) == []
        shop.replay()
        assert values(shop) == {"one": 2, "bad": 2, "odd": 2}
        for _ in range(2):
            shop.run()
            assert notes(shop) == []
        assert values(shop) == {"one": 2, "bad": 2, "odd": 2}
        with shop.adapter._store(shop.workspace) as store:
            assert len([*store.versions()]) == 3
