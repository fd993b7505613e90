"""Servers of this machine for a benchmark: found, started on loopback, and ended by their own process id."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOM = 8 << 30
"""Free bytes that make the memory file system good enough to work in."""


class Missing(Exception):
    """A program that the comparison needs is not on this machine; the message names it."""


def find(name: str) -> str:
    """Return the path of a program."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise Missing(f"{name} is not here: make servers")
    return found


def free_port() -> int:
    """Choose a port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a folder for everything that one comparison reads and writes, in memory where there is room."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free >= ROOM
    with tempfile.TemporaryDirectory(prefix="windrow-bench-", dir=memory if roomy else None) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def place(folder: Path) -> str:
    """Say what file system a folder is on, for a note."""
    return f"on {folder.parent}"


@contextmanager
def account(kind: str) -> Iterator[tuple[str, str]]:
    """Make a user of this machine with a password, and remove it afterwards; only root can."""
    if os.getuid() != 0:
        raise Missing(f"the {kind} server needs a user of its own, which only root can make")
    name, word = f"windrow-bench-{kind}-{os.getpid()}"[:32], secrets.token_urlsafe(12)
    subprocess.run(["useradd", "-M", "-N", "-d", "/", "-s", "/bin/bash", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{word}".encode(), check=True)
        yield name, word
    finally:
        subprocess.run(["userdel", name], check=False, capture_output=True)


@contextmanager
def running(command: list[str], log: Path, port: int, host: str = "127.0.0.1") -> Iterator[None]:
    """Run a server from when it takes connections until the block ends."""
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        until = time.monotonic() + 30
        while not _listens(host, port):
            if server.poll() is not None or time.monotonic() > until:
                raise Missing(f"{command[0]} did not start: {log.read_text(errors='replace')[-500:]}")
            time.sleep(0.03)
        yield
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True
