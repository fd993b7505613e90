"""Soft 404s of a site that pages crawls: reported with their reason, left out of searches unless asked for."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from windrow.app import Windrow
from windrow.app.begin import prepare
from windrow.ledger import Ledger

MISSING = "<!doctype html><title>Page not found - Town</title><main><h1>Page not found</h1><p>Harbour guide? Try our search.</main>"


def harvest(root, village, monkeypatch):
    """Harvest the first site of the village into a new workspace, and go into it; return the village with the summary."""
    prepare(root)
    (root / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
        f'[source.town]\ncollection = "pages"\nurl = "{village.origin(0)}/"\n'
    )
    monkeypatch.chdir(root)
    village.summary = Windrow(root).run(["town"])
    return village


@pytest.fixture
def town(tmp_path, village, monkeypatch):
    village.clear()
    links = "".join(f"<a href=/gone-{number}.html>{number}</a>" for number in (1, 2, 3))
    prose = "<p>All about the harbour, its boats and the people who work there.</p>"
    village.put(0, "index.html", f"<!doctype html><title>Harbour</title><main><h1>Harbour</h1>{prose}</main>{links}")
    for number in (1, 2, 3):
        village.put(0, f"gone-{number}.html", MISSING)
    return harvest(tmp_path, village, monkeypatch)


def test_soft_404s_are_left_out_of_searches_unless_asked_for(town, windrow):
    def titles(*query):
        return sorted(hit["title"] for hit in windrow("search", *query, "--json").of("page_result"))

    assert titles("harbour") == ["Harbour"]
    assert titles("harbour", "inurl:gone") == []
    assert titles(f"host:{town.origin(0).partition('://')[2].partition(':')[0]}") == ["Harbour"]
    assert titles("harbour", "as-of:2999") == ["Harbour"]
    assert set(titles("is:soft-404")) == {"Page not found - Town"}


def test_why_the_summary_and_status_report_soft_404s(town, windrow, tmp_path):
    text = windrow("why", f"{town.origin(0)}/gone-1.html").out
    assert "it is not the page that was requested: the server answers with status 200, but sends another page" in text
    counts_now = Windrow(tmp_path).status().left_out
    for counts in (town.summary.left_out, counts_now):
        assert [(count.reason, count.addresses) for count in counts] == [("soft_404", 3)]


def test_status_counts_what_is_not_read_until_it_is_repaired(town, tmp_path):
    def not_read():
        return [(count.reason, count.items) for count in Windrow(tmp_path).status().reasons]

    assert not_read() == [("soft_404", 3)]
    town.put(0, "index.html", "<title>Harbour</title><a href=/gone-1.html>1</a><a href='/?sort=1'>sorted</a>")
    town.put(0, "gone-1.html", "<title>Boats</title><main><p>The boats of the harbour, and who built them.</p></main>")
    assert [count.reason for count in Windrow(tmp_path).run(["town"], again=True).left_out] == ["query_denied"]
    assert not_read() == [("soft_404", 2)], "a later session left out something else"


SHELL = (
    "<!doctype html><title>Town</title><main><h1>Town</h1><p>Welcome to our pages. All that you need, every day.</main>"
)
SUSPECT = (
    "several addresses have the same text, without a word of these addresses, or in place of different texts"
    " (is:soft-404 finds them)"
)


@pytest.fixture
def silent_town(tmp_path, village, monkeypatch):
    """A server that returns its front page at each address, with status 200."""
    village.clear()
    names = ("harbour", "boats", "fishing")
    for name in names:
        village.put(0, f"{name}.html", SHELL)
    village.put(0, "index.html", SHELL + "".join(f"<a href=/{name}.html>x</a>" for name in names))
    return harvest(tmp_path, village, monkeypatch)


def test_the_same_text_at_addresses_of_which_it_says_nothing_is_reported_and_left_out(silent_town, windrow, tmp_path):
    def urls(*query):
        return sorted(hit["url"].rpartition("/")[2] for hit in windrow("search", *query, "--json").of("page_result"))

    assert set(urls("inurl:html")) == set()
    assert "harbour.html" not in urls("welcome")
    assert urls("is:soft-404", "inurl:harbour") == ["harbour.html"]
    for query, hidden in (
        ("welcome", "3 pages hidden"),
        ("inurl:harbour", "1 page hidden"),
        ("nothing", ""),
        ("is:soft-404", ""),
    ):
        answer = windrow("search", query)
        assert (hidden in answer.out + answer.err) if hidden else "hidden" not in answer.out + answer.err, query
    text = windrow("why", f"{silent_town.origin(0)}/harbour.html").out
    assert "it may be a soft 404" in text
    assert "the filter is:soft-404 finds it" in text
    for counts in (silent_town.summary.left_out, Windrow(tmp_path).status().left_out):
        assert [(count.reason, count.rule, count.addresses) for count in counts] == [("soft_404", SUSPECT, 3)]


def test_an_address_that_gets_a_page_of_its_own_is_no_suspect_any_more(silent_town, windrow, tmp_path):
    silent_town.put(0, "harbour.html", SHELL.replace("Welcome", "The harbour. Welcome"))
    Windrow(tmp_path).run(["town"], again=True)
    assert [hit["url"].rpartition("/")[2] for hit in windrow("search", "harbour", "--json").of("page_result")] == [
        "harbour.html"
    ]
    assert windrow("search", "is:soft-404", "--json").of("page_result") == []


def test_pages_of_a_site_that_is_closed_for_a_while_are_still_found_and_are_requested_soon(
    tmp_path, village, monkeypatch, windrow
):
    village.clear()
    words = ("boats", "nets", "fish")
    for number, word in enumerate(words):
        village.put(0, f"{number}.html", f"<title>{word}</title><main><p>All about the {word}, and who needs them.")
    village.put(0, "index.html", "".join(f"<a href=/{number}.html>{number}</a>" for number in range(3)))
    harvest(tmp_path, village, monkeypatch)
    for number in range(3):
        village.put(0, f"{number}.html", "<title>Town</title><main><p>Our site is closed today. Please come again.")
    summary = Windrow(tmp_path).run(["town"], again=True)
    assert [(count.reason, count.addresses) for count in summary.left_out] == [("soft_404", 3)]
    assert [hit["title"] for hit in windrow("search", "boats", "--json").of("page_result")] == ["boats"]
    assert windrow("search", "closed", "--json").of("page_result") == []
    with closing(Ledger(tmp_path / "ledger.sqlite")) as ledger:
        (host,) = ledger.addresses.hosts("pages")
        assert ledger.addresses.next_due(host.seq) < time.time() + 3_700
