"""Changes since a time named by a word, since the user's last look, and the versions of any record compared."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.app.test_changes_of_cut_runs import configure, site, write  # noqa: F401
from tests.cli.conftest import CommandOutput, windrow  # noqa: F401
from tests.clock import pass_time, real_clock  # noqa: F401
from tests.collections.events.place import Site
from windrow.app import Windrow
from windrow.cli.options import LAST_LOOK, Since
from windrow.clock import now
from windrow.errors import WindrowError

A = "a/a@x"
"""The key of the first calendar's event."""


@pytest.fixture
def root(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: F811
    """Make a workspace of a site with four pages and four calendars, harvested twice: the second time all changed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "w").mkdir()
    folder = configure(tmp_path / "w", site)
    for edition in ("first", "second"):
        write(site, edition)
        pass_time(2)  # versions are told apart by seconds
        Windrow(folder).run(again=edition == "second")
    monkeypatch.chdir(folder)
    return folder


def lines(output: CommandOutput) -> list[str]:
    assert output.code == 0, output.err
    return [line for line in output.out.splitlines() if not line.startswith("    ")]


def test_each_look_lists_what_all_sessions_wrote_since_the_last(root: Path, site: Site, windrow) -> None:  # noqa: F811
    assert len(lines(windrow("changes"))) == 8  # of the last session: the front page is the same
    first_look = lines(windrow("changes", "--since", "last"))
    assert len(first_look) == 17, "all sessions"
    assert lines(windrow("changes", "--since", "last")) == ["nothing changed"]
    for edition in ("third", "fourth"):
        write(site, edition)
        pass_time(2)
        Windrow(root).run(again=True)
    assert len(lines(windrow("changes", "--since", "last", "--source", "a"))) == 4, "a choice has a look of its own"
    assert len(windrow("changes", "--since", "last", "--json").messages) == 16
    assert lines(windrow("changes", "--since", "last")) == ["nothing changed"]


def test_what_could_not_be_shown_is_not_seen(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenPipeError), Windrow(root).unseen_changes():
        raise BrokenPipeError
    with Windrow(root).unseen_changes() as changes:
        assert len(changes) == 17
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "windrow.toml"))
    with pytest.raises(WindrowError, match=r"cannot be (read|used|recorded)"), Windrow(root).unseen_changes():
        pass


@pytest.mark.parametrize(
    ("word", "since"),
    [("24h", timedelta(hours=24)), ("7d", timedelta(days=7)), ("today", None), ("yesterday", timedelta(days=1))],
)
def test_words_for_times(word: str, since: timedelta | None) -> None:
    midnight = datetime.combine(now().date(), datetime.min.time(), UTC)
    expected = midnight - (since or timedelta(0)) if word.isalpha() else now() - since
    assert abs(Since().convert(word, None, None) - expected) < timedelta(seconds=5)
    assert Since().convert("last", None, None) == LAST_LOOK
    assert Since().convert("20260131", None, None) == datetime(2026, 1, 31, tzinfo=UTC)


def test_a_wrong_word_is_refused_with_the_right_ones(root: Path, windrow) -> None:  # noqa: F811
    output = windrow("changes", "--since", "lately")
    assert output.code == 2
    assert "yesterday" in output.err


def test_the_versions_of_any_record_are_compared(root: Path, windrow) -> None:  # noqa: F811
    output = windrow("diff", A)
    assert output.code == 0, output.err
    assert output.out.splitlines()[2:] == ["-title: Event a, the first", "+title: Event a, the second"]
    assert windrow("diff", A, "--old", "2000").code == 1
    assert "not known yet at the end of 2000" in windrow("diff", A, "--old", "2000").err
    assert "is not a day" in windrow("diff", A, "--new", "soon").err
    unknown = windrow("diff", "a/nothing here")
    assert unknown.code == 2
    assert shlex.quote("a/nothing here")[1:-1] in unknown.err
