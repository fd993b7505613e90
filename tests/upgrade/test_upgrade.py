"""A workspace of the first schema says the same after an upgrade, and goes on where it was cut.

`pack.py` wrote it with the code of then.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash.workspace import read_tables
from tests.faults.workspace import DropsWorkspace
from tests.upgrade.pack import EDITED, KEYS, LARGE, MIRRORED, TARGET, TIRED, messages, servers


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    with tarfile.open(TARGET) as tar:
        return json.load(tar.extractfile("expected.json"))  # type: ignore[arg-type]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Unpack the workspace, and make its databases."""
    root = tmp_path / "workspace"
    with tarfile.open(TARGET) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2, of Debian 12, has none
        tar.extractall(root)
    for path in root.glob("*.sql"):
        with closing(sqlite3.connect(path.with_suffix(""))) as connection:
            connection.executescript(path.read_text())
        path.unlink()
    return root


def without_sentences(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out the sentences, which may be worded anew."""
    return [{name: value for name, value in line.items() if name != "message"} for line in lines]


def test_the_tables_are_the_same(workspace, expected):
    assert json.loads(json.dumps(read_tables(workspace))) == expected["tables"]


@pytest.mark.parametrize("key", KEYS)
def test_the_story_of_a_file_is_the_same(workspace, expected, key):
    story = without_sentences(messages(workspace, "why", key))
    assert story[0].pop("more") == 0  # a field that the older version did not have
    assert story == without_sentences(expected["why"][key])
    assert len(story) > 3


def test_a_run_goes_on_where_the_transfer_was_cut_and_what_rested_is_fetched(workspace):
    drops_workspace = DropsWorkspace.__new__(DropsWorkspace)  # the workspace is there
    drops_workspace.root = workspace
    with servers() as running:
        running["own"].files |= EDITED
        for name, server in running.items():
            drops_workspace.add_source(name, server.url(), secret="env:HOME", attempts=1)
        assert drops_workspace.run().code == 0
        assert [bool(start) for start in running["large"].started] == [True]
        assert running["own"].started == []
    drops_workspace.assert_complete(f"add/{LARGE}", f"add/{MIRRORED}", f"add/{TIRED}")
