"""A command imports only the modules that it uses."""

import subprocess
import sys

import pytest

from windrow.app import Windrow

SCRIPT = """
import sys
sys.argv = ["windrow", *{words!r}]
from windrow.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print(code, *sys.modules, file=sys.stderr)
"""
HEAVY = {"sqlalchemy", "lxml", "selectolax", "markdown_it", "asyncio", "ssl", "isal", "multiprocessing"}


def loaded(*words, workspace):
    """Run a command in a process of its own; return its exit code and the modules that are loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(words=words)], cwd=workspace, capture_output=True, text=True, check=False
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    return int(code), set(modules)


@pytest.fixture
def workspace(tmp_path):
    Windrow.init(tmp_path).new_source("blog", "https://blog.example.org/", collection="pages")
    return tmp_path


@pytest.mark.parametrize("words", [["--help"], ["search", "--help"], ["--version"]])
def test_help_at_start_loads_no_collection_and_no_store(words, workspace):
    code, modules = loaded(*words, workspace=workspace)
    assert code == 0
    assert modules & HEAVY == set()
    assert [
        module
        for module in modules
        if module.startswith(("windrow.collections.", "windrow.stores.", "windrow.engine."))
    ] == []


def test_config_at_start_loads_what_collections_declare_and_none_of_their_readers(workspace):
    code, modules = loaded("config", workspace=workspace)
    assert code == 0
    assert modules & HEAVY == set()
    assert "windrow.collections.pages.settings" in modules
    assert [module for module in modules if ".adapter." in module or ".reading." in module] == []
