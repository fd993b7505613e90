"""Submissions are ordered by the dates and increments in their names; a retry or a late host does not undo later ones."""

from tests.faults.workspace import put
from windrow.demo.partner import drop

FIRST, EDIT = drop("H", "2026-01-12", 1), drop("H", "2026-01-13", 1, shift=5.0)


def current_by_zip(workspace):
    rows = workspace.query_store("SELECT s.zip_name, count(*) FROM entity e JOIN submission s ON s.id = e.submission_id"
                       " WHERE e.valid_from IS NOT NULL AND e.valid_to IS NULL AND NOT e.tombstone GROUP BY s.zip_name")  # fmt: skip
    return dict(rows)


def test_a_retry_of_an_add_does_not_undo_the_edit_and_delete_that_followed(make_workspace):
    workspace = make_workspace()
    folder = workspace.add_folder("own")
    key = put(folder, *FIRST)
    assert workspace.run().code == 0
    put(folder, *EDIT, action="edit")
    assert workspace.run().code == 0
    before = current_by_zip(workspace)
    assert set(before) == {EDIT[0]}
    workspace.retry(key)
    assert workspace.run().code == 0
    assert current_by_zip(workspace) == before
    assert workspace.query_ledger("SELECT count(*) FROM finding WHERE kind = 'Overridden' AND level = 'note'")[0][0] > 0

    gone = drop("H", "2026-01-14", 1)
    put(folder, gone[0], EDIT[1], action="delete")
    assert workspace.run().code == 0
    assert current_by_zip(workspace) == {}
    workspace.retry(key, f"edit/{EDIT[0]}")
    assert workspace.run().code == 0
    assert current_by_zip(workspace) == {}


def test_hosts_that_come_up_in_another_order_give_the_same_records(make_workspace):
    workspace = make_workspace()
    late = workspace.add_folder("late")
    folder = workspace.add_folder("own")
    put(folder, *EDIT, action="edit")
    assert workspace.run().code == 0
    put(late, *FIRST)
    assert workspace.run().code == 0
    assert set(current_by_zip(workspace)) == {EDIT[0]}
