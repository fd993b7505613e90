"""No download before every source is listed; no load before every download is processed; load in order."""

from contextlib import closing

import pytest

from tests.crash.place import finish, make
from windrow.collections.drops.phase import phase
from windrow.ledger import Ledger
from windrow.ledger.facts import facts
from windrow.ledger_facts import AttemptClosed, AttemptOpened, DocumentRead, Listed, StepStarted, TaskClosed, TaskOpened


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    root = make(tmp_path_factory.mktemp("barriers"), zips=3, documents=3)
    assert finish(root) == 0
    with closing(Ledger(root / "ledger.sqlite")) as ledger:
        return list(facts(ledger))


def seqs(told, kind, wanted=lambda one: True):
    return [one.seq for one in told if isinstance(one, kind) and wanted(one)]


def test_every_source_is_listed_before_anything_is_fetched(told):
    listings = {one.seq for one in told if isinstance(one, TaskOpened) and one.phase == phase("zip_name")}
    assert len(listings) == 2
    ends = seqs(told, TaskClosed, lambda one: one.task in listings)
    first = min(seqs(told, AttemptOpened))
    assert max(ends) < first
    # What a later comparison with another host found is told of a file that was fetched.
    assert max(seqs(told, Listed, lambda one: one.subject.attempt is None)) < first


def test_every_download_is_processed_before_anything_is_loaded(told):
    first = min(seqs(told, StepStarted, lambda one: one.step == "upload"))
    assert max(seqs(told, (AttemptOpened, AttemptClosed))) < first
    assert max(seqs(told, (StepStarted, DocumentRead), lambda one: one.step in {"unzip", "xsd"})) < first


def test_every_file_is_loaded_before_any_is_checked(told):
    first = min(seqs(told, StepStarted, lambda one: one.step == "data"))
    assert max(seqs(told, DocumentRead, lambda one: one.step == "upload")) < first


@pytest.mark.parametrize("name", ["upload", "data"])
def test_specimens_come_before_experiments_by_date_and_increment(told, name):
    keys = [
        one.subject.key for one in told if isinstance(one, DocumentRead) and one.step == name and one.reason is None
    ]
    order = [("experiment" in key.rpartition("/")[2], key.split("/")[1].split(".")[1:3]) for key in keys]
    assert len(order) > 20
    assert order == sorted(order)
