"""A step that reads kept captures again is given the source of each, as it is configured now."""

from dataclasses import replace

from tests.requests.glossary import COLLECTION, configured, run, setup_of
from tests.toy_collection.server import Glossary
from windrow.contract import Observation, Settle, Task
from windrow.engine.progress import Progress
from windrow.record_adapter import RecordAdapter


def named(task: Task) -> list[Observation]:
    return [Observation(offer.key, {"every": task.source and task.source.options["every"]}) for offer in task.offers]


NAMED = replace(COLLECTION, steps=(Settle("define", "1", named),))


def test_a_replay_gives_steps_the_source_of_a_visit_and_asks_nobody(tmp_path):
    server = Glossary(terms=2)
    try:
        run(configured(tmp_path, server), collection=NAMED)
        workspace, asked = configured(tmp_path, server, every="7s"), len(server.asked)
        adapter = RecordAdapter(NAMED)
        adapter.replay(workspace, setup_of(workspace), Progress(quiet=True))
        assert len(server.asked) == asked
        with adapter._store(workspace) as store:
            assert {one.value["every"] for one in store.versions()} == {7.0}
    finally:
        server.close()
