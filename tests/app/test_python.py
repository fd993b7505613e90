"""The Python API: every command is a method, and scripts as people write them work."""

from __future__ import annotations

import csv
import inspect
import io
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tools.command import MESSAGES, PARTS
from tools.python_api import RESULTS

import windrow
from tests.house.tree import ROOT
from tests.waiting import PATIENCE
from windrow import errors
from windrow.cli.root import COMMANDS
from windrow.demo.partner import drop
from windrow.engine.replay import ReplayChange

ELSEWHERE = {
    "demo": "a command only",
    "serve": "an application, windrow.web.app",
    "completion": "of shells only",
    "help": "the manual itself",
    "config": "an attribute",
}
SPELLED = {"try": "try_", "new": "new_source"}
NAME = drop("H", "2026-01-12", 1)[0]


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> windrow.Windrow:
    """Return a workspace with a folder of two zips as its source, opened from another folder."""
    for name in [name for name in os.environ if name.startswith("WINDROW_")]:
        monkeypatch.delenv(name)
    opened = windrow.init(tmp_path / "farm")
    folder = tmp_path / "farm" / "partner"
    for number in (1, 2):
        name, content = drop("H", "2026-01-12", number)
        (folder / "add").mkdir(parents=True, exist_ok=True)
        (folder / "add" / name).write_bytes(content)
    opened.new_source("blog", "file:partner", collection="drops", centre="H")
    return opened


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_WORKSPACE", raising=False)


def verbs() -> list[str]:
    return [SPELLED.get(name, name) for part in COMMANDS.values() for name in part if name not in ELSEWHERE]


def public() -> dict[str, object]:
    documented = {
        name: each for name, each in vars(windrow.Windrow).items() if not name.startswith("_") and name != "ledger"
    }
    return {name: getattr(windrow.Windrow, name) for name, each in documented.items() if not isinstance(each, property)}


@pytest.mark.parametrize("verb", verbs())
def test_every_verb_of_the_command_line_is_a_method(verb: str) -> None:
    assert inspect.getdoc(getattr(windrow.Windrow, verb))


def test_every_method_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/python.md").read_text()
    returned = " ".join(str(inspect.signature(each).return_annotation) for each in public().values())
    named = set(re.findall(r"[A-Z]\w+", returned)) - {
        "Windrow",
        "Iterator",
        "Path",
        "TrialPart",
        "SessionSettings",
        "Ledger",
        "Harvest",
    }
    assert named <= {shape.__name__ for shape in RESULTS}
    assert [name for name in public() if f"### {name}\n" not in text] == []
    assert [verb for verb in verbs() if f"### {verb}\n" not in text] == []


def test_all_errors_can_be_caught_by_a_name_of_windrow() -> None:
    tree = [var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, errors.WindrowError)]
    assert [
        error_class.__name__ for error_class in tree if getattr(windrow, error_class.__name__, None) is not error_class
    ] == []
    assert {error_class.__name__ for error_class in tree} <= set(windrow.__all__)


def test_a_script_without_a_main_guard_runs_once(farm, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, windrow\n"
        "print('begun', flush=True)\n"
        "summary = windrow.open(sys.argv[1]).run('blog')\n"
        "print(summary.exit_code, sum(source.fetched for source in summary.sources))\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), str(farm.config.root)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "begun\n0 2\n"), done.stderr


def test_other_processes_of_multiprocessing_still_know_their_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, windrow, windrow.engine.runtime\n"
        "def double(n):\n    return 2 * n\n"
        "if __name__ == '__main__':\n"
        "    print(multiprocessing.get_context('forkserver').Pool(1).map(double, [1, 2]))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "[2, 4]\n"), done.stderr


def test_a_name_by_itself_is_one_name(farm) -> None:
    assert [source.source for source in farm.preview("blog")[0].sources] == ["blog"]
    with pytest.raises(windrow.UsageError, match="'nobody'"):
        farm.run("nobody")


def test_a_folder_that_is_named_wins_over_the_environment(farm, tmp_path: Path, monkeypatch) -> None:
    second = windrow.init(tmp_path / "other")
    monkeypatch.setenv("WINDROW_WORKSPACE", str(second.config.root))
    assert windrow.open(farm.config.root).config.root == farm.config.root
    assert windrow.open().config.root == second.config.root


def test_a_page_is_extracted_from_bytes_and_from_a_file(farm, tmp_path: Path) -> None:
    html = b"<title>Tea</title><article><h1>Tea</h1><p>Tea is hot. <a href='/cups'>Cups</a> hold it.</p></article>"
    page = tmp_path / "page.html"
    page.write_bytes(html)
    for given_page in (html, page, str(page)):
        extract = farm.extract(given_page, "https://tea.example/a/")
        assert (extract.title, "Tea is hot. Cups hold it." in extract.text) == ("Tea", True)
        assert [link.url for link in extract.links] == ["https://tea.example/cups"]
    with pytest.raises(windrow.UsageError, match="there is no file"):
        farm.extract(tmp_path / "none.html")
    with pytest.raises(windrow.UsageError, match="only be given with bytes or a file"):
        farm.extract("https://tea.example/", "https://tea.example/")


def test_the_life_of_a_workspace_in_python(farm, tmp_path: Path) -> None:
    begun = datetime.now(UTC)
    read = list(farm.try_(str(farm.config.root / "partner" / "add" / NAME), "drops"))
    assert [type(report).__name__ for report in read][-1] == "DocumentReport"
    summary = farm.run("blog", since=date(2000, 1, 1))
    assert summary.exit_code == 0
    assert summary.began >= begun.replace(microsecond=0)
    assert farm.status().sources[0].items == 2
    assert farm.why(NAME).story.events[0].at.tzinfo is UTC
    assert {change.kind for change in farm.changes(datetime.now(UTC).date())} == {"new"}
    assert farm.changes(datetime(2100, 1, 1)) == []  # noqa: DTZ001 without a zone it is UTC
    with pytest.raises(windrow.UsageError, match="not a kind"):
        farm.changes(kind="odd")
    assert farm.check().faults == []
    assert [choice.key for choice in farm.retry(NAME, dry_run=True)] == [f"add/{NAME}"]
    assert [choice.key for choice in farm.retry(NAME)] == [f"add/{NAME}"]
    assert [choice.key for choice in farm.cancel(NAME)] == [f"add/{NAME}"]
    assert farm.replay()["drops"].changes is not None
    assert farm.export("tracker", "sqlite", tmp_path / "tracker.sql") > 0
    assert "phase" in (tmp_path / "tracker.sql").read_text()
    stream = io.StringIO()
    assert farm.export("files", "csv", stream) > 0
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    assert {row["zip_file"] for row in rows} >= {NAME}
    assert {row["xml_file"] for row in rows if row["zip_file"] == NAME} == {
        NAME.replace(".impc", f".{kind}.impc").replace(".zip", ".xml") for kind in ("experiment", "specimen")
    }
    stream = io.StringIO()
    assert farm.export("captures", "cdxj", stream) == len(stream.getvalue().splitlines()) > 0
    assert farm.prepare().changed is False
    assert farm.trust("blog", "SHA256:dLXaMBaGYlLYWXcXG1kOVkZ5eKHGWoPPLlzPCBQ6cTo") is True


def test_pages_in_python(farm) -> None:
    """Methods that need a crawl raise an error of windrow whose hint names the next command."""
    for ask in (lambda: farm.search("tea"), lambda: farm.diff("https://example.org/", date(2026, 1, 1))):
        with pytest.raises(windrow.WindrowError) as error:
            ask()
        assert error.value.hint
    with pytest.raises(windrow.WindrowError):
        farm.would_forget("https://example.org/")


def test_the_reference_describes_every_class_in_a_result_and_every_field_that_has_an_explanation() -> None:
    """A class that PARTS lacks would be called a text, and a comment at a field reaches no page of the manual."""
    configuration = {"Archive", "Limits", "RunSettings", "Source"}  # the reference of settings describes these
    messages = [each.shape for each in MESSAGES.values() if isinstance(each.shape, type)]
    for described in ([*messages, *PARTS], RESULTS):
        undescribed, commented = [], []
        for shape in described:
            hints = get_type_hints(shape, localns={"ReplayChange": ReplayChange})
            classes = {kind for hint in hints.values() for kind in (hint, *get_args(hint))}
            records = {kind for kind in classes if hasattr(kind, "__match_args__") and kind not in described}
            undescribed += [
                f"{shape.__name__}: {kind.__name__}" for kind in records if kind.__name__ not in configuration
            ]
            fields = re.findall(r"^    (\w+): .*?  # (?!noqa|type:)", inspect.getsource(shape), re.MULTILINE)
            commented += [f"{shape.__name__}.{name}" for name in fields]
        assert (undescribed, commented) == ([], [])


def test_times_in_results_are_datetimes() -> None:
    """A field of a result that is named like a time does not hold a number."""
    named = re.compile(r"^(at|.*_at|began|ended|.*_seen|published|updated|due|.*_due|since|until|last_good)$")
    wrong = []
    for shape in [*(each.shape for each in MESSAGES.values() if isinstance(each.shape, type)), *PARTS, *RESULTS]:
        hints = get_type_hints(shape, localns={"ReplayChange": ReplayChange})
        wrong += [
            f"{shape.__name__}.{name}" for name in hints if named.match(name) and "datetime" not in str(hints[name])
        ]
    # A count of addresses; a day or a time, as the page says it.
    assert wrong == ["RecordOrigin.due", "SiteOrigin.due", "Extract.published"]
