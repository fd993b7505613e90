"""Parents reflect their children, whatever became of them: failures, retries and cancellations."""

from collections import Counter

import pytest

from tests.faults.place import DAY, put
from windrow.app.question import decide
from windrow.app.workspace import Windrow
from windrow.collections.drops.phase import parent_state
from windrow.demo.partner import drop, experiments, pack, specimens
from windrow.ledger import Ledger
from windrow.model import Status


def rule_holds(made):
    """Assert that every action equals its latest download, and every download what its documents make of it."""
    latest = made.tracked(
        "SELECT a.phase_id, a.status_id, d.phase_id, d.status_id, d.id FROM zip_action a JOIN zip_download d ON d.id ="
        " (SELECT max(l.id) FROM zip_download l JOIN file_source_has_zip h ON h.id = l.zf_id WHERE h.za_id = a.id)"
    )
    assert latest
    for action_phase, action_status, phase, status, download in latest:
        assert (action_phase, action_status) == (phase, status)
        documents = made.tracked("SELECT phase_id, status_id FROM xml_file WHERE zip_id = ?", download)
        children = Counter((number, Status(word)) for number, word in documents)
        if children and (phase, status) != (4, 5) and status != Status.CANCELLED:
            assert (phase, status) == parent_state(children)


def act(made, word, *names, **more):
    """Do what `windrow retry` and `windrow cancel` do."""
    ledger = Ledger(made.root / "ledger.sqlite")
    try:
        return decide(Windrow(made.root).config, ledger, word, names, **more)
    finally:
        ledger.close()


@pytest.fixture
def mixed(place):
    """Return a place with a zip that is well, one half of which is not valid, and one that is none."""
    made = place()
    folder = made.folder("own")
    good = put(folder, *drop("H", DAY, 1, 2))
    members = {
        f"H.{DAY}.1.specimen.impc.xml": specimens("H", 5),
        f"H.{DAY}.2.specimen.impc.xml": specimens("H", 6).replace(b'gender="male"', b'gender="boy"'),
        f"H.{DAY}.3.experiment.impc.xml": experiments("H", 5),
    }
    half = put(folder, f"H.{DAY}.2.impc.zip", pack(members))
    none = put(folder, f"H.{DAY}.3.impc.zip", b"PK")
    assert made.run().code == 0
    return made, good, half, none


def test_after_a_run(mixed):
    made, good, half, none = mixed
    rule_holds(made)
    made.whole(good)
    assert made.action(half) == ("xsd", "failed")
    assert made.action(none) == ("unzip", "failed")
    assert made.session() == 0


@pytest.mark.parametrize("last", ["unzip", "xsd", "upload", "data", "context"])
def test_at_every_phase(place, last):
    made = place()
    folder = made.folder("own")
    key = put(folder, *drop("H", DAY, 1, 2))
    assert made.run(last=last).code == 0
    assert made.action(key) == ("xml_name" if last == "unzip" else last, "done")
    rule_holds(made)
    assert made.run().code == 0
    made.whole(key)
    rule_holds(made)


def test_a_retry_makes_a_new_download(mixed):
    made, good, half, none = mixed
    put(made.root / "partner/own", *drop("H", DAY, 3))
    act(made, "retry", half, none)
    rule_holds(made)
    assert made.action(half) == ("xsd", "failed")
    assert made.run().code == 0
    rule_holds(made)
    made.whole(good, none)
    assert [state[:2] for state in made.downloads(half)] == [("xsd", "failed")] * 2
    assert [state[:2] for state in made.downloads(none)] == [("unzip", "failed"), ("overview", "done")]


def test_what_is_cancelled_rests_with_a_line_in_the_log(place):
    made = place()
    folder = made.folder("own")
    key = put(folder, *drop("H", DAY, 1))
    other = put(folder, *drop("H", DAY, 2))
    assert made.run(last="xsd").code == 0
    assert [one.key for one in act(made, "cancel", key)] == [key]
    assert act(made, "cancel", key) == []  # it was ended already
    assert made.action(key) == ("xsd", "cancelled")
    assert [kind for kind, _ in made.zip_log(key)] == ["Cancelled"]
    assert made.run().code == 0
    assert made.action(key) == ("xsd", "cancelled")
    assert made.loaded() == {other.rpartition("/")[2]}
    rule_holds(made)
    act(made, "retry", key)
    assert made.run().code == 0
    made.whole(key, other)
    rule_holds(made)


def test_cancelled_before_any_download(place):
    made = place("[drops]\nattempts = 1\n")
    folder = made.folder("own")
    key = put(folder, *drop("H", DAY, 1))
    assert made.run(limit=0).code == 0
    assert made.action(key) == ("download", "pending")
    act(made, "cancel", key)
    assert made.action(key) == ("download", "cancelled")
    assert made.run().code == 0
    assert made.action(key) == ("download", "cancelled")
    assert made.downloads(key) == []
    act(made, "retry", key)
    assert made.action(key) == ("download", "pending")
    assert made.run().code == 0
    made.whole(key)
