"""On CI, where all servers are installed, no test is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SKIPPED = "import pytest\n\n\ndef test_server():\n    pytest.skip('nginx is not here')\n"
UNREADABLE = "import pytest\n\npytest.importorskip('no_such_module')\n"
UNSHARED = "def test_sample(shared):\n    pass\n"


@pytest.mark.parametrize(
    ("text", "ci", "code"),
    [
        (SKIPPED, "", 0), (SKIPPED, "true", 1),
        (UNREADABLE, "", 5), (UNREADABLE, "true", 2),
        (UNSHARED, "", 0), (UNSHARED, "true", 0),
    ],
)  # fmt: skip
def test_on_ci_no_test_is_skipped_but_for_want_of_the_shared_data(
    tmp_path: Path, text: str, ci: str, code: int
) -> None:
    (tmp_path / "test_one.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        f"--rootdir={tmp_path}",
    ]
    environ = os.environ | {"CI": ci, "WINDROW_SHARED": str(tmp_path / "shared"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, tmp_path], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("on CI no test may be skipped" in done.stdout) == (code in {1, 2})
