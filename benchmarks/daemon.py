"""Servers of this machine for a benchmark: found, started on loopback, and ended by their own process id."""

from __future__ import annotations

import atexit
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


PATIENCE = 60
"""Seconds in which a server starts, and ends."""


class Missing(Exception):
    """The comparison needs a program that is not installed; the message names it."""


def find(name: str) -> str:
    """Return the path of a program."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if path is None:
        raise Missing(f"{name} is not here: make servers")
    return path


def free_port() -> int:
    """Choose a free port, and reserve it until this process ends.

    A socket that does not listen holds it. A server, here or in a child, listens beside it if it sets SO_REUSEADDR,
    as servers do; until then connections are refused.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    atexit.register(held.close)
    return int(held.getsockname()[1])


def listens(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server takes connections."""
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True


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
    """Return the type of the file system that a folder is on."""
    return f"on {folder.parent}"


@contextmanager
def account(kind: str) -> Iterator[tuple[str, str]]:
    """Make a user of this machine with a password, and remove it afterwards; only root can."""
    if os.getuid() != 0:
        raise Missing(f"the {kind} server needs a user of its own, which only root can make")
    name, word = f"windrow-{kind}-{secrets.token_hex(4)}", secrets.token_urlsafe(12)
    subprocess.run(["useradd", "-M", "-N", "-d", "/", "-s", "/bin/bash", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{word}".encode(), check=True)
        yield name, word
    finally:
        subprocess.run(["userdel", "--force", name], check=True, capture_output=True)


@contextmanager
def running(
    command: list[str], log: Path, port: int, host: str = "127.0.0.1", end: int = signal.SIGTERM
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server from when it takes connections until the block ends, by the signal `end`; yield its process."""
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        until = time.monotonic() + PATIENCE
        while not listens(port, host):
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')[-500:]}")
            time.sleep(0.03)
        yield server
    finally:
        server.send_signal(end)
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
