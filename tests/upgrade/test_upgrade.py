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

from tests.crash.place import tables
from tests.faults.place import Place
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


def test_the_tables_are_the_same(workspace, expected):
    assert json.loads(json.dumps(tables(workspace))) == expected["tables"]


@pytest.mark.parametrize("key", KEYS)
def test_the_story_of_a_file_is_the_same(workspace, expected, key):
    assert messages(workspace, "why", key) == expected["why"][key]
    assert len(expected["why"][key]) > 3


def test_a_run_goes_on_where_the_transfer_was_cut_and_what_rested_is_fetched(workspace):
    place = Place.__new__(Place)  # the workspace is there
    place.root = workspace
    with servers() as running:
        running["own"].files |= EDITED
        for name, server in running.items():
            place.source(name, server.url(), secret="env:HOME", attempts=1)
        assert place.run().code == 0
        assert [bool(start) for start in running["large"].started] == [True]
        assert running["own"].started == []
    place.whole(f"add/{LARGE}", f"add/{MIRRORED}", f"add/{TIRED}")
