"""What these tests share: servers that answer as a test says, and the environment of the installed collections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clock import real_clock  # noqa: F401
from tests.requests.installed import ROOT, UV, build
from tests.requests.workshop import Answering, Server
from tests.waiting import PATIENCE
from windrow.app.begin import add_collection


@pytest.fixture
def serve() -> Iterator[Callable[[Answering], Server]]:
    """Start a server for each function that answers; all are closed at the end."""
    servers: list[Server] = []

    def start(answer: Answering) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A collection as `windrow new collection` begins it."""
    return add_collection("court_cases", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, scaffolded: Any) -> Path:
    """An environment with all wheels; skipped where what they need cannot be had."""
    folder = tmp_path_factory.mktemp("wheels")
    build(ROOT, folder)
    for toy in ("toy_collection", "toy_quotes"):
        build(ROOT / "tests" / toy, folder)
    build(scaffolded.folder, folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=PATIENCE)
    install = [*UV, "pip", "install", "--quiet", "--python", str(folder / "env" / "bin" / "python")]
    install += ["--constraint", str(ROOT / "requirements" / "demo.txt"), *map(str, sorted(folder.glob("*.whl")))]
    done = subprocess.run(install, check=False, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        pytest.skip(f"what the wheels need cannot be installed here: {done.stderr[-300:]}")
    return folder / "env"
