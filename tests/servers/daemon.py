"""Start one server program for a test session, and end exactly that one."""

from __future__ import annotations

import importlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest


def absent(server: str) -> NoReturn:
    """Skip the test because a server is missing; fail it if CI is set."""
    pytest.skip(f"{server} is not here: make servers")


def find(name: str, *folders: str) -> str:
    """Return the path of a program, or skip."""
    program = shutil.which(name, path=os.pathsep.join((*folders, os.environ.get("PATH", ""), "/usr/sbin")))
    if program is None:
        absent(name)
    return str(program)


def driver(name: str) -> ModuleType:
    """Return a database driver's module, or skip."""
    try:
        return importlib.import_module(name)
    except ImportError:
        absent(name)


def drop_root(user: str) -> list[str]:
    """Return the words before a command that run it as `user`; it ends with this process."""
    setpriv = find("setpriv")
    words = [setpriv, "--pdeathsig=TERM"]
    if os.getuid() == 0:
        account = pwd.getpwnam(user)
        words += [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    return words


@contextmanager
def home(user: str) -> Iterator[Path]:
    """Make a folder that `user` owns; short, since socket paths are."""
    folder = Path(tempfile.mkdtemp(prefix="wr-"))
    try:
        folder.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running(
    command: Sequence[str], log: Path, ready: Callable[[], bool], *, end: int = signal.SIGTERM
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until it answers, and end it by its own process id."""
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=log.parent)
    try:
        deadline = time.monotonic() + 180
        while not ready():
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{command[-1]} did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.03)
        yield server
    finally:
        server.send_signal(end)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
