"""A page that is gone stays gone: it is not a new failure each time that its address answers 404 again."""

from contextlib import closing

from tests.clock import pass_time, real_clock  # noqa: F401
from tests.toy_collection.site import Site, page
from windrow import Windrow


def test_a_page_that_is_gone_is_counted_once_and_is_no_failure_afterwards(tmp_path):
    with closing(Site({"/": page("A page", "/b"), "/b": page("Another page")})) as site:
        (tmp_path / "windrow.toml").write_text(
            '[pages]\noperator = "test"\nprivate_hosts = ["127.0.0.1"]\ncontact = "https://example.org/bot"\n'
            f'[source.site]\ncollection = "pages"\nseeds = ["{site.url}"]\ndelay = "0s"\n'
        )
        windrow, counts, failed = Windrow(tmp_path), [], []
        windrow.run()
        del site.pages["/b"]
        for _ in range(3):
            pass_time(2)  # versions are told apart by seconds
            (source,) = windrow.run(again=True).sources
            counts.append((source.gone, source.still_gone, source.failed))
            state = windrow.status()
            failed.append((state.sources[0].failed, [reason.reason for reason in state.reasons]))
        assert counts == [(0, 0, 1), (1, 0, 0), (0, 1, 0)]
        assert failed == [(1, ["not_found"]), (0, []), (0, [])]
        assert [item.key for item in windrow.retry(reason="not_found", dry_run=True)] == [f"{site.url}b"]
