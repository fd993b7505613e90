"""A capture whose bytes in the archive are damaged costs a replay nothing else, and is fetched anew."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Windrow, paths
from tests.engine.site_crawl import damage_record, query_ledger
from tests.servers.village import Village


def test_a_damaged_page_costs_only_itself_and_is_requested_anew(
    crawled: Path, small: Village, windrow: Windrow
) -> None:
    """The replay used to be refused for ever, and a page with the same bytes became a reference to the damaged ones."""
    url = f"{small.origin(0)}/a.html"
    damage_record(crawled, url)
    checkup = windrow("check")
    assert checkup.code == 1
    assert "windrow replay, windrow retry --reason disk_failed, windrow run" in checkup.out + checkup.err
    replayed = windrow("replay", "pages")
    assert replayed.code == 0, replayed.err
    assert "1 capture could not be read again (disk_failed)" in replayed.err
    assert "disk_failed" in windrow("status").out
    assert not windrow("search", "title:a", "--json").of("page_result")
    mark = small.mark()
    assert windrow("run", "pages").code == 0
    assert set(paths(small.asked(mark), small.ports[0])) == {"/a.html", "/robots.txt"}
    assert "disk_failed" not in windrow("status").out
    assert query_ledger(
        crawled,
        "SELECT v.revisit FROM attempt v JOIN address a ON a.digest = v.address WHERE a.url = ? ORDER BY v.seq",
        url,
    ) == [(0,), (0,)]
    again = windrow("replay", "pages", "--json")
    assert [counts["damaged"] for counts in again.of("replay")] == [0]


def test_a_damaged_zip_keeps_its_records_and_is_fetched_anew(harvested: Path, windrow: Windrow) -> None:
    zip_name = "H.2026-01-12.1.impc.zip"
    damage_record(harvested, zip_name)
    replayed = windrow("replay", "drops")
    assert (replayed.code, "disk_failed: 1), so drops.sqlite was left unchanged" in replayed.err) == (1, True)
    assert "disk_failed" in windrow("status").out
    assert windrow("retry", "--reason", "disk_failed").code == 0
    windrow("run")
    assert windrow("replay", "drops").code == 0
    assert "disk_failed" not in windrow("status").out
