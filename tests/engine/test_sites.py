"""A crawl of a small web: its servers get exactly the requests they allow, and not sooner than they allow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from warcio import ArchiveIterator

from tests.engine.site_crawl import LIMITS, change_ledger, crawl_sites, faults, query_ledger, source
from tests.servers.sites import HOSTS


@pytest.fixture(scope="module")
def crawled(sites, tmp_path_factory):
    """Crawl the whole web once; return the workspace and the lines of the server's log."""
    root = tmp_path_factory.mktemp("crawl")
    before = len(sites.lines())
    sites.odd.asked.clear()
    limits = replace(LIMITS, answer_time=5.0)  # some servers are silent or slow
    assert crawl_sites(root, source(sites.seeds, timeout=3.0), limits=limits) == 3, (
        "hosts that do not let themselves be asked fail their source"
    )
    return root, sites.lines()[before:]


def all_requests(sites, lines):
    """Return every request: the server's address and the path."""
    return [(line.host, line.path) for line in lines] + [(HOSTS["odd"], line[1]) for line in direct_requests(sites)]


def direct_requests(sites):
    """Return the requests that the small server got without nginx before it."""
    proxied = ("/cal/", "/session/", "/busy/", "/down/")
    return [line for line in sites.odd.asked if not line[1].startswith(proxied)]


def reasons(root, ending):
    rows = query_ledger(root, "SELECT a.url, v.status, v.reason FROM attempt v JOIN address a ON a.digest = v.address")
    return [(status, reason) for url, status, reason in rows if url.endswith(ending)]


def test_what_is_asked_is_what_may_be_asked(sites, crawled):
    _root, lines = crawled
    requested = set(all_requests(sites, lines))
    assert requested - sites.wanted == set(), "these may not be asked for"
    assert sites.wanted - requested == set(), "these may be, and were not"
    assert sites.pages > 2000
    assert len({host for host, _ in requested}) >= 14


def test_every_page_is_asked_once(sites, crawled):
    _root, lines = crawled
    repeated = {key: count for key, count in Counter(all_requests(sites, lines)).items() if count > 1}
    twice = {
        (HOSTS["odd"], "/broken/x"): 2,  # it might have been a transient failure
        (HOSTS["circle"], "/robots.txt"): 3,  # five redirects are followed
        (HOSTS["circle"], "/r1"): 3,
    }
    assert repeated == twice


def test_nothing_private_is_asked(sites, crawled):
    root, lines = crawled
    assert [line for line in lines if line.host == HOSTS["private"]] == []
    rows = query_ledger(root, "SELECT url, reason FROM attempt WHERE reason = 'private_address'")
    assert len(rows) == 2, "the seed, and what maps to it"
    assert query_ledger(root, "SELECT count(*) FROM attempt v JOIN address a ON a.digest = v.address"
                " WHERE a.url LIKE '%127.0.0.66%'") == [(0,)]  # fmt: skip


def test_no_host_is_asked_before_the_answer_to_the_last_question(sites, crawled):
    _root, lines = crawled
    for host in {line.host for line in lines}:
        row = sorted(line for line in lines if line.host == host and line.path != "/rules-of-another.txt")
        assert all(after.begun - before.ended >= -0.002 for before, after in pairwise(row))


def test_a_crawl_delay_is_held(sites, crawled):
    _root, lines = crawled
    row = sorted(line for line in lines if line.host == HOSTS["rules"])
    gaps = [after.begun - before.ended for before, after in pairwise(row)]
    assert len(gaps) > 40
    assert min(gaps[1:]) >= 0.049


def test_a_configured_delay_is_held_on_every_host_at_once(sites, tmp_path):
    names = ("quiet", "bom", "huge", "shut")
    before = len(sites.lines())
    assert (
        crawl_sites(
            tmp_path,
            source([seed for seed in sites.seeds if any(f"{HOSTS[name]}:" in seed for name in names)], delay=0.2),
        )
        == 0
    )
    lines = sites.lines()[before:]
    gaps, spans = [], []
    for name in names:
        row = sorted(line for line in lines if line.host == HOSTS[name])
        gaps += [after.begun - before.ended for before, after in pairwise(row)]
        spans.append((row[0].begun, row[-1].ended))
    assert len(gaps) >= 15
    assert min(gaps) >= 0.199
    assert max(begun for begun, _ in spans) < min(ended for _, ended in spans), "hosts are walked side by side"


def test_retry_after_is_held(sites, crawled):
    _root, lines = crawled
    for name, status, count in (("busy", 429, 3), ("down", 503, 3)):
        row = sorted(line for line in lines if line.host == HOSTS[name] and line.path != "/robots.txt")
        assert sum(line.status == status for line in row) == count
        gaps = [after.begun - before.ended for before, after in pairwise(row) if before.status == status]
        assert all(gap >= 0.99 for gap in gaps)


def test_a_site_out_of_order_is_given_up_after_three_answers(sites, crawled):
    root, lines = crawled
    row = [line.path for line in lines if line.host == HOSTS["down"]]
    assert row == ["/robots.txt", "/down/0", "/down/1", "/down/2"]
    left = query_ledger(root, "SELECT url FROM address WHERE due = 0 AND url LIKE '%/down/%' ORDER BY url")
    assert [url[-7:] for (url,) in left] == ["later/0", "later/1", "later/2"]


def test_a_host_without_its_rules_keeps_its_addresses(sites, crawled):
    root, _ = crawled
    origin = sites.origin("broken")
    assert query_ledger(root, "SELECT url, due FROM address WHERE url LIKE ?", f"{origin}%") == [
        (f"{origin}/index.html", 0)
    ]


def test_what_is_too_much_has_its_reason(sites, crawled):
    root, _ = crawled
    assert reasons(root, "/bomb/gzip.html") == [(200, "bomb_ratio")]
    assert reasons(root, "/bomb/nested.html") == [(200, "bomb_ratio")]
    assert reasons(root, "/large.html") == [(200, "too_large")]
    assert reasons(root, "/long.html") == [(200, None), (200, None)], "and the page that its last word links to"
    assert reasons(root, "/trickle/x")[0][1] == "timeout"
    assert reasons(root, "/silent/x") == [(None, "timeout")]
    assert reasons(root, "/broken/x") == [(200, "interrupted")]
    assert reasons(root, "/endless/x") == [(200, "too_large")]
    for strange in ("heads", "field", "babble"):
        assert reasons(root, f"/{strange}/x")[0][1] == "protocol_error"
    assert reasons(root, "/chunks/x") == reasons(root, "/sound/x") == reasons(root, "/sound/1") == [(200, None)]


def test_what_was_kept_is_what_came_and_the_ledger_agrees(sites, crawled):
    root, _ = crawled
    assert faults(root) == []
    bombs = query_ledger(
        root, "SELECT v.size FROM attempt v JOIN address a ON a.digest = v.address WHERE a.url LIKE '%/bomb/gzip.html'"
    )
    assert bombs == [((sites.root / "traps/bomb/gzip.html").stat().st_size,)], "as it came, not as it inflates"


def test_answers_are_asked_for_compressed(sites, crawled):
    root, lines = crawled
    assert {line.coding for line in lines} == {"gzip, deflate"}
    url = f"{sites.origin('tree')}/p/1.html"
    size = query_ledger(
        root, "SELECT v.size FROM attempt v JOIN address a ON a.digest = v.address WHERE a.url = ?", url
    )[0][0]
    assert 0 < size < (sites.root / "tree/p/1.html").stat().st_size / 2


def test_what_came_compressed_is_read_by_others(sites, crawled):
    root, _ = crawled
    url, bodies = f"{sites.origin('tree')}/p/2.html", []
    for path in sorted((root / "archive").glob("*.warc*")):
        with path.open("rb") as file:
            bodies += [
                (record.http_headers["Content-Encoding"], record.content_stream().read())
                for record in ArchiveIterator(file)
                if record.rec_type == "response" and record.rec_headers["WARC-Target-URI"] == url
            ]
    assert bodies == [("gzip", (sites.root / "tree/p/2.html").read_bytes())]


def test_a_rest_that_a_host_asked_for_outlives_the_run(sites, tmp_path):
    seed = f"{sites.origin('bom')}/index.html"
    assert crawl_sites(tmp_path, source([seed], paths=["/index"])) == 0
    host = query_ledger(tmp_path, "SELECT seq FROM host WHERE origin = ?", sites.origin("bom"))[0][0]
    for seconds, code, count in ((5000, 3, 0), (2, 0, 2)):
        change_ledger(
            tmp_path,
            "INSERT OR REPLACE INTO rest SELECT origin, strftime('%s', 'now') + ? FROM host WHERE seq = ?",
            seconds, host,
        )  # fmt: skip
        change_ledger(tmp_path, "UPDATE address SET due = 1")
        before, ((until,),) = len(sites.lines()), query_ledger(tmp_path, "SELECT until FROM rest")
        assert crawl_sites(tmp_path, source([seed], paths=["/index"])) == code
        lines = sites.lines()[before:]
        assert len(lines) == count
        assert all(line.begun >= until - 0.01 for line in lines)
    assert query_ledger(tmp_path, "SELECT reason FROM task_end WHERE failed = 1") == [("rate_limited",)]


def test_a_delay_is_held_from_run_to_run(sites, tmp_path):
    seed = f"{sites.origin('bom')}/index.html"
    before = len(sites.lines())
    for _ in range(2):
        assert crawl_sites(tmp_path, source([seed], paths=["/index"], delay=4.0)) == 0
        change_ledger(tmp_path, "UPDATE address SET due = 1")
    lines = sites.lines()[before:]
    assert [line.path for line in lines] == ["/robots.txt", "/index.html"] * 2
    assert all(after.begun - before.ended >= 3.99 for before, after in pairwise(lines))


def test_every_question_is_a_attempt(sites, crawled):
    root, lines = crawled
    counted = Counter(kind for (kind,) in query_ledger(root, "SELECT kind FROM attempt WHERE status IS NOT NULL OR reason IN"
                      " ('timeout', 'protocol_error')"))  # fmt: skip
    assert counted.total() == len(all_requests(sites, lines))
    assert counted[2] == 6, "sitemaps"
    rules = query_ledger(
        root, "SELECT url, status FROM attempt WHERE kind = 1 AND url LIKE ?", f"{sites.origin('tree')}%"
    )
    assert (f"{sites.origin('tree')}/rules-of-another.txt", 200) in rules


def test_a_second_crawl_asks_for_what_has_changed(sites, crawled):
    root, _ = crawled
    change_ledger(root, "UPDATE address SET due = 1 WHERE kind = 0 AND (url LIKE ? OR url LIKE ?)",
           f"{sites.origin('tree')}/p/1__.html", f"{sites.origin('maps')}/t/%")  # fmt: skip
    (sites.root / "tree/p/150.html").write_text("<title>changed</title>")
    before = len(sites.lines())
    crawl_sites(root, source(sites.seeds[:1] + [seed for seed in sites.seeds if HOSTS["maps"] in seed]))
    lines = sites.lines()[before:]
    answers = {(line.host, line.path): line.status for line in lines if line.path != "/robots.txt"}
    assert len(answers) == 102
    assert {key for key, status in answers.items() if status != 304} == {(HOSTS["tree"], "/p/150.html")}
    assert all(line.validator != "-" for line in lines if line.path != "/robots.txt")
    assert faults(root) == []


def test_a_sitemap_that_tells_of_a_change_makes_a_page_due(sites, crawled):
    root, _ = crawled
    page, unchanged = (f"{sites.origin('maps')}/m/{number}.html" for number in (5, 6))
    for url, days in ((page, 3), (unchanged, 0.5)):
        change_ledger(root, "UPDATE attempt SET started = strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now', ?) WHERE address ="
               " (SELECT digest FROM address WHERE url = ?)", f"-{days * 24} hours", url)  # fmt: skip
    change_ledger(root, "UPDATE address SET due = 1 WHERE url LIKE '%/a.xml.gz'")
    change_ledger(
        root, "UPDATE attempt SET etag = '', modified = '' WHERE address IN (SELECT digest FROM address WHERE kind = 2)"
    )
    before = len(sites.lines())
    crawl_sites(root, source([seed for seed in sites.seeds if HOSTS["maps"] in seed]))
    lines = [line for line in sites.lines()[before:] if line.host == HOSTS["maps"]]
    assert [line.path for line in lines] == ["/robots.txt", "/maps/a.xml.gz", "/m/5.html"]
    [(due,)] = query_ledger(root, "SELECT (due - strftime('%s', 'now')) / 3600.0 FROM address WHERE url = ?", unchanged)
    assert due == pytest.approx(12, abs=0.1), "a day after the last look"
