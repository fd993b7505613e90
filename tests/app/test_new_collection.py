"""A package for a new collection: its name, its folder and its files."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from windrow.app.begin import add_collection
from windrow.errors import ConfigError, UsageError, WindrowError


@pytest.mark.parametrize("name", ["", "2cases", "Cases", "court-cases", "cases_", "_cases", "café", "a" * 33, "../x",
                                  "a b", "x\n", "\u017f"])  # fmt: skip
def test_a_new_collection_with_an_odd_name_is_refused_with_one_that_works(name, tmp_path):
    with pytest.raises(UsageError) as error:
        add_collection(name, tmp_path)
    assert list(tmp_path.iterdir()) == []
    meant = error.value.hint.removeprefix("windrow new collection ")
    assert add_collection(meant, tmp_path).name == meant


@pytest.mark.parametrize("name", ["pages", "drops", "run", "limits", "source", "name"])
def test_a_new_collection_with_a_name_that_means_something_else_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match=name):
        add_collection(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_new_collection_leaves_a_folder_that_is_there_as_it_is(tmp_path):
    there = tmp_path / "windrow-cases"
    there.mkdir()
    with pytest.raises(UsageError, match="exists already"):
        add_collection("cases", tmp_path)
    assert list(there.iterdir()) == []


def test_a_new_collection_that_cannot_be_written_whole_leaves_nothing(tmp_path, monkeypatch):
    whole, written = Path.write_text, []

    def write(path, text, **more):
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        written.append(path)
        return whole(path, text, **more)

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(ConfigError, match="No space left"):
        add_collection("cases", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kept", ["", "pages"])
@pytest.mark.parametrize("name", ["cases", "a" * 32])
def test_a_new_collection_keeps_the_rules_of_this_house(name, kept, tmp_path):
    package = add_collection(name, tmp_path, kept)
    assert {"pyproject.toml", "README.md", f"tests/test_{name}.py", f"src/windrow_{name}/collection.py"} <= set(
        package.files
    )
    rules = [sys.executable, "-m", "ruff", "--config", str(ROOT / "pyproject.toml")]
    for arguments in (["format", "--check"], ["check", "--ignore", "ARG001,D102,D106,I001,INP001,N802,PT009,PYI034"]):
        command = [*rules[:3], arguments[0], *rules[3:], *arguments[1:], str(package.folder)]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stdout


def test_a_new_collection_of_an_api_is_one_short_file(tmp_path):
    package = add_collection("cases", tmp_path)
    assert [path for path in package.files if path.startswith("src/")] == [
        "src/windrow_cases/__init__.py", "src/windrow_cases/collection.py",
    ]  # fmt: skip
    assert len((package.folder / "src/windrow_cases/collection.py").read_text().splitlines()) <= 60


def test_a_new_collection_of_kept_pages_is_one_short_file_whose_test_passes(tmp_path):
    package = add_collection("cases", tmp_path, "pages")
    assert set(package.files) == {
        "README.md", "pyproject.toml", "src/windrow_cases/__init__.py", "src/windrow_cases/collection.py",
        "tests/test_cases.py",
    }  # fmt: skip
    assert len((package.folder / "src/windrow_cases/collection.py").read_text().splitlines()) <= 65
    installed = tmp_path / "windrow_cases-0.1.0.dist-info"  # as an installation would have
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: windrow-cases\nVersion: 0.1.0\n")
    entry_point = "cases = windrow_cases.collection:COLLECTION"
    (installed / "entry_points.txt").write_text(f"[windrow.collections]\n{entry_point}\n")
    assert 'cases = "windrow_cases.collection:COLLECTION"' in (package.folder / "pyproject.toml").read_text()
    environment = os.environ | {"PYTHONPATH": f"{package.folder / 'src'}:{tmp_path}"}
    command = [sys.executable, "-m", "unittest", "discover", "-s", package.folder / "tests"]
    tested = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert "Ran 1 test" in tested.stderr


def test_a_new_collection_of_what_no_collection_keeps_is_refused(tmp_path):
    with pytest.raises(WindrowError, match="stamps"):
        add_collection("cases", tmp_path, "stamps")
    assert list(tmp_path.iterdir()) == []


def test_the_commands_that_a_new_collection_names_can_be_typed_as_they_stand(tmp_path):
    package = add_collection("cases", tmp_path)
    assert [command.split()[1] for command in package.commands if command.startswith("windrow ")] == [
        "init",
        "new",
        "run",
    ]
    lines = (package.folder / "README.md").read_text().splitlines()
    typed = [line for line in lines if line.startswith("    windrow ")]
    assert typed
    assert [
        line for line in typed if set("?*[") & set(re.sub(r"'[^']*'", "", line))
    ] == []  # a shell would expand these
