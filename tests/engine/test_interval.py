"""A crawl ends, however short the interval between two requests for a page is."""

from collections import Counter

from tests.engine.site_crawl import crawl_sites, query_ledger, source
from tests.engine.two_hosts import HOSTS, two_hosts
from windrow.engine.crawl import crawling


def test_a_page_that_is_due_again_during_the_run_waits_for_the_next_one(tmp_path, monkeypatch):
    for name in ("MAX_PER_HOST", "MIN_PER_HOST"):  # so that due pages are looked for more than once
        monkeypatch.setattr(crawling, name, 1)
    with two_hosts() as (port, requested):
        site = source([f"http://{HOSTS[0]}:{port}/{number}" for number in range(5)], every=1, delay=0.5)
        assert crawl_sites(tmp_path / "w", site) == 0
        assert max(Counter(requested).values()) == 1
        ((comment,),) = query_ledger(
            tmp_path / "w", "SELECT comment FROM task_end WHERE comment LIKE '%due again before the end of the run%'"
        )
        assert "left to the next one" in comment
        requested.clear()
        crawl_sites(tmp_path / "w", site)
        assert requested.count(f"{HOSTS[0]}/0") == 1
