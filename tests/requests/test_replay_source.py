"""A step that reads captures again gets the source of each, as configured now."""

from contextlib import closing
from dataclasses import replace

from tests.requests.glossary import COLLECTION, configure, load_workspace, run
from tests.sessions import session_settings
from tests.toy_collection.server import Glossary
from windrow.adapters.records import RecordAdapter
from windrow.contract import Observation, Settle, Skip, Task
from windrow.engine.progress import Progress
from windrow.ledger import Ledger
from windrow.reasons import Reason


def observe_source(task: Task) -> list[Observation | Skip]:
    every = task.source and task.source.options["every"]
    twice = (Observation("listed twice", {"every": every, "n": number}) for number in (1, 2))
    terms = (Observation(offer.key, {"every": every}) for offer in task.offers)
    return [*terms, *twice, Skip(Reason.NO_TEXT, "an empty part")]


WITH_SOURCE = replace(COLLECTION, steps=(Settle("define", "1", observe_source),))


def test_a_replay_gives_steps_the_source_of_a_attempt_and_asks_nobody(tmp_path):
    server = Glossary(terms=2)
    try:
        run(configure(tmp_path, server), collection=WITH_SOURCE)
        workspace, asked = configure(tmp_path, server, every="7s"), len(server.asked)
        adapter = RecordAdapter(WITH_SOURCE)
        adapter.replay(workspace, session_settings(workspace), Progress(quiet=True))
        assert len(server.asked) == asked
        with adapter._store(workspace) as store:
            assert {version.value["every"] for version in store.versions()} == {7.0}
    finally:
        server.close()


def test_a_replay_keeps_the_records_of_a_source_that_is_not_configured_any_more(tmp_path):
    server = Glossary(terms=3)
    try:
        run(configure(tmp_path, server), collection=WITH_SOURCE)
        adapter = RecordAdapter(WITH_SOURCE)
        path = tmp_path / "windrow.toml"
        path.write_text(path.read_text().replace("[source.words]", "[source.others]"))
        workspace, asked = load_workspace(tmp_path), len(server.asked)
        with adapter._store(workspace) as store:
            before, words = [*store.versions()], [*store.entries_not_reread(["others"], ())]
            skipped = store.skipped("an empty part")
        assert len(before) == 4
        with closing(Ledger(workspace.ledger)) as ledger:
            counts = {(count.reason, count.addresses) for _, count in ledger.sessions.rule_counts("words")}
        assert counts == {("no_text", 1), ("listed_twice", 1)}
        assert len(words) == len(skipped) == 1
        for _ in range(2):  # what was carried over is carried over again
            report = adapter.replay(workspace, session_settings(workspace), Progress(quiet=True))
            assert report.versions[1:] == (4, 4, 0, 0)
            with adapter._store(workspace) as store:
                assert [*store.versions()] == before
                assert [*store.entries_not_reread(["others"], ())] == words
                assert store.skipped("an empty part") == skipped
                assert not [*store.faults()]
        assert len(server.asked) == asked
    finally:
        server.close()
