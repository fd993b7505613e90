"""The exit code of an answer does not depend on whether its bytes are known already."""

from contextlib import closing

from tests.collections.pages.database.crawl_events import URLS, Event, entry, query
from windrow.collections.pages.code import ExitCode
from windrow.collections.pages.database.entries import SummaryEntry
from windrow.collections.pages.database.store import SummaryStore


def test_a_text_of_an_unreadable_type_counts_as_ingested_at_every_crawl(tmp_path):
    unknown = int(ExitCode.FILE_OF_UNKNOWN_TYPE)

    def crawl(at, kind, code, *, read):
        crawled = entry(Event(URLS[0], at, kind, 2 * at), read=read)
        return SummaryEntry(crawled.crawl._replace(exit_code=code), crawled.summary)

    with closing(SummaryStore(tmp_path / "summary.sqlite")) as store:
        store.settle([crawl(1, "A", int(ExitCode.FILE_INGESTED), read=True)], 1)
        store.settle([crawl(2, "A", unknown, read=False)], 2)  # the same bytes, declared as image/png
        store.settle([crawl(3, "file", unknown, read=True)], 3)  # a picture
        store.settle([crawl(4, "file", unknown, read=False)], 4)
        codes = query(store, "SELECT exit_code FROM windrow_observation ORDER BY at")
    assert [code for (code,) in codes] == [20, 20, 29, 29]
