"""A package that exits, prints or fails when its collection is loaded stops no command, and is named by `config`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Windrow
from windrow.cli.root import root
from windrow.contract import registry

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Install a collection whose declaration is a module with this code."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()

    def add(code: str, name: str = "mine") -> None:
        (tmp_path / "site" / "their_package.py").write_text(code)
        point = EntryPoint(name, "their_package:COLLECTION", registry.GROUP)
        vars(point)["dist"] = SimpleNamespace(name="their-wheel")
        points = registry._entry_points()
        points = {**points, name: (*points.get(name, ()), point)}
        monkeypatch.setattr(registry, "_entry_points", lambda: points)
        registry._load_collection.cache_clear()

    yield add
    monkeypatch.undo()
    registry._load_collection.cache_clear()
    sys.modules.pop("their_package", None)


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "raise GeneratorExit", "raise ValueError('x' * 1_000_000)"])
def test_a_package_that_exits_when_it_is_loaded_stops_no_command(
    workspace: Path, windrow: Windrow, install: Install, code: str
) -> None:
    expected = windrow("status")
    install(code)
    assert windrow("status") == expected
    output = windrow("config")
    assert output.code == 0
    (line,) = (line for line in output.err.splitlines() if "'mine'" in line)
    assert line.startswith("the collection 'mine' (their_package:COLLECTION) cannot be loaded: ")
    assert len(line) < 1_000


def test_what_a_package_prints_when_it_is_loaded_is_not_in_the_output(
    workspace: Path, windrow: Windrow, install: Install
) -> None:
    install("print('welcome'); COLLECTION = 1")
    output = windrow("config", "--json")
    assert output.messages[0]["type"] == "setting"
    assert "welcome" in output.err


def test_the_package_to_remove_is_named_where_two_declare_a_collection(
    workspace: Path, windrow: Windrow, install: Install
) -> None:
    install("COLLECTION = 1", "pages")
    output = windrow("try", "https://example.org/", "--collection", "pages")
    assert output.code == 4
    assert "installed by several packages" in output.err
    assert "try: pip uninstall their-wheel\n" in output.err


def test_a_command_that_another_makers_code_ends_is_an_error(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(root, "invoke", leave)
    output = windrow("status")
    assert output.code == 1
    assert "code that it called exited with 0" in output.err
