"""Settings that change the uids of events: those that were read before stay, which is told until they are read again."""

from contextlib import closing

import pytest

from tests.clock import pass_time
from tests.collections.events.place import ADAPTER, configured, events, run, serving
from tests.sessions import session_settings
from windrow import Windrow
from windrow.collections.events.adapter.databases import find_former_uids, remember_parsers
from windrow.collections.events.collection import COLLECTION
from windrow.config import load
from windrow.engine.progress import Progress
from windrow.ledger import Ledger

PAGE = '<li><b>Board</b><i>2099-01-15</i><a href="/1">more</a></li>'
RULES = {"reader": "html", "items": "li", "fields": {"title": "b", "start": "i"}}


def unlisted(workspace):
    with closing(Ledger(workspace.ledger)) as ledger:
        return [(count.source, count.reason, count.addresses) for count in ADAPTER.count_unlisted(workspace, ledger)]


def test_events_that_keep_their_former_uids_are_told_until_they_are_read_again(tmp_path):
    with serving() as site:
        site.put("/a.html", "<p>Nothing yet", "text/html")
        first_try = {**RULES, "fields": {"title": "b", "start": "u"}}
        run(configured(tmp_path, url := f"{site.url}/a.html", every="1s", **first_try))
        (counts,) = Windrow(tmp_path).status().last.sources
        assert (counts.fetched, counts.new, counts.same_text) == (1, 0, 0), "it is not the same as before"
        site.put("/a.html", PAGE, "text/html")
        pass_time(1.05)
        run(workspace := configured(tmp_path, url, every="1s", **RULES))
        assert len(events(workspace)) == 1
        assert unlisted(workspace) == [], "its first settings gave no events"
        fields = {**RULES["fields"], "id": "a@href"}
        workspace = configured(
            tmp_path, url, every="1s", complete="yes", missing_after=1, **{**RULES, "fields": fields}
        )
        for page, missing in ((PAGE, []), (PAGE, []), (PAGE.replace("/1", "/2"), ["council//1"])):
            site.put("/a.html", page, "text/html")
            pass_time(1.05)
            run(workspace)
            told = [document["uid"] for document in events(workspace) if document["status"] == "missing"]
            assert told == missing, "a former uid is not an event that the page left out"
    assert len(events(workspace)) == 3
    assert unlisted(workspace) == [("council", "superseded", 3), ("council", "no_longer_listed", 1)]
    ADAPTER.replay(workspace, session_settings(workspace), Progress(quiet=True))
    assert [document["uid"] for document in events(workspace)] == ["council//1", "council//2"]
    assert unlisted(workspace) == [("council", "no_longer_listed", 1)]


@pytest.mark.parametrize(("settings", "names"), [
    ({"entity": "House of Representatives", "branch": "Other", "parser": "other", "items": "ul li"}, []),
    ({"timezone": "Asia/Tokyo"}, ["council"]),
    ({"fields": {**RULES["fields"], "location": "u"}}, ["council"]),
    ({"fields": {**RULES["fields"], "description": "u"}}, []),
])  # fmt: skip
def test_only_rules_of_uids_give_events_other_uids(tmp_path, settings, names):
    sources = configured(tmp_path, "http://a.example/a.html", **RULES).of("events")
    with closing(Ledger(tmp_path / "ledger.db")) as ledger:
        remember_parsers(ledger, "events", sources)
        changed = configured(tmp_path, "http://a.example/a.html", **{**RULES, **settings}).of("events")
        assert find_former_uids(ledger, "events", changed) == names
        assert find_former_uids(ledger, "events", sources) == []


def test_a_later_version_of_a_parser_changes_no_uid_of_earlier_documents(tmp_path):
    sources = configured(tmp_path, "http://a.example/a.html", **RULES).of("events")
    with closing(Ledger(tmp_path / "ledger.db")) as ledger:
        remember_parsers(ledger, "events", sources)
        with (tmp_path / "windrow.toml").open("a") as file:
            file.write('[[source.council.versions]]\nsince = 2026-07-01\nfields = { title = "b", start = "u" }\n')
        changed = load(tmp_path, environ={}, collections={"events": COLLECTION}).of("events")
        assert len(changed[0].options["event_parser"].versions) == 2
        assert find_former_uids(ledger, "events", changed) == []
