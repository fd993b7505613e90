"""The commands in the manual work, and print what it shows.

Snippets marked `sh run` are run, page by page. A block marked `text shown` has lines that the snippet before it
prints; times, sizes, paths and digests may differ (`page.steady`), and `...` stands for anything.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from benchmarks.daemon import free_port

from tests import programs
from tests.house.page import is_shown, name, pages, shell, snippets

RUN = [page for page in pages() if snippets(page)]
_END = "-- end of a snippet --"
TOLD = [page for page in pages() if shell(page)]


def surroundings(home: Path) -> dict[str, str]:
    kept = {key: text for key, text in os.environ.items() if not key.startswith("WINDROW_")}
    path = os.pathsep.join((str(home / "bin"), str(Path(sys.executable).parent), kept.get("PATH", "")))
    return kept | {"HOME": str(home), "PATH": path, "NO_COLOR": "1"}


def exchanged(text: str, ports: dict[str, str]) -> str:
    """Put other ports in the place of some."""
    return re.sub(r"(?<!\d)\d{5}(?!\d)", lambda match: ports.get(match[0], match[0]), text)


@pytest.mark.parametrize("page", RUN, ids=name)
def test_the_snippets_of_a_page_run_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    parts = snippets(page)
    programs.write_command(tmp_path / "bin")
    script = "".join(f"{snippet.text}\necho {_END}\n" for snippet in parts)
    # A page names one port. Where two runs of this test meet on a machine, the second would crawl the first one's site.
    ports = {port: str(free_port()) for port in set(re.findall(r"127\.0\.0\.1:(\d{5})", script))}
    script = exchanged(script, ports)
    done = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = done.communicate(timeout=240)  # a page may start windrow a dozen times
    finally:
        with suppress(ProcessLookupError):  # a server that the page started ends with it, however the page ends
            os.killpg(done.pid, signal.SIGKILL)
        done.wait()
    output = exchanged(output, {free: port for port, free in ports.items()})
    assert done.returncode == 0, output
    for part, printed in zip(parts, output.split(f"{_END}\n"), strict=False):
        for line in part.shown:
            assert is_shown(line, printed.splitlines()), f"not printed: {line}\n{printed}"


def test_a_page_that_shows_what_is_not_printed_is_found_out() -> None:
    assert is_shown("session 1 took 2.0 s: done, ... failed", ["session 1 took 16.5 s: done, 1 refused, 1 failed"])
    assert not is_shown("session 1 took 2.0 s: all well", ["session 1 took 2.0 s: done, 1 refused, 1 failed"])
    assert not is_shown("zip  zip_name  failed  1", ["zip  zip_name  failed  2"])


@cache
def help_of(verb: str) -> subprocess.CompletedProcess[str]:
    """Ask a command for its help: once, however many pages show it."""
    with TemporaryDirectory() as home:
        return programs.run("-m", "windrow", verb, "--help", cwd=Path(home), env=surroundings(Path(home)))


@pytest.mark.parametrize("page", TOLD, ids=name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    for verb in sorted({words[1] for line in shell(page) if not (words := line.split())[1].startswith("-")}):
        help_page = help_of(verb)
        assert help_page.returncode == 0, f"windrow {verb}: {help_page.stderr}"
