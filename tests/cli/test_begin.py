"""`windrow init`, `new`, `config`, `completion`: the first steps."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from windrow.ledger import database
from windrow.ledger.database import migrations

KEY = "SHA256:" + "A" * 43


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_init_says_what_it_made_and_overwrites_nothing(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow("init", "w")
    assert output.code == 0
    assert output.out == ""
    assert "made windrow.toml" in output.err
    assert "made ledger.sqlite" in output.err
    (tmp_path / "w" / "windrow.toml").write_text("# mine\n")
    before = tree(tmp_path)
    output = windrow("init", "w", "--json")
    assert output.messages[0]["changed"] is False
    assert output.messages[0]["actions"] == [
        "kept windrow.toml as it is", "kept sources/ as it is", f"kept ledger.sqlite as it is (schema {migrations()[-1][0]})",
    ]  # fmt: skip
    assert tree(tmp_path) == before


def test_init_needs_a_folder_that_can_be_written(tmp_path, windrow) -> None:
    (tmp_path / "file").write_text("")
    output = windrow("init", tmp_path / "file" / "w")
    assert output.code == 4
    assert "cannot be made a workspace" in output.err


def test_init_upgrades_an_older_ledger_and_keeps_a_copy(tmp_path, windrow, monkeypatch) -> None:
    windrow("init", tmp_path)
    *_, (number, _) = known = migrations()
    monkeypatch.setattr(database, "migrations", lambda: [*known, (number + 1, "CREATE TABLE note (seq BIGINT);")])
    output = windrow("init", tmp_path)
    assert output.code == 0
    assert f"upgraded ledger.sqlite from schema {number} to {number + 1}" in output.err
    assert list(tmp_path.glob("ledger.before-*"))


def test_init_refuses_a_ledger_from_before_the_first_release(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("PRAGMA user_version = 20")
    output = windrow("init", tmp_path)
    assert output.code == 1
    assert "before the first release" in output.err
    assert "windrow init FOLDER" in output.err


def test_init_refuses_a_ledger_of_the_future(tmp_path, windrow) -> None:
    windrow("init", tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("PRAGMA user_version = 999")
    ledger.close()
    output = windrow("init", tmp_path)
    assert output.code == 1
    assert "was written by a newer windrow" in output.err


def test_new_source_writes_what_run_can_read(workspace, partner, windrow) -> None:
    output = windrow("new", "source", "second", f"file://{partner}", "--collection", "drops", "--centre", "J")
    assert output.code == 0
    assert (workspace / "sources" / "second.toml").read_text() == (
        f'url = "file://{partner}"\ncollection = "drops"\ncentre = "J"\n'
    )
    assert "second" in windrow("run", "second", "--dry-run").out


@pytest.mark.parametrize(
    ("name", "url", "message"),
    [
        ("harwell", "ftp://h/", "source harwell exists already"),
        ("bad", "ftp://u:hunter2@h/", "may not contain a password"),
        ("bad", "gopher://h/", "expected an address that begins with one of"),
        ("../bad", "ftp://h/", "cannot name a source"),
        ("b d", "ftp://h/", "cannot name a source"),
        ("bad", "ftp://h/", "a source of drops needs a centre; declared centres: Bcm, "),
    ],
)
def test_new_source_refuses(name, url, message, workspace, windrow) -> None:
    before = tree(workspace)
    output = windrow("new", "source", name, url, "--collection", "drops")
    assert output.code in {2, 4}
    assert message in output.err
    assert "hunter2" not in output.err
    assert tree(workspace) == before


def test_new_source_refuses_an_unknown_collection(workspace, windrow) -> None:
    before = tree(workspace)
    assert (
        "collection 'nosuch' is not installed"
        in windrow("new", "source", "bad", "ftp://h/", "--collection", "nosuch").err
    )
    assert tree(workspace) == before


def test_new_source_refuses_a_centre_that_nobody_declared(workspace, windrow) -> None:
    before = tree(workspace)
    output = windrow("new", "source", "bad", "ftp://h/", "--collection", "drops", "--centre", "Nope")
    assert output.code == 2
    assert "centre 'Nope' is not declared; declared centres: Bcm, " in output.err
    assert tree(workspace) == before


def test_the_demo_plays_in_a_folder_named_from_here(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow("demo", "here/it")
    assert output.code == 0
    rows = {
        line.split()[0]: line for line in reversed(output.out.splitlines()) if line.strip()
    }  # the first of each name
    for source in ("h", "j", "ucd", "wtsi"):
        assert re.match(rf"{source} +\w+ +available +\d{{4}}-", rows[source])
    for site, count, changed in (("harbour", 7, 1), ("museum", 8, 1), ("shop", 16, 0), ("manor", 0, 0)):
        assert re.match(rf"{site} +- +available +\S+ \S+ +{count} +\d+ +{changed} ", rows[site])
    assert "papers.example/whales.pdf" in output.out
    for source, count, new, changed, failed in (
        ("gazette", 3, 1, 1, 0),
        ("council", 4, 1, 2, 0),
        ("library", 3, 3, 0, 1),
    ):
        assert re.match(rf"{source} .* {count} +{new} +{changed} +\d+ +0 +{failed} ", rows[source])
    assert re.search(
        r"changed +council +council/pier@council.example +Repair of the pier\n +status confirmed -> ca", output.out
    )
    corrected = next(
        path for path in (tmp_path / "here/it/normalized_news").rglob("*.json") if "keys" in path.read_text()
    )
    assert "thirty-one years" in corrected.read_text()
    assert "The ferry', seen by 1 crawl " in output.out
    assert "not shown" not in output.err
    assert windrow("check", "--workspace", "here/it").code == 0
    search = windrow(
        "search", "lighthouse OR keepers OR drafts OR calendar", "--limit", 50, "--json", "--workspace", "here/it"
    )
    titles = [hit["title"] for hit in search.of("page_result")]
    assert {"The lighthouse", "The harbour", "A whale in the bay", "The shop"} <= set(titles)
    assert not {"Drafts", "Keepers", "The manor"} & set(titles)
    assert windrow("demo", "here").code == 2


def test_config_shows_values_and_where_they_came_from(workspace, monkeypatch, windrow) -> None:
    monkeypatch.setenv("WINDROW_CONTACT", "me@example.org")
    settings = {message["name"]: message for message in windrow("config", "--json").messages}
    assert settings["contact"] == {
        "type": "setting", "name": "contact", "value": "me@example.org", "origin": "env WINDROW_CONTACT",
    }  # fmt: skip
    assert settings["drops.attempts"]["origin"] == "default"
    assert settings["source.harwell.centre"]["origin"] == "sources/harwell.toml"
    assert "env WINDROW_CONTACT" in windrow("config").out


def test_config_never_shows_a_secret(workspace, monkeypatch, windrow) -> None:
    monkeypatch.setenv("HARWELL_PASSWORD", "hunter2")
    source = workspace / "sources" / "harwell.toml"
    source.write_text(source.read_text() + 'secret = "env:HARWELL_PASSWORD"\n')
    for words in (["config"], ["config", "--json"], ["status"], ["run", "--dry-run", "--json"]):
        output = windrow(*words)
        assert "hunter2" not in output.out + output.err
    assert "env:HARWELL_PASSWORD" in windrow("config").out


def test_config_trust_pins_a_key_once(workspace, windrow) -> None:
    assert windrow("config", "trust", "harwell", KEY, "--json").messages[0]["new"] is True
    assert windrow("config", "trust", "harwell", KEY, "--json").messages[0]["new"] is False
    assert KEY in (workspace / "host_keys.toml").read_text()
    other = KEY.replace("SHA256:", "SHA256:x")[: len(KEY)]
    assert (
        f"still trusted too: {KEY}; if the server has replaced a key"
        in windrow("config", "trust", "harwell", other).err
    )
    assert windrow("config", "trust", "nosuch", KEY).code == 2
    assert windrow("config", "trust", "harwell", "SHA256:short").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_completion(shell, tmp_path, windrow) -> None:
    output = windrow("completion", shell)
    assert output.code == 0
    assert "_WINDROW_COMPLETE" in output.out
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(output.out)
        subprocess.run([shell, "-n", str(script)], check=True)
    assert windrow("completion", shell, "--json").messages[0]["script"].strip() == output.out.strip()


def completed(line: str, cwd: Path) -> list[str]:
    words = line.split(" ")
    environ = os.environ | {
        "_WINDROW_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    done = programs.run("-m", "windrow", env=environ, cwd=cwd)
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
    assert completed("windrow try x --collection d", workspace) == ["drops"]
    assert completed("windrow run har", tmp_path) == []
