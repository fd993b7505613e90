"""The manual's systemd unit gives windrow no rights that it does not need."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.tree import ROOT

HIGHEST_EXPOSURE = 20
"""Tenths of systemd's exposure level, from 0 (safe) to 100."""


def service_unit() -> str:
    text = (ROOT / "docs/howto/run-periodically.md").read_text()
    (unit,) = re.findall(r"```ini\n(\[Unit\]\n.*?\n\[Service\]\n.*?)```", text, re.DOTALL)
    return unit


def rate(unit: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: make servers")
    file = folder / "windrow.service"
    file.write_text(unit)
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={HIGHEST_EXPOSURE}", file]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_unit_of_the_manual_is_hardened(tmp_path: Path) -> None:
    rating = rate(service_unit(), tmp_path)
    assert rating.returncode == 0, rating.stdout + rating.stderr
    assert "Overall exposure level for windrow.service" in rating.stdout


def test_rating_fails_for_a_unit_that_protects_nothing(tmp_path: Path) -> None:
    unit = "[Service]\nExecStart=/opt/windrow/.venv/bin/windrow run\n"
    assert rate(unit, tmp_path).returncode != 0
