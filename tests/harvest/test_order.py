"""The order of submissions is that of the names' dates and increments: a retry, or a late host, undoes nothing."""

from tests.faults.place import put
from windrow.demo.partner import drop

FIRST, EDIT = drop("H", "2026-01-12", 1), drop("H", "2026-01-13", 1, shift=5.0)


def current(made):
    rows = made.stored("SELECT s.zip_name, count(*) FROM entity e JOIN submission s ON s.id = e.submission_id"
                       " WHERE e.valid_from IS NOT NULL AND e.valid_to IS NULL AND NOT e.tombstone GROUP BY s.zip_name")  # fmt: skip
    return dict(rows)


def test_a_retry_of_an_add_does_not_undo_the_edit_and_delete_that_followed(place):
    made = place()
    folder = made.folder("own")
    key = put(folder, *FIRST)
    assert made.run().code == 0
    put(folder, *EDIT, action="edit")
    assert made.run().code == 0
    before = current(made)
    assert set(before) == {EDIT[0]}
    made.retry(key)
    assert made.run().code == 0
    assert current(made) == before
    assert made.ask("SELECT count(*) FROM finding WHERE kind = 'Overridden' AND level = 'note'")[0][0] > 0

    gone = drop("H", "2026-01-14", 1)
    put(folder, gone[0], EDIT[1], action="delete")
    assert made.run().code == 0
    assert current(made) == {}
    made.retry(key, f"edit/{EDIT[0]}")
    assert made.run().code == 0
    assert current(made) == {}


def test_hosts_that_come_up_in_another_order_give_the_same_records(place):
    made = place()
    late = made.folder("late")
    folder = made.folder("own")
    put(folder, *EDIT, action="edit")
    assert made.run().code == 0
    put(late, *FIRST)
    assert made.run().code == 0
    assert set(current(made)) == {EDIT[0]}
