"""A collection in a wheel of its own, installed beside windrow's: every command works on it, with no edit in windrow.

The wheels are built and installed as `.ci/wheel` does, into an environment that has nothing of this repository.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.toy_collection.server import Glossary

ROOT = Path(__file__).parent.parent.parent
UV = [sys.executable, str(ROOT / "tools" / "mirror.py"), str(Path(sys.executable).parent / "uv")]


def build(project, into):
    command = [*UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*command, "--out-dir", str(into), str(project)], check=True, cwd=ROOT, timeout=120)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with both wheels; skipped where what they need cannot be had."""
    folder = tmp_path_factory.mktemp("wheels")
    build(ROOT, folder)
    build(ROOT / "tests" / "toy_collection", folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=120)
    install = [*UV, "pip", "install", "--quiet", "--python", str(folder / "env" / "bin" / "python")]
    install += ["--constraint", str(ROOT / "requirements" / "demo.txt"), *map(str, sorted(folder.glob("*.whl")))]
    done = subprocess.run(install, check=False, cwd=folder, capture_output=True, text=True, timeout=280)
    if done.returncode:
        pytest.skip(f"what the wheels need cannot be installed here: {done.stderr[-300:]}")
    return folder / "env"


@pytest.fixture
def server():
    served = Glossary()
    yield served
    served.close()


class Place:
    """A workspace, and commands run in it as a user runs them."""

    def __init__(self, environment, root):
        self.environment, self.root = environment, root

    def start(self, *words):
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "LANG": "C.UTF-8"}
        return subprocess.Popen(
            [str(self.environment / "bin" / "windrow"), *words], cwd=self.root, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def __call__(self, *words, code=0):
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, f"{words}: {process.returncode}\n{out}\n{err}"
        return out + err if code else out

    def configure(self, server):
        self("init", ".")
        (self.root / "sources" / "words.toml").write_text(
            f'collection = "glossary"\nurl = "{server.url}"\ndelay = "0s"\nevery = "1s"\n'
        )
        with (self.root / "windrow.toml").open("a") as file:
            file.write(f'\n[glossary]\ndefiner = "{server.definer}"\nlanguage = "la"\n')


@pytest.mark.timeout(600)
def test_a_collection_in_a_wheel_of_its_own_works_with_every_command(environment, server, tmp_path):
    windrow = Place(environment, tmp_path)
    windrow.configure(server)
    assert "glossary.language" in windrow("config")
    windrow("run", "glossary")
    assert len([one for one in server.asked if one.startswith("POST")]) == 10
    assert "words" in windrow("status")
    story = windrow("why", "t7")
    assert "a record of glossary" in story
    assert ".warc" in story
    assert "the last page" in windrow("why", f"{server.url}terms?page=4")
    assert "word10" not in windrow("try", f"{server.url}terms?page=2", "--as", "glossary")
    windrow("check")
    assert "t7" in windrow("search", "word7")
    before = windrow("export", "glossary", "--as", "jsonl")
    assert len(before.splitlines()) == 10
    assert json.loads(before.splitlines()[0])["value"]["definition"].endswith("in la")
    asked = len(server.asked)
    windrow("replay")
    assert len(server.asked) == asked
    assert windrow("export", "glossary", "--as", "jsonl") == before
    windrow("retry", f"{server.url}terms?page=4")
    server.add(11)
    time.sleep(1.1)
    windrow("run", "glossary")
    assert len(windrow("export", "glossary", "--as", "jsonl").splitlines()) == 11
    windrow("forget", "t2", "--yes", "--reason", "asked by its author")
    assert "t2" not in windrow("search", "word2")
    assert '"key": "t2"' not in windrow("export", "glossary", "--as", "jsonl")


@pytest.mark.timeout(600)
def test_a_run_of_an_installed_collection_that_is_killed_goes_on(environment, server, tmp_path):
    windrow = Place(environment, tmp_path)
    windrow.configure(server)
    process = windrow.start("run", "glossary")
    while not any("page=2" in one for one in server.asked):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    windrow("run", "glossary")
    assert len(windrow("export", "glossary", "--as", "jsonl").splitlines()) == 10
    windrow("check")


@pytest.mark.timeout(600)
def test_a_collection_that_cannot_be_loaded_is_named_with_exit_code_4_and_the_others_go_on(
    environment, server, tmp_path
):
    windrow = Place(environment, tmp_path)
    windrow.configure(server)
    module = next(environment.glob("lib/*/site-packages/windrow_glossary/collection.py"))
    whole = module.read_text()
    try:
        module.write_text(whole + "\nraise RuntimeError('broken on purpose')\n")
        said = windrow("run", "glossary", code=4)
        assert "glossary" in said
        assert "broken on purpose" in said
        windrow("run", "pages")
    finally:
        module.write_text(whole)
