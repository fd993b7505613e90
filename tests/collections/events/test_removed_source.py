"""A source that is removed from the configuration is not requested; its events, logs and parser stay, also after a replay."""

from datetime import date

import pytest

import windrow
from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, calendar, configured, event, events, logs, run, serving
from tests.sessions import session_settings
from windrow.collections.events.adapter.databases import remember_parsers, removed_sources
from windrow.collections.events.collection import COLLECTION
from windrow.config import load
from windrow.engine.progress import Progress
from windrow.errors import UsageError
from windrow.ledger import Ledger


def test_replay_keeps_the_events_and_logs_of_a_source_that_is_configured_no_more(tmp_path):
    with serving() as site:
        fields = {"title": "t", "start": "s", "id": "i"}
        site.put(
            "/a.json", '[{"i": 1, "t": "A", "s": "02.01.2099"}, {"i": 2, "t": "B", "s": "soon"}]', "application/json"
        )
        rules = {"reader": "json", "fields": fields, "time_formats": ["%d.%m.%Y"], "version": "2.5", "missing_after": 1}
        workspace = configured(tmp_path, f"{site.url}/a.json", name="board", every="1s", **rules)
        run(workspace)
        site.put("/a.json", "[]", "application/json")
        pass_time(1.05)
        run(workspace)
        before = (events(workspace), logs(workspace))
        assert [(document["title"], document["status"], document["parser_version"]) for document in before[0]] == [
            ("A", "missing", "2.5")
        ]
        site.put("/b.ics", calendar(event("b@x", ":20990115T150000Z", "Other")))
        workspace = configured(tmp_path, f"{site.url}/b.ics", name="council")
        asked = len(site.asked)
        run(workspace)
        assert "/a.json" not in site.asked[asked:]
        for again in ("_rewrite_documents", "replay"):
            more = (session_settings(workspace), Progress(quiet=True)) if again == "replay" else ()
            getattr(ADAPTER, again)(workspace, *more)
            assert [document for document in events(workspace) if document["source"] == "board"] == before[0]
            assert [log for log in logs(workspace) if log["source"] == "board"] == before[1]
            assert len(events(workspace)) == 2
        with (tmp_path / "windrow.toml").open("a") as file:  # the run of another source goes on without this one
            file.write('[source.board]\ncollection = "events"\nurl = 7\n')
        workspace = load(tmp_path, environ={}, collections={"events": COLLECTION}, needed={"council"})
        assert [source.name for source in workspace.sources if source.unusable] == ["board"]
        pass_time(1.05)
        run(workspace)
        ADAPTER._rewrite_documents(workspace)
        assert [document for document in events(workspace) if document["source"] == "board"] == before[0]
        ledger = Ledger(workspace.ledger)
        assert list(ADAPTER.check(workspace, ledger)) == []
        ledger.close()


def test_a_renamed_source_has_a_row_in_status_and_can_be_forgotten(tmp_path):
    with serving() as site:
        site.put("/c.ics", calendar(event("c@x", ":20990115T150000Z", "Hearing")))
        for name in ("council", "council2"):
            run(configured(tmp_path, f"{site.url}/c.ics", name=name))
        workspace = windrow.open(tmp_path)
        (change,) = workspace.changes(date(2020, 1, 1), source="council")
        assert (change.source, change.kind, change.title) == ("council", "new", "Hearing")
        assert workspace.session(1).summary.sources[0].new == 1
        with pytest.raises(UsageError, match="is not declared, and never was"):
            workspace.changes(date(2020, 1, 1), source="nobody")
        status = workspace.status()
        assert [(source.source, source.state, source.items) for source in status.sources] == [
            ("council2", "available", 1),
            ("council", "held", 1),
        ]
        assert status.undeclared == ("council",)
        assert all(result.done for result in workspace.forget(["council"]))
        assert [document["source"] for document in events(workspace.config)] == ["council2"]
        assert [source.source for source in workspace.status().sources] == ["council2"]
        run(configured(tmp_path, f"{site.url}/c.ics", name="council"))
        (row,) = (source for source in windrow.open(tmp_path).status().sources if source.source == "council")
        assert row.error.endswith("to repeat the request: windrow forget council --lift")
        for command in (workspace.forget, workspace.lift):
            with pytest.raises(UsageError, match=r"^no collection has 'nobody'$"):
                command(["nobody"])


def test_a_parser_that_is_on_the_ledger_comes_back_as_it_was_and_is_not_written_again(tmp_path):
    more = 'branches = ["City"]\nentities = ["City Council"]'
    rules = {"branch": "City", "entity": "City Council", "reader": "json", "time_formats": ["%d.%m.%Y"]}
    workspace = configured(tmp_path, "http://a.example/a.json", more, **rules)
    ledger = Ledger(workspace.ledger)
    sources = workspace.of("events")
    remember_parsers(ledger, "events", sources)
    (back,) = removed_sources(ledger, "events", ())
    assert back.options["event_parser"] == sources[0].options["event_parser"]
    ledger.writing = None  # any write fails now
    remember_parsers(ledger, "events", sources)
    ledger.close()
