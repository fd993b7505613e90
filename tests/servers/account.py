"""A user of this machine for one test session: some servers accept no other users."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks import daemon


@contextmanager
def account(kind: str) -> Iterator[tuple[str, str]]:
    """Make a user with a password; yield both, remove the user afterwards. Only root can do that."""
    if os.getuid() != 0:
        pytest.skip("this server needs a user of its own, which only root can make")
    with daemon.account(kind) as (name, password):
        yield name, password
