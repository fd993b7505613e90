"""What the manual tells people to type works: snippets marked `sh run` are run, page by page."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.house.page import name, pages, runnable, shell

RUN = [page for page in pages() if runnable(page)]
TOLD = [page for page in pages() if shell(page)]


def surroundings(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WINDROW_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), kept.get("PATH", "")))
    return kept | {"HOME": str(home), "PATH": path, "NO_COLOR": "1"}


@pytest.mark.parametrize("page", RUN, ids=name)
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path) -> None:
    done = subprocess.Popen(
        ["bash", "-euxo", "pipefail", "-c", runnable(page)],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = done.communicate(timeout=240)  # a page may start windrow a dozen times
    finally:
        with suppress(ProcessLookupError):  # a server that the page started ends with it, however the page ends
            os.killpg(done.pid, signal.SIGKILL)
        done.wait()
    assert done.returncode == 0, said


@pytest.mark.parametrize("page", TOLD, ids=name)
def test_the_commands_of_a_page_exist(page: Path, tmp_path: Path) -> None:
    for verb in sorted({words[1] for line in shell(page) if not (words := line.split())[1].startswith("-")}):
        done = subprocess.run(
            [str(Path(sys.executable).parent / "windrow"), verb, "--help"],
            cwd=tmp_path,
            env=surroundings(tmp_path),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"windrow {verb}: {done.stderr}"
