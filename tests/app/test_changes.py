"""The changes of a page's versions: new, changed and gone; and their list as a feed and as a page."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.collections.pages.database.crawl_events import URLS, Event, settle_events
from tests.crash.workspace import finish_run, make_workspace
from windrow.adapters.adapter import SourceChange, Window
from windrow.app.changes import changes, format_atom, format_html
from windrow.collections.pages.adapter.changes import find_page_changes
from windrow.collections.pages.database.page_versions import read_timelines
from windrow.collections.pages.database.store import SummaryStore
from windrow.config import load
from windrow.demo.partner import drop
from windrow.errors import UsageError
from windrow.ledger import Ledger
from windrow.stores.sqlite import SqliteReader

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
CHANGE = SourceChange(
    AT, "blog", "pages", "changed", "https://b.example/?a=1&b=2", "<T> \x01 & more", 'title "A" -> "<B>"'
)


def list_changes(events: list[tuple[int, str, int]], **window: Any) -> list[tuple[int, str]]:
    """Return the changes of an address: the time and kind of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "summary.sqlite"
        with closing(SummaryStore(path)) as store:
            settle_events(store, [Event(URLS[0], *event) for event in events])
        with closing(SqliteReader(path)) as reader:
            return [
                (change.changed_at, change.kind)
                for line in read_timelines(reader, **window)
                for change in find_page_changes(line)
            ]


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([(1, "A", 1), (2, "A", 3), (3, "same", 4)], [(1, "new")]),
        ([(1, "A", 1), (2, "B", 3)], [(1, "new"), (2, "changed")]),
        ([(1, "A", 1), (2, "A", 2)], [(1, "new"), (2, "changed")]),  # another title
        ([(1, "A", 1), (2, "missing", 2)], [(1, "new")]),
        ([(1, "A", 1), (2, "missing", 2), (3, "missing", 3), (4, "missing", 4)], [(1, "new"), (3, "gone")]),
        ([(1, "A", 1), (2, "gone", 2), (3, "A", 3)], [(1, "new"), (2, "gone"), (3, "new")]),
        ([(1, "A", 1), (2, "move", 2), (3, "gone", 3)], [(1, "new"), (2, "changed")]),
        (
            [(1, "A", 1), (2, "B", 2), (2, "A", 3), (4, "B", 4)],
            [(1, "new"), (2, "changed"), (2, "changed"), (4, "changed")],
        ),
        ([(1, "A", 1), (2, "gone", 2), (2, "B", 3)], [(1, "new"), (2, "changed")]),
        ([(1, "move", 1)], []),
        ([(1, "refresh", 1), (2, "gone", 2)], [(1, "new"), (2, "gone")]),
        ([(1, "A", 1), (2, "refresh", 2), (3, "A", 3)], [(1, "new"), (2, "changed"), (3, "changed")]),
    ],
)
def test_what_is_told_of_a_page_is_new_changed_and_gone_once(events, kinds) -> None:
    assert list_changes(events, period=(0, None)) == kinds
    assert [
        change for attempt in range(9) for change in list_changes(events, period=(0, None), shown_by=(attempt, attempt))
    ] == kinds


def test_only_what_the_window_saw_is_told() -> None:
    events = [(1, "A", 1), (2, "missing", 2), (3, "missing", 3), (4, "missing", 4), (5, "B", 5)]
    assert list_changes(events, attempts=(3, 3)) == [(3, "gone")]
    assert list_changes(events, attempts=(4, 4)) == [], "it ended before, and is not gone again"
    assert list_changes(events, attempts=(5, 9)) == [(5, "new")]
    assert list_changes(events, period=(4, None)) == [(5, "new")]
    assert list_changes(events, period=(1, 3)) == [(1, "new")]


def test_two_attempts_within_a_second_tell_what_both_saw_once() -> None:
    events = [(1, "A", 1), (1, "same", 2), (3, "gone", 3), (3, "gone", 4)]
    assert list_changes(events, attempts=(1, 1)) == [(1, "new")]
    assert list_changes(events, attempts=(2, 2)) == []
    assert list_changes(events, attempts=(3, 3)) == [(3, "gone")]
    assert list_changes(events, attempts=(4, 4)) == []
    assert list_changes(events, period=(1, None)) == list_changes(events, attempts=(1, 4)) == [(1, "new"), (3, "gone")]


def test_a_list_of_changes_is_a_feed_that_xml_can_hold() -> None:
    feed = ET.fromstring(format_atom([CHANGE], "my & workspace", AT, identity=1))
    name = "{http://www.w3.org/2005/Atom}"
    (entry,) = feed.findall(f"{name}entry")
    assert entry.findtext(f"{name}title") == "changed: <T> \N{REPLACEMENT CHARACTER} & more"
    link = entry.find(f"{name}link")
    assert link is not None
    assert link.attrib["href"] == CHANGE.key
    assert entry.findtext(f"{name}updated") == "2026-11-21T10:00:00Z"
    assert entry.findtext(f"{name}content") == 'blog: title "A" -> "<B>"'
    other = ET.fromstring(format_atom([CHANGE], "my & workspace", AT, identity=2))
    assert feed.findtext(f"{name}id") != other.findtext(f"{name}id")  # another workspace of the same name


def test_each_entry_of_the_feed_is_valid_and_the_feed_is_as_old_as_its_latest_change() -> None:
    file = CHANGE._replace(key="drop/a.zip", at=AT - timedelta(days=1))
    record = file._replace(key="event 7", url="https://town.example/event/7", title="Budget")
    script = file._replace(key="event 8", url="javascript:alert(1)")
    feed = ET.fromstring(format_atom([file, record, script], "w", AT, identity=1))
    name = "{http://www.w3.org/2005/Atom}"
    assert feed.findtext(f"{name}updated") == "2026-11-20T10:00:00Z"
    links = [entry.find(f"{name}link") for entry in feed.findall(f"{name}entry")]
    assert [link.attrib["href"] if link is not None else None for link in links] == [None, record.url, None]
    # RFC 4287, section 4.1.2: an entry without an alternate link must have content
    assert all(entry.findtext(f"{name}content") for entry in feed.findall(f"{name}entry"))
    assert f'<a href="{record.url}">Budget</a>' in format_html([record], "w")


def test_a_page_of_changes_is_escaped() -> None:
    page = format_html([CHANGE], "<w>")
    assert "<T>" not in page
    assert '<a href="https://b.example/?a=1&amp;b=2">' in page
    assert "Nothing changed" in format_html([], "w")


def test_what_came_changed_and_went_at_a_drop_is_told_by_what_its_listings_say(tmp_path: Path) -> None:
    root = make_workspace(tmp_path, zips=2, documents=1)
    finish_run(root)
    workspace = load(root)
    ledger = Ledger(workspace.ledger)

    def listed(**asked: str) -> set[tuple[str, str, str]]:
        row = ledger.sessions.get(ledger.sessions.latest() or 0)
        assert row is not None
        return {
            (change.source, change.kind, change.key)
            for change in changes(workspace, ledger, Window(facts=row.span), **asked)
        }

    first, second = (f"add/H.2026-01-12.{number}.impc.zip" for number in range(2))
    assert {("h", "new", first), ("h", "new", second), ("j", "new", first)} <= listed()
    assert {kind for _, kind, _ in listed()} == {"new"}
    sizes = [change.difference for change in changes(workspace, ledger, Window(), source="h")]
    assert sizes
    assert all(size.endswith(" bytes") for size in sizes)
    folder = root / "drop/H/add"
    (folder / "H.2026-01-12.1.impc.zip").unlink()
    name, content = drop("H", "2026-01-12", 0, 2)
    (folder / name).write_bytes(content)
    name, content = drop("H", "2026-01-14", 5, 1)
    (folder / name).write_bytes(content)
    finish_run(root)
    assert listed() == {("h", "changed", first), ("h", "gone", second), ("h", "new", f"add/{name}")}
    assert listed(kind="gone", source="h") == {("h", "gone", second)}
    assert listed(source="j") == set(), "nothing changed there"
    finish_run(root)
    assert listed() == set(), "and nothing since"
    with pytest.raises(UsageError):
        listed(source="nobody")
    ledger.close()
