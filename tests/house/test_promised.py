"""The list of promised names is that of the code: none goes and no argument changes unnoticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.tree import ROOT

GONE = """promised, and gone or changed. Once released, a name goes in steps (docs/reference/promises.md):
setting, command, option, reason: its old name into src/windrow/renamed.py; JSON, Python: the old name beside the new one.
Then: make docs"""


def test_the_list_of_promised_names_is_that_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / "promised.txt"
    subprocess.run([sys.executable, "tools/promised.py", path], cwd=ROOT, check=True)
    names = set(path.read_text(encoding="utf-8").splitlines())
    listed = set((ROOT / "docs/reference/promised.txt").read_text(encoding="utf-8").splitlines())
    assert len(names) > 1000
    assert sorted(listed - names) == [], GONE
    assert sorted(names - listed) == [], "public, and not in the list of promised names: make docs"
