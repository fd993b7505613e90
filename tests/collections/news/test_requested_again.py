"""Articles that are requested again because the site sent another page in their place."""

from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.news.press import Press
from tests.collections.news.test_substitutes import SUBSTITUTES, gazette, put_article, put_feed
from tests.collections.news.workspace import articles, configured, run
from windrow.app import Windrow
from windrow.app.changes import count_skipped
from windrow.app.status import count_open
from windrow.collections.news.collection import COLLECTION
from windrow.engine.decision import write_decision
from windrow.engine.frontier import RETRY, frontier_of
from windrow.engine.steps.unread import count_unread
from windrow.ledger import Ledger


@pytest.fixture
def press():
    served = Press()
    yield served
    served.close()


def test_an_article_that_was_another_page_at_first_is_requested_again_until_it_is_there(tmp_path, press):
    """Its list did not change any more, so it was never requested again, and `retry` did not find it."""
    path, title = "/news/harbour-plan-1.html", "Harbour plan"
    put_article(press, path, SUBSTITUTES["soft_404"][0], text=SUBSTITUTES["soft_404"][1])
    put_feed(press, {path: title})
    workspace = gazette(tmp_path, press, "rss.xml")
    for seconds, asked in ((0, 1), (1.1, 1), (60, 2), (60, 2), (61, 3)):
        pass_time(seconds)
        run(workspace)
        assert press.asked.count(path) == asked
        assert unread(workspace) == [("soft_404", 1)]
        with closing(Ledger(workspace.ledger)) as ledger:
            skipped = count_skipped(workspace, ledger, None)
            assert count_open(workspace, ledger, count_unread(ledger, COLLECTION), skipped, ()) == 1
        assert [(count.reason, count.items) for count in Windrow(tmp_path).status().reasons] == [("soft_404", 1)]
    with closing(Ledger(workspace.ledger)) as ledger:
        chosen = frontier_of(ledger, COLLECTION).find_undone(RETRY, "g", "soft_404")
        assert [address.key for address in chosen] == [f"{press.url}{path}"]
        write_decision(ledger, COLLECTION, RETRY, chosen)
    put_article(press, path, title)
    run(workspace)
    assert [*articles(tmp_path)] == [f"{press.url}{path}"]
    assert unread(workspace) == []
    with closing(Ledger(workspace.ledger)) as ledger:
        assert frontier_of(ledger, COLLECTION).find_undone(RETRY, "g", "soft_404") == []
    pass_time(86_400)
    run(workspace)
    assert press.asked.count(path) == 4


def unread(workspace):
    with closing(Ledger(workspace.ledger)) as ledger:
        return [(count.reason, count.documents) for count in count_unread(ledger, COLLECTION)]


def test_a_robots_file_that_no_page_names_and_that_is_not_there_is_no_failure(tmp_path, press):
    """Its 404 was counted as a failed item for ever, without a reason that a command showed."""
    path = "/news/harbour-plan-1.html"
    put_article(press, path, "Harbour plan")
    put_feed(press, {path: "Harbour plan"})
    press.put(
        "/", "<html><head><title>G</title><link rel=alternate type=application/rss+xml href=/rss.xml></head></html>"
    )
    run(configured(tmp_path, {"g": {"url": f"{press.url}/"}}))
    assert press.asked.count("/robots.txt") == 2, "for its rules, and for its sitemaps"
    status = Windrow(tmp_path).status()
    (source,) = status.sources
    assert (source.failed, status.reasons) == (0, ())
