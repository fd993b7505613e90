"""No download before every source is listed; no load before every download is processed; load in order."""

from contextlib import closing

import pytest

from tests.crash.workspace import finish_run, make_workspace
from windrow.collections.drops.phase import phase_id
from windrow.ledger import Ledger
from windrow.ledger.facts import facts
from windrow.ledger_facts import AttemptClosed, AttemptOpened, DocumentRead, Listed, StepStarted, TaskClosed, TaskOpened


@pytest.fixture(scope="module")
def recorded_facts(tmp_path_factory):
    root = make_workspace(tmp_path_factory.mktemp("barriers"), zips=3, documents=3)
    assert finish_run(root) == 0
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return list(facts(ledger))


def seqs(recorded_facts, kind, wanted=lambda fact: True):
    return [fact.seq for fact in recorded_facts if isinstance(fact, kind) and wanted(fact)]


def test_every_source_is_listed_before_anything_is_fetched(recorded_facts):
    listings = {
        fact.seq for fact in recorded_facts if isinstance(fact, TaskOpened) and fact.phase == phase_id("zip_name")
    }
    assert len(listings) == 2
    ends = seqs(recorded_facts, TaskClosed, lambda fact: fact.task in listings)
    first = min(seqs(recorded_facts, AttemptOpened))
    assert max(ends) < first
    # A comparison with another host, later, is recorded for a file that was fetched.
    assert max(seqs(recorded_facts, Listed, lambda fact: fact.subject.attempt is None)) < first


def test_every_download_is_processed_before_anything_is_loaded(recorded_facts):
    first = min(seqs(recorded_facts, StepStarted, lambda fact: fact.step == "upload"))
    assert max(seqs(recorded_facts, (AttemptOpened, AttemptClosed))) < first
    assert max(seqs(recorded_facts, (StepStarted, DocumentRead), lambda fact: fact.step in {"unzip", "xsd"})) < first


def test_every_file_is_loaded_before_any_is_checked(recorded_facts):
    first = min(seqs(recorded_facts, StepStarted, lambda fact: fact.step == "data"))
    assert max(seqs(recorded_facts, DocumentRead, lambda fact: fact.step == "upload")) < first


@pytest.mark.parametrize("name", ["upload", "data"])
def test_specimens_come_before_experiments_by_date_and_increment(recorded_facts, name):
    keys = [
        fact.subject.key
        for fact in recorded_facts
        if isinstance(fact, DocumentRead) and fact.step == name and fact.reason is None
    ]
    order = [("experiment" in key.rpartition("/")[2], key.split("/")[1].split(".")[1:3]) for key in keys]
    assert len(order) > 20
    assert order == sorted(order)
