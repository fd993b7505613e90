"""Two collections on one site in one run: what both want is requested once, also robots.txt, and the delay holds for both."""

import sqlite3
from contextlib import closing

import pytest

from tests.captures.quotes import CRAWLED, PAGES, harvest_pages
from tests.captures.titles import ADAPTER, COLLECTION
from tests.sessions import session_settings
from tests.toy_collection.site import Site, page
from windrow.config import load
from windrow.engine.check import Fault, check_archive, check_index, check_states
from windrow.engine.session import Session
from windrow.ledger import Ledger

DELAY = 0.3


@pytest.fixture
def site():
    website = Site(
        {
            "/": page("home", "/article1.html", "/article2.html", "/about.html", "/article3.html"),
            "/article1.html": page("one"),
            "/article2.html": page("two"),
            "/article3.html": page("three"),
            "/about.html": page("about"),
        },
        robots="User-agent: *\nDisallow: /article3.html\n",
    )
    yield website
    website.close()


def configure(root, site, *, source=""):
    settings = CRAWLED.replace('delay = "1 ms"', f'delay = "{DELAY:g}s"')
    (root / "windrow.toml").write_text(
        f'{settings}\n[source.web]\ncollection = "pages"\nurl = "{site.url}"\n\n'
        f'[source.heads]\ncollection = "titles"\nurl = "{site.url}"\ndelay = "{DELAY:g}s"\n{source}'
    )
    return load(root, environ={}, collections={"pages": PAGES, "titles": COLLECTION})


def run(workspace, order):
    harvests = {"pages": harvest_pages, "titles": ADAPTER.harvest}
    with Session(session_settings(workspace), "run") as session:
        for name in order:
            session.run_harvest(harvests[name](workspace))
    ledger = Ledger(workspace.ledger)
    faults = [*check_archive(ledger, workspace.archive.folder), *check_index(ledger, workspace.archive.folder)]
    faults += check_states(ledger)
    ledger.close()
    assert [fault for fault in faults if isinstance(fault, Fault)] == []


def titles(workspace):
    with ADAPTER._store(workspace) as store:
        return sorted(version.value["title"] for version in store.versions())


def count_generations(workspace):
    with closing(sqlite3.connect(workspace.root / "summary.sqlite")) as database:
        return database.execute("SELECT count(*) FROM entity_generation").fetchone()[0]


@pytest.mark.parametrize("order", [("pages", "titles"), ("titles", "pages")])
def test_captures_of_one_run_serve_both_collections_and_the_delay_holds_over_them(tmp_path, site, order):
    workspace = configure(tmp_path, site)
    run(workspace, order)
    assert sorted(site.paths()) == ["/", "/about.html", "/article1.html", "/article2.html", "/robots.txt"]
    gaps = [later.at - before.at for before, later in zip(site.asked, site.asked[1:], strict=False)]
    assert min(gaps) >= DELAY - 0.02, gaps
    assert titles(workspace) == ["home", "one", "two"]
    assert count_generations(workspace) == 4
    ledger = Ledger(workspace.ledger)
    last = [
        recorded
        for recorded in ledger.attempts.after(order[1], 0, 99)
        if recorded.attempt.url.endswith("article1.html")
    ]
    taken = ledger.captures.captured(last[0].seq)
    assert taken is not None
    assert taken.collection == order[0]
    ledger.close()


def test_captures_of_an_earlier_run_are_asked_again(tmp_path, site):
    workspace = configure(tmp_path, site)
    run(workspace, ("pages",))
    run(workspace, ("titles",))
    assert site.paths().count("/article1.html") == 2
    assert site.paths().count("/robots.txt") == 2
    assert titles(workspace) == ["home", "one", "two"]


def test_captures_are_not_shared_with_a_source_that_sends_a_secret(tmp_path, site, monkeypatch):
    (tmp_path / "key").write_text("open sesame")
    secret = f'secret = "file:{tmp_path / "key"}"\nsecret_header = "X-Key"\n'
    workspace = configure(tmp_path, site, source=secret)
    run(workspace, ("titles", "pages"))
    assert site.paths().count("/article1.html") == 2
