"""A store that cannot be read, or that is gone: what is said of it, and that the other collections stay."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import windrow as command  # noqa: F401
from tests.web.farm import get
from tests.web.homes import observed
from windrow.app import Windrow
from windrow.stores.late_attempts import LateAttemptStore
from windrow.web import app

LONG_AGO = "since=2026-01-01"


@pytest.fixture(params=["file is not a database", "does not exist, and the next run rebuilds it"])
def broken(
    request: pytest.FixtureRequest, farm: Windrow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, str]:
    """Return a copy of the farm whose store of pages is damaged or deleted, and what is said of it."""
    root = shutil.copytree(farm.config.root, tmp_path / "farm")
    store = root / "summary.sqlite"
    if request.param.startswith("file"):
        store.write_bytes(b"no database" * 1000)
    else:
        for path in root.glob("summary.sqlite*"):
            path.unlink()
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return root, request.param


def test_the_web_view_shows_the_other_collections_and_what_is_left_out(broken: tuple[Path, str]) -> None:
    """Today, changes, health and metrics of all collections were gone, and a deleted store was shown nowhere."""
    root, problem = broken
    view = app(Windrow(root))
    today = get(view, f"/?{LONG_AGO}")
    assert today.status == 200
    assert "not counted: pages:" in today.text
    assert problem in today.text
    assert "harwell" in today.text
    page = get(view, f"/changes.json?{LONG_AGO}").json
    assert {change["collection"] for change in page["changes"]} == {"drops"}
    assert problem in page["unreadable"][0]
    assert "Left out: pages: " in get(view, f"/changes?{LONG_AGO}").text
    assert get(view, f"/changes.json?{LONG_AGO}&source=harwell").json["unreadable"] == []
    assert get(view, f"/changes.atom?{LONG_AGO}").status == 503, "a reader asks again, and misses nothing"
    health = get(view, "/healthz")
    assert (health.status, health.json["ready"]) == (503, False)
    assert 'windrow_source_failed{source="harwell"}' in get(view, "/metrics").text
    session = get(view, "/sessions/1")
    assert session.status == 200
    assert problem in session.text


def test_commands_do_their_work_for_the_other_collections(broken: tuple[Path, str], command) -> None:  # noqa: F811
    root, problem = broken
    for _ in range(2):  # what was left out does not count as seen
        changes = command("changes", "--since", "last")
        assert changes.code == 1
        assert "H.2026-01-12.1.impc.zip" in changes.out
        assert f"the changes of these are left out: pages: {root}/summary.sqlite" in changes.err
        assert problem in changes.err
    feed = command("changes", "--since", "2026-01-01", "--as", "atom")
    assert (feed.code, feed.out) == (1, "")
    assert f"not counted: pages: {root}/summary.sqlite" in command("status").out
    assert command("why", "harwell").code == 0
    assert command("why", "1").code == 0
    assert "summary.sqlite" in command("check").out
    summary = Windrow(root).run("harwell")
    assert problem in summary.problems[-1]


def test_a_story_says_who_was_not_asked(broken: tuple[Path, str], command) -> None:  # noqa: F811
    root, problem = broken
    if problem.startswith("file"):
        story = command("why", "town")
        assert story.code == 0
        assert f"not asked: pages: {root}" in story.err
        assert "Not asked: pages: " in get(app(Windrow(root)), "/why?name=town").text
        page = command("why", "http://town.example/ferry.html")
        assert (page.code, "may be known to pages, but" in page.err) == (1, True)


def test_a_search_and_a_home_say_that_a_store_is_gone(broken: tuple[Path, str], command) -> None:  # noqa: F811
    root, problem = broken
    view = app(Windrow(root))
    reply = get(view, "/collections.json?collection=pages")
    assert (reply.status, problem in reply.json["message"]) == (503, True)
    (root / "sources" / "gazette.toml").write_text('collection = "news"\nurl = "https://gazette.example/feed"\n')
    with closing(LateAttemptStore(root / "news.db")) as store:
        store.settle([observed(1, "ferry", {"title": "The ferry returns"}, "gazette")], 1)
    answer = get(app(Windrow(root)), "/search.json?q=ferry").json["answer"]
    assert ["".join(mark["text"] for mark in result["title"]) for result in answer["results"]] == ["The ferry returns"]
    assert "pages is not searched:" in answer["notes"][0]
    assert problem in answer["notes"][0]
    assert problem in command("search", "ferry", "--json").out
    (root / "news.db").unlink()  # it was never made by a run, and pages were
    reply = get(app(Windrow(root)), "/search.json?q=ferry")
    assert (reply.status, problem in reply.json["message"]) == (503, True)


def test_the_home_of_files_says_that_their_tracker_is_gone(farm: Windrow, tmp_path: Path) -> None:
    root = shutil.copytree(farm.config.root, tmp_path / "farm")
    (root / "tracker.sqlite").unlink()
    reply = get(app(Windrow(root)), "/collections.json?collection=drops")
    assert (reply.status, "does not exist, and the next run rebuilds it" in reply.json["message"]) == (503, True)
    Windrow(root).run("harwell")
    assert get(app(Windrow(root)), "/collections?collection=drops").status == 200


def test_a_session_is_counted_again_when_its_store_is_back(farm: Windrow, tmp_path: Path) -> None:
    root = shutil.copytree(farm.config.root, tmp_path / "farm")
    view = app(Windrow(root))
    (root / "summary.sqlite").rename(tmp_path / "away")
    reply = get(view, "/sessions/2")
    assert "not counted: pages" in reply.text
    (tmp_path / "away").rename(root / "summary.sqlite")
    again = get(view, "/sessions/2", if_none_match=reply.fields["etag"])
    assert (again.status, "not counted" in again.text) == (200, False)
    assert get(view, "/sessions/2", if_none_match=again.fields["etag"]).status == 304
