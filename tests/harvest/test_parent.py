"""A parent's state follows from its children's, after failures, retries and cancellations."""

from collections import Counter

import pytest

from tests.faults.workspace import DAY, put
from windrow.app.decisions import decide
from windrow.app.workspace import Windrow
from windrow.collections.drops.phase import parent_state
from windrow.demo.partner import drop, experiments, pack, specimens
from windrow.ledger import Ledger
from windrow.model import Status


def assert_parent_states(workspace):
    """Assert that the state of every action is its latest download's, and a download's that of its documents."""
    latest = workspace.query_tracker(
        "SELECT a.phase_id, a.status_id, d.phase_id, d.status_id, d.id FROM zip_action a JOIN zip_download d ON d.id ="
        " (SELECT max(l.id) FROM zip_download l JOIN file_source_has_zip h ON h.id = l.zf_id WHERE h.za_id = a.id)"
    )
    assert latest
    for action_phase, action_status, phase, status, download in latest:
        assert (action_phase, action_status) == (phase, status)
        documents = workspace.query_tracker("SELECT phase_id, status_id FROM xml_file WHERE zip_id = ?", download)
        children = Counter((number, Status(word)) for number, word in documents)
        if children and (phase, status) != (4, 5) and status != Status.CANCELLED:
            assert (phase, status) == parent_state(children)


def decide_on(workspace, word, *names, **more):
    """Do what `windrow retry` and `windrow cancel` do."""
    ledger = Ledger(workspace.root / "ledger.sqlite")
    try:
        return decide(Windrow(workspace.root).config, ledger, word, names, **more)
    finally:
        ledger.close()


@pytest.fixture
def mixed(make_workspace):
    """Return a workspace and three keys: of a good zip, of one with an invalid document, and of a file that is not a zip."""
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    good = put(folder, *drop("H", DAY, 1, 2))
    members = {
        f"H.{DAY}.1.specimen.impc.xml": specimens("H", 5),
        f"H.{DAY}.2.specimen.impc.xml": specimens("H", 6).replace(b'gender="male"', b'gender="boy"'),
        f"H.{DAY}.3.experiment.impc.xml": experiments("H", 5),
    }
    part_invalid = put(folder, f"H.{DAY}.2.impc.zip", pack(members))
    no_zip = put(folder, f"H.{DAY}.3.impc.zip", b"PK")
    assert workspace.run().code == 0
    return workspace, good, part_invalid, no_zip


def test_after_a_run(mixed):
    workspace, good, part_invalid, no_zip = mixed
    assert_parent_states(workspace)
    workspace.assert_complete(good)
    assert workspace.action_state(part_invalid) == ("xsd", "failed")
    assert workspace.action_state(no_zip) == ("unzip", "failed")
    assert workspace.session_status() == 0


@pytest.mark.parametrize("last", ["unzip", "xsd", "upload", "data", "context"])
def test_at_every_phase(make_workspace, last):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    key = put(folder, *drop("H", DAY, 1, 2))
    assert workspace.run(last=last).code == 0
    assert workspace.action_state(key) == ("xml_name" if last == "unzip" else last, "done")
    assert_parent_states(workspace)
    assert workspace.run().code == 0
    workspace.assert_complete(key)
    assert_parent_states(workspace)


def test_a_retry_makes_a_new_download(mixed):
    workspace, good, part_invalid, no_zip = mixed
    put(workspace.root / "partner/own", *drop("H", DAY, 3))
    decide_on(workspace, "retry", part_invalid, no_zip)
    assert_parent_states(workspace)
    assert workspace.action_state(part_invalid) == ("xsd", "failed")
    assert workspace.run().code == 0
    assert_parent_states(workspace)
    workspace.assert_complete(good, no_zip)
    assert [state[:2] for state in workspace.downloads(part_invalid)] == [("xsd", "failed")] * 2
    assert [state[:2] for state in workspace.downloads(no_zip)] == [("unzip", "failed"), ("overview", "done")]


def test_what_is_cancelled_rests_with_a_line_in_the_log(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    key = put(folder, *drop("H", DAY, 1))
    other_zip = put(folder, *drop("H", DAY, 2))
    assert workspace.run(last="xsd").code == 0
    assert [named.key for named in decide_on(workspace, "cancel", key)] == [key]
    assert decide_on(workspace, "cancel", key) == []  # it was ended already
    assert workspace.action_state(key) == ("xsd", "cancelled")
    assert [kind for kind, _ in workspace.zip_log(key)] == ["Cancelled"]
    assert workspace.run().code == 0
    assert workspace.action_state(key) == ("xsd", "cancelled")
    assert workspace.loaded_zips() == {other_zip.rpartition("/")[2]}
    assert_parent_states(workspace)
    decide_on(workspace, "retry", key)
    assert workspace.run().code == 0
    workspace.assert_complete(key, other_zip)
    assert_parent_states(workspace)


def test_cancelled_before_any_download(make_workspace):
    workspace = make_workspace("[drops]\nattempts = 1\n")
    folder = workspace.add_folder("own")
    key = put(folder, *drop("H", DAY, 1))
    assert workspace.run(limit=0).code == 0
    assert workspace.action_state(key) == ("download", "pending")
    decide_on(workspace, "cancel", key)
    assert workspace.action_state(key) == ("download", "cancelled")
    assert workspace.run().code == 0
    assert workspace.action_state(key) == ("download", "cancelled")
    assert workspace.downloads(key) == []
    decide_on(workspace, "retry", key)
    assert workspace.action_state(key) == ("download", "pending")
    assert workspace.run().code == 0
    workspace.assert_complete(key)
