"""The collection that `windrow new collection` writes, installed beside windrow: its test passes, and it harvests."""

import importlib
import json
import shutil
import subprocess
import sys

from tests.requests.installed import InstalledWindrow
from tests.waiting import PATIENCE


def test_a_new_collection_passes_its_own_test_where_it_is_installed(environment, scaffolded, tmp_path):
    tests = shutil.copytree(scaffolded.folder / "tests", tmp_path / "tests")
    command = [environment / "bin" / "python", "-m", "unittest", "discover", "-v", "-s", tests]
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    process = subprocess.run(
        command, check=False, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=PATIENCE
    )
    assert process.returncode == 0, process.stderr
    assert "Ran 2 tests" in process.stderr


def test_a_new_collection_is_run_searched_and_replayed_by_the_commands_that_it_names(
    environment, scaffolded, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(str(scaffolded.folder / "tests"))
    server_type = importlib.import_module("server").Server
    try:
        windrow = InstalledWindrow(environment, tmp_path)
        windrow("init", ".")
        with server_type() as server:
            windrow("new", "source", "mine", server.url, "--collection", "court_cases")
            windrow("run", "mine")
            assert "Green tea" in windrow("try", f"{server.url}items?page=1", "--collection", "court_cases")
        assert "Black tea" in windrow("search", "wilted")
        assert "Black tea" in windrow("search", "updated:2025-12..2026-01-01")
        assert "Black tea" not in windrow("search", "updated:2026-01-02..")
        before = windrow("export", "court_cases", "--as", "jsonl")
        assert [json.loads(line)["key"] for line in before.splitlines()] == ["mine/black", "mine/green"]
        windrow("replay")
        assert windrow("export", "court_cases", "--as", "jsonl") == before
        assert "it has no title" in windrow("why", "mine/blank")
        windrow("check")
    finally:
        sys.modules.pop("server", None)
