"""A store that cannot be reached or is damaged costs its own collection: the others are harvested in the same run."""

import sqlite3
from contextlib import closing

import pytest

from tests.collections.events.place import calendar, event, serving
from tests.toy_collection.site import Site, page
from windrow import Windrow
from windrow.cli.root import main
from windrow.errors import StoreDamaged, StoreUnreachable

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


def test_a_damaged_store_costs_its_own_collection_in_a_run_and_a_replay(workspace, capfd):
    windrow, site = workspace
    config = windrow.config.root / "windrow.toml"
    config.write_text(config.read_text().replace(f'[events]\ndocuments = "{AWAY}"\n', ""))
    records = windrow.config.root / "events.db"
    records.write_bytes(b"no database, but long enough to be taken for one" * 20)
    windrow = Windrow(windrow.config.root)
    summary = windrow.run()
    assert summary.exit_code == 3
    assert any(
        f"{records}: file is not a database (if the file is another program" in error for error in summary.errors
    )
    assert "/" in site.paths()
    assert "file is not a database (if the file is another program" in repr(windrow.status().last)
    with pytest.raises(SystemExit, match="1"):
        main(["replay", "--workspace", str(windrow.config.root)])
    told = capfd.readouterr().err
    assert "1 version of pages after the replay" in told
    assert "these were not read again: events" in told


def test_a_store_that_another_program_made_is_not_left_to_the_next_run(workspace):
    windrow, _ = workspace
    with closing(sqlite3.connect(windrow.config.root / "crawler.sqlite")) as database:
        database.execute("CREATE TABLE unobtanium_database_info (key, value)")
    with pytest.raises(StoreDamaged, match="windrow did not make this file"):
        windrow.run("pages")
