"""The examples in the docstrings of tools/ are correct."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.tree import ROOT, at, python


@pytest.mark.parametrize("tool", python("tools"), ids=at)
def test_the_examples_of_a_tool(tool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "doctest", str(tool)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
