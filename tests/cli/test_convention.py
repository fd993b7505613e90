"""The conventions that every command follows."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import click
import pytest
from tools.command import MESSAGES, shape, verbs

from tests.house.tree import at, nodes, python
from windrow import errors
from windrow.adapters.trial import TRIAL_TYPES, TrialPart
from windrow.cli.command import DOCS_PAGE, CommandGroup
from windrow.contract.registry import collection, installed, names
from windrow.settings.configuration import Configuration

VERBS = dict(verbs())


def helped(name: str, windrow) -> str:
    output = windrow(*name.split()[1:], "--help")
    assert output.code == 0
    assert output.err == ""
    return output.out


@pytest.mark.parametrize("name", VERBS)
def test_help_has_one_line_examples_exit_codes_and_a_link(name: str, windrow) -> None:
    text = helped(name, windrow)
    first = VERBS[name].help.splitlines()[0]
    assert first.endswith(".")
    examples = text.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
    assert len(examples) >= 2
    assert all("windrow" in line for line in examples)
    assert all(str(code) in text.partition("Exit codes:")[2] for code in errors.EXIT_CODES)
    assert f"Docs: {DOCS_PAGE}#{name.replace(' ', '-')}" in text


@pytest.mark.parametrize("name", VERBS)
def test_examples_of_a_command_hold_whatever_collections_are_installed(name: str) -> None:
    examples = VERBS[name].examples
    assert len(examples) >= 2
    assert {word for example in examples for word in example.split()} & set(names()) == set()


def test_help_shows_the_examples_that_a_collection_declares_for_that_command(windrow, monkeypatch) -> None:
    declared = Configuration(examples=("windrow run toy --every 6h", "windrow new source a a.example --collection toy"))
    toy = replace(collection("pages"), name="toy", configuration=declared)
    monkeypatch.setattr("windrow.contract.registry.installed", lambda: {"toy": toy})
    monkeypatch.setattr(
        "windrow.contract.registry.capable",
        lambda _can: {"toy": SimpleNamespace(ADOPTED_AT="weave", ADOPTS="a basket")},
    )
    assert "With --from weave, NAME may be a basket" in helped("windrow run", windrow)
    for name in ("run", "new source"):
        (mine,) = [example for example in declared.examples if example.startswith(f"windrow {name} ")]
        (declared_example,) = [example for example in declared.examples if example != mine]
        help_text = helped(f"windrow {name}", windrow)
        assert mine in help_text
        assert declared_example not in help_text


def test_every_example_that_a_collection_declares_is_of_a_command_that_shows_it() -> None:
    for installed_collection in installed().values():
        for example in installed_collection.configuration.examples:
            assert [
                name
                for name, command in VERBS.items()
                if command.with_declared_examples and example.startswith(f"{name} ")
            ]


@pytest.mark.parametrize("name", VERBS)
def test_every_command_has_the_options_that_all_have(name: str) -> None:
    options = {each for param in VERBS[name].params if isinstance(param, click.Option) for each in param.opts}
    assert {"--json", "--workspace", "--verbose"} <= options


@pytest.mark.parametrize("name", VERBS)
def test_every_option_has_help(name: str) -> None:
    options = [param for param in VERBS[name].params if isinstance(param, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_every_exit_code_has_a_meaning() -> None:
    tree = [var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, errors.WindrowError)]
    assert {error.exit_code for error in tree} <= set(errors.EXIT_CODES)


FORWARDED = {
    "src/windrow/cli/operator.py decision",  # retry and cancel
    "src/windrow/cli/search.py result.type",
    "src/windrow/cli/trial.py TRIAL_TYPES[type(part)]",
    "src/windrow/cli/command.py kind",
    "src/windrow/cli/why.py *message[:2]",
    "src/windrow/web/application.py *message[:2]",  # the same messages
    "src/windrow/adapters/record_story.py *wait[1:]",  # what `WaitLine` names
}
"""Messages whose type is a variable where they are made; each of these was checked by hand."""


def documented() -> dict[str, set[str]]:
    """Return the types of messages, each with all fields that it may have."""
    known: dict[str, set[str]] = {}
    for name, message in MESSAGES.items():
        known.setdefault(name.partition(",")[0], set()).update(shape(message.shape))
    return known


def made_messages() -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    """Yield each place in the source that makes a message, with the message's type and body."""
    for path in python("src"):
        for node in nodes(path):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in {"message", "json_message", "Message"} and node.args:
                yield at(path), node.args[0], node.args[1] if len(node.args) > 1 else None
            elif called == "WaitLine":
                yield at(path), node.args[1], node.args[2]
            elif called == "SearchResult":
                named = {keyword.arg: keyword.value for keyword in node.keywords}
                yield at(path), named.get("type") or node.args[5], named.get("details") or node.args[6]


def test_every_type_of_message_that_any_command_prints_is_documented_with_its_fields() -> None:
    known, types = documented(), set()
    for where, kind, body in made_messages():
        if not isinstance(kind, ast.Constant):
            assert f"{where} {ast.unparse(kind)}" in FORWARDED
            continue
        types.add(kind.value)
        if isinstance(body, ast.Dict):
            named = {key.value for key in body.keys if isinstance(key, ast.Constant)}
            assert named <= known.get(kind.value, set()), f"{where}: {kind.value}"
    types |= {TRIAL_TYPES[part] for part in get_args(TrialPart)} | {"retry", "cancel", "error", "progress"}
    assert types == set(known)


@pytest.mark.parametrize(
    ("typed", "meant"), [("statsu", "status"), ("rnu", "run"), ("wyh", "why"), ("compledion", "completion")]
)
def test_a_typo_suggests(typed: str, meant: str, windrow) -> None:
    output = windrow(typed)
    assert output.code == 2
    assert output.out == ""
    assert output.err == f"windrow: there is no command '{typed}'; did you mean {meant}?\ntry: windrow {meant}\n"


def test_a_typo_below_a_command_suggests(windrow) -> None:
    assert windrow("new", "srce").err.endswith("did you mean source?\ntry: windrow new source\n")


def test_a_wrong_option_names_the_help(windrow) -> None:
    output = windrow("run", "--jsno")
    assert output.code == 2
    assert "--json" in output.err
    assert output.err.endswith("try: windrow run --help\n")


def test_the_version(windrow) -> None:
    assert windrow("--version").out.startswith("windrow 0.")


def test_without_a_command_there_is_help(windrow) -> None:
    output = windrow()
    assert output.code == 0
    assert "Harvest:" in output.out


def test_the_wrong_folder_is_told_with_a_way_out(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow("status")
    assert output.code == 4
    assert output.out == ""
    first, second = output.err.splitlines()
    assert first.startswith(f"windrow: no windrow.toml here or above; looked in {tmp_path}, ")
    assert second == "try: windrow init"


def test_an_error_is_json_when_json_is_asked_for(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    error = json.loads(windrow("status", "--json").err)
    assert set(error) == {"type", *MESSAGES["error"].shape}
    assert error["exit_code"] == 4
    assert error["hint"] == "windrow init"
    assert json.loads(windrow("run", "--limit", "none", "--json").err)["type"] == "error"


@pytest.mark.parametrize(
    "words",
    [["export", "tracker", "--as", "oracle"], ["new"], ["run", "--from"], ["try", "x", "--as", "y"], ["config", "x"]],
)
def test_every_error_names_the_next_command(words, workspace, windrow) -> None:
    output = windrow(*words)
    assert output.code == 2
    assert output.err.splitlines()[-1].startswith(f"try: windrow {words[0]} ")
    assert json.loads(windrow("--json", *words).err)["exit_code"] == 2


@pytest.mark.parametrize("words", [["config"], ["status"], ["export", "tracker", "--as", "sqlite"], ["why", "harwell"]])
def test_a_full_disk_behind_the_output_is_told(words, harvested, windrow) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "windrow", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "standard output cannot be written: No space left on device\ntry: " in done.stderr


def closed(words: str) -> subprocess.CompletedProcess:
    """Run a command in a shell that closes streams."""
    return subprocess.run(
        ["sh", "-c", f"{sys.executable} -m windrow {words}"], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("words", ["config", "status", "export tracker --as sqlite", "--help"])
def test_a_standard_output_that_is_closed_is_told(words, harvested, windrow) -> None:
    done = closed(f"{words} >&-")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Bad file descriptor\ntry: " in done.stderr


def test_a_run_does_without_standard_streams(workspace, windrow) -> None:
    done = closed("run 2>&- <&- >&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert windrow("check").code == 0
    assert "3 captures" in windrow("check").err


@pytest.mark.parametrize("setting", ["[ledger]\npath = '/proc/x/ledger'", "[archive]\nfolder = '/proc/x'"])
def test_a_folder_that_cannot_be_made_is_told(setting, workspace, windrow) -> None:
    (workspace / "windrow.toml").write_text(f"{setting}\n")
    output = windrow("run")
    assert output.code == 1
    assert "Traceback" not in output.err
    assert output.err.endswith("windrow: /proc/x: No such file or directory\ntry: ls -ld /proc/x\n")


def test_a_trace_only_when_verbose(tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    assert "Traceback" not in windrow("status").err
    assert "Traceback" in windrow("status", "--verbose").err


@pytest.mark.parametrize("words", [["--workspace", "DIR", "status"], ["status", "--workspace", "DIR"]])
def test_the_workspace_may_be_named_before_or_after(words, workspace, tmp_path, monkeypatch, windrow) -> None:
    monkeypatch.chdir(tmp_path)
    output = windrow(*(str(workspace) if word == "DIR" else word for word in words))
    assert (output.code, "harwell" in output.out) == (0, True)


def test_wrong_toml_is_told_with_its_place(workspace, windrow) -> None:
    (workspace / "windrow.toml").write_text("name = \n")
    output = windrow("status")
    assert output.code == 4
    assert "windrow.toml is not TOML" in output.err
    assert "line 1" in output.err
    assert f"try: edit {workspace}/windrow.toml" in output.err


def test_an_unknown_setting_is_told_with_a_guess(workspace, windrow) -> None:
    (workspace / "windrow.toml").write_text("contct = 'me'\n")
    assert "did you mean contact?" in windrow("config").err


def test_nothing_is_coloured_and_a_pipe_carries_data_alone(workspace, windrow) -> None:
    output = windrow("run")
    assert output.out == ""
    assert "\x1b" not in output.err
    assert "session" in output.err
    assert windrow("status").out.startswith("source")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from windrow.cli.root import root; root.main(['--help'], 'windrow', standalone_mode=False);"
        "print(sorted({'sqlalchemy', 'lxml', 'asyncio', 'windrow.engine.session'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_groups_are_few() -> None:
    assert {name for name, command in VERBS.items() if isinstance(command, CommandGroup)} == {
        "windrow", "windrow config", "windrow new"
    }  # fmt: skip


def test_a_page_of_the_manual_is_shown_without_the_marks_of_its_generated_parts(windrow) -> None:
    output = windrow("help", "reasons").out
    assert "| `bad_name` |" in output
    assert "<!--" not in output
    assert "[[[" not in output
