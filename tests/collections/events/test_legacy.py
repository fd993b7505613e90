"""Documents that VotersDaily itself left in its databases: they are kept, and are in every export and in the API."""

import json

import icalendar
import pytest

from tests.collections.events.place import calendar, configured, event, events, logs, run, serving
from tests.sessions import session_settings
from windrow.collections.events.adapter import ADAPTER
from windrow.collections.events.adapter.api import EventApi
from windrow.collections.events.adapter.databases import open_databases
from windrow.collections.events.documents import complete_document
from windrow.collections.events.exports import FORMS
from windrow.engine.progress import Progress

OLD = {
    "_id": "2009-12-13T00:00:00Z - House Schedule - Recess", "datetime": "2009-12-13T00:00:00Z", "title": "Recess",
    "description": None, "end_datetime": "2009-12-15T00:00:00Z", "branch": "Legislative",
    "entity": "House of Representatives", "source_url": "http://www.house.gov/", "source_text": "<tr>",
    "access_datetime": "2009-08-19T13:43:21Z", "parser_name": "House Schedule", "parser_version": "1.0",
}  # fmt: skip
OLD_LOG = {
    "_id": "2009-08-19T13:43:21Z - House Schedule - success", "parser_name": "House Schedule", "parser_version": "1.0",
    "parser_runtime": 1.5, "source_url": "http://www.house.gov/", "source_text": "<html>", "insert_count": 1,
    "access_datetime": "2009-08-19T13:43:21Z", "result": "success",
}  # fmt: skip


def test_documents_that_votersdaily_left_in_the_databases_stay_when_all_is_written_anew(tmp_path):
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":20270115T150000Z", "Board")))
        workspace = configured(tmp_path, f"{site.url}/a.ics")
        with open_databases(workspace) as held:
            held.store.write(held.events, [OLD, {**OLD, "_id": "theirs", "status": "missing"}])
            held.store.write(held.log, [OLD_LOG])
        run(workspace)
        ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
        run(workspace)
    assert [document["title"] for document in events(workspace)] == ["Recess", "Recess", "Board"]
    assert events(workspace)[0] == OLD
    assert logs(workspace)[0] == OLD_LOG


def test_the_api_answers_in_every_form_with_documents_that_votersdaily_wrote(tmp_path):
    workspace = configured(tmp_path, "http://a.example/a.ics")
    with open_databases(workspace) as held:
        held.store.write(held.events, [OLD, {"_id": "broken", "datetime": "soon"}])
    app = EventApi(workspace)
    for form in FORMS:
        status, _, content, _ = app.respond("GET", "/api/events/all", f"format={form}".encode())
        assert (status, b"Recess" in content) == (200, True), form
    (read,) = icalendar.Calendar.from_ical(app.respond("GET", "/api/events/all", b"format=ical")[2]).walk("VEVENT")
    assert (str(read["DTSTART"].dt), str(read["DTEND"].dt)) == ("2009-12-13", "2009-12-16")
    assert json.loads(app.respond("GET", "/api/events/all", b"")[2])["results"][OLD["_id"]]["title"] == "Recess"
    app.close()


@pytest.mark.parametrize("value", [None, 5, "", "2009-12-13", "2009-12-13T00:00:00+00:00", "2009-13-13T00:00:00Z"])
def test_a_document_without_a_start_that_the_standard_knows_is_in_no_calendar(value):
    assert complete_document({**OLD, "datetime": value}) is None
    assert complete_document({**OLD, "end_datetime": value})["end_datetime"] is None
