"""One source or collection alone: run beside broken ones, read again; and exports for spreadsheets and pipes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import programs

BOM = b"\xef\xbb\xbf"


def add_toml(root: Path, name: str, text: str, *, mark: bytes = b"") -> None:
    (root / "sources").mkdir(exist_ok=True)
    (root / "sources" / f"{name}.toml").write_bytes(mark + text.encode())


@pytest.fixture
def beside_broken(harvested: Path) -> Path:
    """Add a source with a wrong setting, and one of a collection that is not installed."""
    add_toml(harvested, "wrong", 'collection = "events"\nurl = "http://127.0.0.1:9/"\nreader = "tealeaves"\n')
    add_toml(harvested, "foreign", 'collection = "stamps"\nurl = "http://127.0.0.1:9/"\n')
    return harvested


@pytest.mark.parametrize("name", ["harwell", "drops"])
def test_a_named_source_runs_beside_a_broken_one(beside_broken: Path, windrow, name: str) -> None:
    assert windrow("run", name, "--dry-run").code == 0
    assert windrow("run", name, "--quiet").code == 0


@pytest.mark.parametrize("names", [[], ["wrong"], ["events"], ["harwell", "wrong"]])
def test_a_broken_source_that_is_wanted_refuses_the_run(beside_broken: Path, windrow, names: list[str]) -> None:
    output = windrow("run", *names)
    assert output.code == 4
    assert "sources/wrong.toml" in output.err


def test_a_wrong_input_refuses_only_a_run_that_needs_it(harvested: Path, windrow) -> None:
    assert windrow("config").err.endswith(f" in {harvested}\n")
    add_toml(harvested, "astray", 'collection = "papers"\nfrom = ["pages:nowhere"]\n')
    assert windrow("run", "harwell", "--dry-run").code == 0
    output = windrow("run", "astray")
    assert output.code == 4
    assert "source.astray.from: 'pages:nowhere' does not exist" in output.err


@pytest.mark.parametrize("text", ["collection = ", "\udc80"])
def test_a_source_file_that_is_not_toml_costs_its_own_source(harvested: Path, windrow, text: str) -> None:
    (harvested / "sources" / "torn.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    for names in ([], ["drops"], ["torn", "harwell"]):
        output = windrow("run", *names, "--json")
        assert output.code == 4
        (summary,) = output.of("summary")
        assert summary["errors"][0].startswith("source torn: sources/torn.toml is not ")
        assert [source["source"] for source in summary["sources"]] == ["harwell"]
        assert windrow("status", "--json").of("status")[0]["last"]["exit_code"] == 4
    assert windrow("run", "harwell", "--quiet").code == 0
    refused = windrow("run", "torn")
    assert refused.code == 4
    assert "sources/torn.toml is not " in refused.err
    for command in ("status", "config"):
        output = windrow(command)
        assert "sources/torn.toml is not " in output.out + output.err
    assert windrow("why", "torn").code == 0
    assert windrow("changes").code == 0


def test_config_names_a_collection_that_is_not_installed(beside_broken: Path, windrow) -> None:
    (beside_broken / "sources" / "wrong.toml").unlink()
    output = windrow("config")
    assert output.code == 4
    assert "source foreign: collection 'stamps' is not installed; installed are: drops" in output.err
    assert "harwell" in output.out


def test_a_byte_order_mark_is_no_part_of_toml(harvested: Path, windrow) -> None:
    add_toml(harvested, "marked", 'collection = "news"\nurl = "http://127.0.0.1:9/"\n', mark=BOM)
    main_file = harvested / "windrow.toml"
    main_file.write_bytes(BOM + main_file.read_bytes())
    output = windrow("config")
    assert output.code == 0, output.err
    assert "source.marked.url" in output.out


def test_only_the_named_collection_is_read_again(crawled: Path, windrow) -> None:
    assert windrow("replay", "news").err.startswith("there is nothing to read again")
    assert windrow("replay", "pages", "--json").of("replay")[0]["changed"] == 0
    refused = windrow("replay", "page")
    assert refused.code == 2
    assert "the collections are drops, events, news, pages, papers" in refused.err


def test_pages_are_exported_as_csv(crawled: Path, windrow) -> None:
    lines = [json.loads(line) for line in windrow("export", "pages", "--as", "jsonl").out.splitlines()]
    rows = [*csv.DictReader(io.StringIO(windrow("export", "pages", "--as", "csv").out, newline=""))]
    assert [row["url"] for row in rows] == [line["url"] for line in lines]
    assert rows[0]["title"] == lines[0]["title"]
    assert len(rows) > 5


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ["status"], ["changes"], ["search", "a"], ["why", "one"], ["config"], ["check"], ["run", "--dry-run"],
        ["help"], ["changes", "--help"], ["--help"], ["--version"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_ends_quietly_when_its_reader_has_enough(crawled: Path, words: list[str], options: list[str]) -> None:
    with programs.start_piped("-m", "windrow", *words, *options, cwd=crawled) as process:
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(60) == 0, errors
    assert "roken" not in errors
    assert "Traceback" not in errors


def test_an_export_ends_well_when_its_reader_has_enough(crawled: Path) -> None:
    out, out_end = os.pipe()
    os.close(out)
    command = [sys.executable, "-m", "windrow", "export", "pages", "--as", "jsonl"]
    process = subprocess.run(command, cwd=crawled, stdout=out_end, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(out_end)
    assert (process.returncode, process.stderr) == (0, b"")


@pytest.mark.parametrize(("typed", "meant"), [("nofolow", "nofollow"), ("hiden home", "hidden home")])
def test_a_mistyped_search_says_what_was_meant(crawled: Path, windrow, typed: str, meant: str) -> None:
    output = windrow("search", typed)
    assert f"did you mean: {meant}" in output.err.splitlines()
    assert windrow("search", typed, "--json").of("search")[0]["did_you_mean"] == meant
    assert "did you mean" not in windrow("search", meant).err
