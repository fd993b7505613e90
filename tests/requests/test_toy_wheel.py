"""A collection in its own wheel, installed beside windrow's: every command works on it, without an edit in windrow.

The wheels are built and installed as `.ci/wheel` does, into an environment without this repository.
"""

import json
import os
import signal
import time

from tests.requests.installed import InstalledWindrow
from tests.waiting import until


def configure(windrow, server):
    windrow("init", ".")
    (windrow.root / "sources" / "words.toml").write_text(
        f'collection = "glossary"\nurl = "{server.url}"\ndelay = "0s"\nevery = "1s"\n'
    )
    with (windrow.root / "windrow.toml").open("a") as file:
        file.write(f'\n[glossary]\ndefiner = "{server.definer}"\nlanguage = "la"\n')


def test_a_collection_in_a_wheel_of_its_own_works_with_every_command(environment, server, tmp_path):
    windrow = InstalledWindrow(environment, tmp_path)
    configure(windrow, server)
    assert "glossary.language" in windrow("config")
    windrow("run", "glossary")
    assert len([request for request in server.asked if request.startswith("POST")]) == 10
    assert "words" in windrow("status")
    story = windrow("why", "t7")
    assert "a record of glossary" in story
    assert ".warc" in story
    assert "the last page" in windrow("why", f"{server.url}terms?page=4")
    assert "word10" not in windrow("try", f"{server.url}terms?page=2", "--collection", "glossary")
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


def test_a_run_of_an_installed_collection_that_is_killed_goes_on(environment, server, tmp_path):
    windrow = InstalledWindrow(environment, tmp_path)
    configure(windrow, server)
    process = windrow.start("run", "glossary")
    until(lambda: any("page=2" in request for request in server.asked))
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    windrow("run", "glossary")
    assert len(windrow("export", "glossary", "--as", "jsonl").splitlines()) == 10
    windrow("check")


def test_a_collection_that_cannot_be_loaded_is_named_with_exit_code_4_and_the_others_go_on(
    environment, server, tmp_path
):
    windrow = InstalledWindrow(environment, tmp_path)
    configure(windrow, server)
    module = next(environment.glob("lib/*/site-packages/windrow_glossary/collection.py"))
    whole = module.read_text()
    try:
        module.write_text(whole + "\nraise RuntimeError('broken on purpose')\n")
        output = windrow("run", "glossary", code=4)
        assert "glossary" in output
        assert "broken on purpose" in output
        windrow("run", "pages")
    finally:
        module.write_text(whole)
