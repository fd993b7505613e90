"""`windrow init`, `new`, `config`, `completion`: the first steps."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from windrow.ledger import database
from windrow.ledger.database import migrations

KEY = "SHA256:" + "A" * 43


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_init_says_what_it_made_and_overwrites_nothing(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    said = windrow("init", "w")
    assert said.code == 0
    assert said.out == ""
    assert "made windrow.toml" in said.err
    assert "made ledger.sqlite" in said.err
    (tmp_path / "w" / "windrow.toml").write_text("# mine\n")
    before = tree(tmp_path)
    said = windrow("init", "w", "--json")
    assert said.messages[0]["changed"] is False
    assert said.messages[0]["did"] == [
        "kept windrow.toml as it is", "kept sources/ as it is", f"kept ledger.sqlite as it is (schema {migrations()[-1][0]})",
    ]  # fmt: skip
    assert tree(tmp_path) == before


def test_init_needs_a_folder_that_can_be_written(tmp_path, windrow) -> None:
    (tmp_path / "file").write_text("")
    said = windrow("init", tmp_path / "file" / "w")
    assert said.code == 4
    assert "cannot be made a workspace" in said.err


def test_init_upgrades_an_older_ledger_and_keeps_a_copy(tmp_path, windrow, monkeypatch) -> None:
    windrow("init", tmp_path)
    *_, (number, _) = known = migrations()
    monkeypatch.setattr(database, "migrations", lambda: [*known, (number + 1, "CREATE TABLE note (seq BIGINT);")])
    said = windrow("init", tmp_path)
    assert said.code == 0
    assert f"upgraded ledger.sqlite from schema {number} to {number + 1}" in said.err
    assert list(tmp_path.glob("ledger.before-*"))


def test_init_refuses_a_ledger_from_before_the_first_release(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("PRAGMA user_version = 20")
    said = windrow("init", tmp_path)
    assert said.code == 1
    assert "before its first release" in said.err
    assert "windrow init FOLDER" in said.err


def test_init_refuses_a_ledger_of_the_future(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("PRAGMA user_version = 999")
    ledger.close()
    said = windrow("init", tmp_path)
    assert said.code == 1
    assert "was written by a newer windrow" in said.err


def test_new_source_writes_what_run_can_read(workspace, partner, windrow) -> None:
    said = windrow("new", "source", "second", f"file://{partner}", "--collection", "drops", "--centre", "J")
    assert said.code == 0
    assert (workspace / "sources" / "second.toml").read_text() == (
        f'url = "file://{partner}"\ncollection = "drops"\ncentre = "J"\n'
    )
    assert "second" in windrow("run", "second", "--dry-run").out


@pytest.mark.parametrize(
    ("name", "url", "told"),
    [
        ("harwell", "ftp://h/", "there is a source harwell already"),
        ("bad", "ftp://u:hunter2@h/", "may not hold a password"),
        ("bad", "gopher://h/", "wanted an address that begins with one of"),
        ("../bad", "ftp://h/", "is not a name for a source"),
        ("b d", "ftp://h/", "is not a name for a source"),
        ("bad", "ftp://h/", "the source of drops needs its centre; there are Bcm, "),
    ],
)
def test_new_source_refuses(name, url, told, workspace, windrow) -> None:
    before = tree(workspace)
    said = windrow("new", "source", name, url, "--collection", "drops")
    assert said.code in {2, 4}
    assert told in said.err
    assert "hunter2" not in said.err
    assert tree(workspace) == before


def test_new_source_refuses_an_unknown_collection(workspace, windrow) -> None:
    before = tree(workspace)
    assert "no collection 'nosuch'" in windrow("new", "source", "bad", "ftp://h/", "--collection", "nosuch").err
    assert tree(workspace) == before


def test_new_source_refuses_a_centre_that_nobody_declared(workspace, windrow) -> None:
    before = tree(workspace)
    said = windrow("new", "source", "bad", "ftp://h/", "--collection", "drops", "--centre", "Nope")
    assert said.code == 2
    assert "no centre 'Nope' is declared; there are Bcm, " in said.err
    assert tree(workspace) == before


def test_the_demo_plays_in_a_folder_named_from_here(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    said = windrow("demo", "here/it")
    assert said.code == 0
    rows = {line.split()[0]: line for line in reversed(said.out.splitlines()) if line.strip()}  # the first of each name
    for source in ("h", "j", "ucd", "wtsi"):
        assert re.match(rf"{source} +\w+ +available +\d{{4}}-", rows[source])
    for site, items, changed in (("harbour", 7, 1), ("museum", 8, 1), ("shop", 16, 0), ("manor", 0, 0)):
        assert re.match(rf"{site} +- +available +\S+ \S+ +{items} +\d+ +{changed} ", rows[site])
    assert "papers.example/whales.pdf" in said.out
    for source, items, new, changed, failed in (
        ("gazette", 3, 1, 1, 0),
        ("council", 4, 1, 2, 0),
        ("library", 3, 3, 0, 1),
    ):
        assert re.match(rf"{source} .* {items} +{new} +{changed} +\d+ +0 +{failed} ", rows[source])
    assert re.search(
        r"changed +council +council/pier@council.example +Repair of the pier\n +status confirmed -> ca", said.out
    )
    corrected = next(
        path for path in (tmp_path / "here/it/normalized_news").rglob("*.json") if "keys" in path.read_text()
    )
    assert "thirty-one years" in corrected.read_text()
    assert "The ferry', seen by 1 crawl " in said.out
    assert "not shown" not in said.err
    assert windrow("check", "--workspace", "here/it").code == 0
    told = windrow(
        "search", "lighthouse OR keepers OR drafts OR calendar", "--limit", 50, "--json", "--workspace", "here/it"
    )
    found = [one["title"] for one in told.of("result")]
    assert {"The lighthouse", "The harbour", "A whale in the bay", "The shop"} <= set(found)
    assert not {"Drafts", "Keepers", "The manor"} & set(found)
    assert windrow("demo", "here").code == 2


def test_config_shows_values_and_where_they_came_from(workspace, monkeypatch, windrow) -> None:
    monkeypatch.setenv("WINDROW_CONTACT", "me@example.org")
    found = {message["name"]: message for message in windrow("config", "--json").messages}
    assert found["contact"] == {
        "type": "setting", "name": "contact", "value": "me@example.org", "origin": "env WINDROW_CONTACT",
    }  # fmt: skip
    assert found["drops.attempts"]["origin"] == "default"
    assert found["source.harwell.centre"]["origin"] == "sources/harwell.toml"
    assert "env WINDROW_CONTACT" in windrow("config").out


def test_config_never_shows_a_secret(workspace, monkeypatch, windrow) -> None:
    monkeypatch.setenv("HARWELL_PASSWORD", "hunter2")
    source = workspace / "sources" / "harwell.toml"
    source.write_text(source.read_text() + 'secret = "env:HARWELL_PASSWORD"\n')
    for words in (["config"], ["config", "--json"], ["status"], ["run", "--dry-run", "--json"]):
        said = windrow(*words)
        assert "hunter2" not in said.out + said.err
    assert "env:HARWELL_PASSWORD" in windrow("config").out


def test_config_trust_pins_a_key_once(workspace, windrow) -> None:
    assert windrow("config", "trust", "harwell", KEY, "--json").messages[0]["new"] is True
    assert windrow("config", "trust", "harwell", KEY, "--json").messages[0]["new"] is False
    assert KEY in (workspace / "host_keys.toml").read_text()
    assert windrow("config", "trust", "nosuch", KEY).code == 2
    assert windrow("config", "trust", "harwell", "SHA256:short").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_completion(shell, tmp_path, windrow) -> None:
    said = windrow("completion", shell)
    assert said.code == 0
    assert "_WINDROW_COMPLETE" in said.out
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(said.out)
        subprocess.run([shell, "-n", str(script)], check=True)
    assert windrow("completion", shell, "--json").messages[0]["script"].strip() == said.out.strip()


def completed(line: str, cwd: Path) -> list[str]:
    words = line.split(" ")
    environ = os.environ | {
        "_WINDROW_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "windrow"], env=environ, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_words_are_completed(workspace, tmp_path) -> None:
    assert completed("windrow st", workspace) == ["status"]
    assert completed("windrow run har", workspace) == ["harwell"]
    assert completed(f"windrow run --workspace {workspace} ", tmp_path) == [
        "harwell",
        "drops",
        "events",
        "news",
        "pages",
        "papers",
    ]
    assert completed("windrow run --from x", workspace) == ["xml_name", "xsd"]
    assert completed("windrow config trust h", workspace) == ["harwell"]
    assert completed("windrow try x --as d", workspace) == ["drops"]
    assert completed("windrow run har", tmp_path) == []
