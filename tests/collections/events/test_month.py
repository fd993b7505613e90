"""The month of the home of events, by the local days of its sources."""

from datetime import date

from tests.collections.events.test_exports import document
from windrow.collections.events.adapter.databases import EVENT_VIEWS, NEWEST_KEY, SEARCHED_KEYS, EventDatabases
from windrow.collections.events.adapter.home import _select, _show_month
from windrow.stores.documents import DocumentDatabase
from windrow.stores.sqlite_documents import SqliteDocuments


def test_a_day_whose_events_follow_many_of_the_evening_before_is_not_free(tmp_path, monkeypatch):
    """In UTC, the evening of a day in America belongs to the next day."""
    declared = DocumentDatabase("vd_events", EVENT_VIEWS, texts=SEARCHED_KEYS, newest=NEWEST_KEY)
    store = SqliteDocuments(tmp_path / "a.db", (declared,))
    times = [("2026-12-09T00", "2026-12-08T19"), ("2026-12-09T15", "2026-12-09T10")]
    events = [
        document(
            number, datetime=f"{utc}:{number:02}:00Z", local_datetime=f"{local}:{number:02}:00", uid=f"{utc}/{number}"
        )
        for utc, local in times
        for number in range(9)
    ]
    store.write("vd_events", [event | {"_id": event["uid"]} for event in events])
    databases = EventDatabases(store, "vd_events", "vd_log")
    month = _show_month(databases, _select("", {}), date(2026, 12, 1))
    assert [entry.day.day for entry in month.entries] == [8] * 4 + [9] * 4
    assert [day.day for day in month.more] == [8, 9]
    monkeypatch.setattr("windrow.collections.events.adapter.home._READ_OF_DAY", 9)
    month = _show_month(databases, _select("", {}), date(2026, 12, 1))
    assert ([entry.day.day for entry in month.entries], [day.day for day in month.more]) == ([8] * 4, [8, 9])
    store.close()
