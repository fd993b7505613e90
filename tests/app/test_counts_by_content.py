"""A page that is gone is not a new failure at each 404, and one that could not be read has not the same text."""

from contextlib import closing

from tests.clock import pass_time, real_clock  # noqa: F401
from tests.collections.events.place import calendar, configured, event, serving
from tests.engine.unsteady_steps import stop_all_steps
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


def test_a_changed_document_that_was_not_read_is_changed_and_not_the_same_text(tmp_path, monkeypatch):
    with serving() as site:
        site.put("/a.ics", calendar(event("a@x", ":20990115T150000Z")))
        workspace = configured(tmp_path, f"{site.url}/a.ics")
        windrow, counts = Windrow(workspace.root), []
        windrow.run()
        site.put("/a.ics", calendar(event("a@x", ":20990116T150000Z")))
        pass_time(2)
        with stop_all_steps(monkeypatch):
            windrow.run(again=True)
        for number in (2, 3):
            (source,) = windrow.session(number).summary.sources
            counts.append((source.changed, source.same_text))
            assert bool(windrow.status().unread) == (number == 2)
            windrow.run()
        assert counts == [(1, 0), (1, 0)]
