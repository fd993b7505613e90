"""A database that cannot be reached costs its own collection: the others are harvested in the same run."""

from contextlib import closing

import pytest

from tests.collections.events.place import calendar, event, serving
from tests.toy_collection.site import Site, page
from windrow import Windrow
from windrow.errors import StoreUnreachable

AWAY = "http://127.0.0.1:9/"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace with a calendar and a site, whose CouchDB does not answer."""
    monkeypatch.setattr("windrow.stores.couchdb.time.sleep", lambda _: None)
    with serving() as calendars, closing(Site({"/": page("A page")})) as site:
        calendars.put("/a.ics", calendar(event("a@x", ":20990115T150000Z")))
        (tmp_path / "windrow.toml").write_text(
            f'[pages]\noperator = "test"\nprivate_hosts = ["127.0.0.1"]\ncontact = "https://example.org/bot"\n[events]\ndocuments = "{AWAY}"\n'
            f'[source.council]\ncollection = "events"\nurl = "{calendars.url}/a.ics"\nreader = "icalendar"\n'
            'branch = "Legislative"\nentity = "Senate"\ntimezone = "America/New_York"\ndelay = "0s"\n'
            f'[source.site]\ncollection = "pages"\nseeds = ["{site.url}"]\ndelay = "0s"\n'
        )
        yield Windrow(tmp_path), site


def test_the_other_collections_are_harvested_and_the_run_ends_with_the_failure(workspace):
    windrow, site = workspace
    summary = windrow.run()
    assert summary.exit_code == 3
    assert any(AWAY in error for error in summary.errors)
    assert "/" in site.paths()
    assert AWAY in repr(windrow.status())


def test_a_run_of_that_collection_alone_ends_with_the_error(workspace):
    with pytest.raises(StoreUnreachable, match=r"127\.0\.0\.1:9"):
        workspace[0].run("events")
