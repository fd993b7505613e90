"""A user of this machine, made for a test session: some servers know no other kind."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def account(kind: str) -> Iterator[tuple[str, str]]:
    """Make a user with a password; yield both, remove the user afterwards. Only root can do that."""
    if os.getuid() != 0:
        pytest.skip("this server needs a user of its own, which only root can make")
    name, word = f"windrow-{kind}-{os.getpid()}", secrets.token_urlsafe(12)
    subprocess.run(["useradd", "-M", "-N", "-d", "/", "-s", "/bin/bash", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{word}".encode(), check=True)
        yield name, word
    finally:
        subprocess.run(["userdel", name], check=False, capture_output=True)
