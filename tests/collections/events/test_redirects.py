"""Calendars whose address redirects: what it redirects to is read when it does, and not by itself."""

import sqlite3
from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import calendar, configured, event, events, run, serving
from windrow.ledger import Ledger

JANUARY, MARCH = ":20270115T150000Z", ":20270301T150000Z"


@pytest.fixture
def site():
    with serving() as web_site:
        yield web_site


def lead(site, path, target, status=302):
    site.documents[path] = (status, "text/html", b"", {"Location": f"{site.url}{target}"})


def run_later(workspace, seconds=1.05):
    pass_time(seconds)
    return run(workspace)


def count(site, *paths):
    return [site.asked.count(path) for path in paths]


def unused(workspace):
    """Return the answers that are told in `status` as not used."""
    with closing(Ledger(workspace.ledger)) as ledger:
        return [f"{row.example}: {row.reason}" for row in ledger.requests.unused("events", "council")]


def test_an_address_is_read_while_the_calendar_redirects_to_it_and_no_longer(tmp_path, site):
    """The abandoned one was read for ever, and its event went back and forth between two times."""
    lead(site, "/a.ics", "/between.ics", 301)
    lead(site, "/between.ics", "/old.ics")
    site.put("/old.ics", calendar(event("a@x", JANUARY)))
    site.put("/new.ics", calendar(event("a@x", MARCH)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="10s")
    run(workspace)
    run_later(workspace)
    assert count(site, "/a.ics", "/between.ics", "/old.ics") == [1, 1, 1], "nothing is due"
    run_later(workspace, 10)
    assert count(site, "/a.ics", "/between.ics", "/old.ics") == [2, 2, 2]
    lead(site, "/between.ics", "/new.ics")
    run_later(workspace, 10)
    run_later(workspace, 10)
    (document,) = events(workspace)
    assert (document["datetime"], document["revision"]) == ("2027-03-01T15:00:00Z", 1)
    assert count(site, "/a.ics", "/between.ics", "/old.ics", "/new.ics") == [4, 4, 2, 2]
    workspace = configured(tmp_path, f"{site.url}/new.ics", every="10s")  # the new address as the source's own
    run_later(workspace)
    run_later(workspace, 10)
    assert count(site, "/a.ics", "/between.ics", "/old.ics", "/new.ics") == [4, 4, 2, 4]


def test_an_address_that_failed_is_not_repeated_when_the_calendar_redirects_elsewhere(tmp_path, site):
    lead(site, "/a.ics", "/old.ics")
    site.put("/old.ics", "busy", "text/plain", 500)
    site.put("/new.ics", calendar(event("a@x", MARCH)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1d")
    run(workspace)
    run_later(workspace, 61)
    assert count(site, "/a.ics", "/old.ics") == [1, 2], "it is repeated after a pause, since it failed"
    lead(site, "/a.ics", "/new.ics")
    run_later(workspace, 86_400)
    asked = count(site, "/old.ics")
    run_later(workspace, 86_400)
    assert count(site, "/old.ics", "/new.ics") == [*asked, 2]


def test_redirects_in_a_circle_are_told_until_they_end(tmp_path, site):
    lead(site, "/a.ics", "/b.ics")
    lead(site, "/b.ics", "/a.ics")
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    assert run(workspace).failed
    assert count(site, "/a.ics", "/b.ics") == [1, 1]
    assert unused(workspace) == [f"{site.url}/b.ics: redirected"]
    assert run_later(workspace).failed
    site.put("/a.ics", calendar(event("a@x", MARCH)))
    assert not run_later(workspace).failed
    assert len(events(workspace)) == 1
    assert unused(workspace) == []
    asked = count(site, "/b.ics")
    run_later(workspace, 600)
    assert count(site, "/b.ics") == asked


def test_targets_that_an_earlier_version_repeated_are_not_requested_any_more(tmp_path, site):
    lead(site, "/a.ics", "/old.ics")
    site.put("/old.ics", calendar(event("a@x", JANUARY)))
    site.put("/new.ics", calendar(event("a@x", MARCH)))
    workspace = configured(tmp_path, f"{site.url}/a.ics", every="1s")
    run(workspace)
    lead(site, "/a.ics", "/new.ics")
    with closing(sqlite3.connect(workspace.ledger)) as ledger, ledger:
        ledger.execute("UPDATE address SET due = 100, interval = 1 WHERE url LIKE '%old.ics'")
    run_later(workspace)
    assert count(site, "/old.ics", "/new.ics") == [1, 1]
