"""Servers that answer as a test says, and an environment with the installed collections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clock import real_clock  # noqa: F401
from tests.requests.installed import ROOT, UV, build
from tests.requests.workshop import AnswerFunction, Server
from tests.toy_collection.server import Glossary
from tests.waiting import PATIENCE
from windrow.app.begin import add_collection


@pytest.fixture
def serve() -> Iterator[Callable[[AnswerFunction], Server]]:
    """Start a server for each function that answers; all are closed at the end."""
    servers: list[Server] = []

    def start(answer: AnswerFunction) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def server() -> Iterator[Glossary]:
    """Serve the toy collection's API and service."""
    glossary = Glossary()
    yield glossary
    glossary.close()


@pytest.fixture(scope="session")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a collection as `windrow new collection` writes it."""
    return add_collection("court_cases", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory, scaffolded: Any) -> Path:
    """Return a virtual environment with all wheels; skip the tests if their requirements cannot be installed."""
    folder = tmp_path_factory.mktemp("wheels")
    build(ROOT, folder)
    for toy in ("toy_collection", "toy_quotes"):
        build(ROOT / "tests" / toy, folder)
    build(scaffolded.folder, folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=PATIENCE)
    install = [*UV, "pip", "install", "--quiet", "--python", str(folder / "env" / "bin" / "python")]
    install += ["--constraint", str(ROOT / "requirements" / "demo.txt"), *map(str, sorted(folder.glob("*.whl")))]
    installation = subprocess.run(install, check=False, cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    if installation.returncode:
        pytest.skip(f"the requirements of the wheels cannot be installed here: {installation.stderr[-300:]}")
    return folder / "env"
