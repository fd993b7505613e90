"""Captures from end to end in this process: the toy collection reads pages' captures and sends no requests."""

from contextlib import closing
from datetime import timedelta

import pytest

from tests.captures.quotes import ADAPTER, configure, run, run_pages, run_quotes
from tests.toy_collection.site import Site, page
from windrow.app.changes import since_window
from windrow.collections.pages.adapter import ADAPTER as PAGES
from windrow.ledger import Ledger


@pytest.fixture
def site():
    website = Site(
        {
            "/": page("home", "/article1.html", "/article2.html", "/about.html", "/data.json"),
            "/article1.html": page("one", body="<p><q>to be</q> and <q>not to be</q></p>"),
            "/article2.html": page("two", body="<p><q>that is the question</q></p>"),
            "/about.html": page("about", body="<p><q>left out by its address</q></p>"),
            "/data.json": '{"a": 1}',
        }
    )
    website.types["/data.json"] = "application/json"
    yield website
    website.close()


def records(workspace):
    """Return the quotation of each current record, by key without the origin."""
    with ADAPTER._store(workspace) as store:
        assert not list(store.faults())
        return {version.key.split("/", 3)[3]: version.value and version.value["quote"] for version in store.versions()}


def capture_counts(workspace):
    """Return how many captures were seen and taken, and how many lines each rule left out."""
    ledger = Ledger(workspace.ledger)
    try:
        (index,) = ledger.captures.indexes("quotes", "said")
        rules = {(row.reason, row.rule): row.lines for row in ledger.captures.left_out(index.id)}
        return index.seen, index.taken, rules
    finally:
        ledger.close()


EXPECTED = {
    "article1.html#1": "to be",
    "article1.html#2": "not to be",
    "article2.html#1": "that is the question",
}


def test_captures_of_what_pages_kept_become_records_and_nobody_is_asked_again(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace)
    assert records(workspace) == EXPECTED
    assert sorted(site.paths()) == sorted({*site.pages, "/robots.txt"})
    seen, taken, rules = capture_counts(workspace)
    assert (seen, taken) == (5, 2)
    assert rules == {
        ("not_wanted", "it is no HTML"): 1,
        ("out_of_scope", "its address does not match `pages`"): 2,
    }
    with closing(Ledger(workspace.ledger)) as ledger:
        session = ledger.sessions.get(ledger.sessions.latest())
        windows = [since_window(ledger, session.ended + timedelta(seconds=seconds)) for seconds in (0, 2)]
        told = [
            [len([*adapter.changes(workspace, ledger, window)]) for adapter in (PAGES, ADAPTER)] for window in windows
        ]
    assert told == [[5, 3], [0, 0]], "a session may write until it ends what it fetched long before"


def test_captures_are_looked_at_once_run_after_run_and_changes_make_versions(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace)
    run_quotes(workspace)
    assert capture_counts(workspace)[0] == 5
    site.pages["/article2.html"] = page("two", body="<p><q>that is the answer</q></p>")
    ledger = Ledger(workspace.ledger)
    with ledger.writing() as writer:
        for host in ledger.addresses.hosts("pages"):
            writer.addresses.make_due_again([host.seq])
    ledger.close()
    run_pages(workspace)
    run_quotes(workspace)
    assert records(workspace) == EXPECTED | {"article2.html#1": "that is the answer"}
    seen, taken, _ = capture_counts(workspace)
    assert (seen, taken) == (10, 4)  # article1 answered 304, and is still there
    with ADAPTER._store(workspace) as store:
        changes = [version.change for version in store.history(f"{site.url}article1.html#1")]
        assert changes == ["new", "same"]
        assert [version.change for version in store.history(f"{site.url}article2.html#1")] == ["new", "changed"]
