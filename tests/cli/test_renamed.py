"""An old name of a command, option, setting, variable or reason is accepted, with a warning that tells the new one."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Windrow
from windrow import renamed
from windrow.app.begin import prepare
from windrow.config import load
from windrow.errors import ConfigError
from windrow.reasons import Reason


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    root = tmp_path / "farm"
    prepare(root)
    monkeypatch.chdir(root)
    monkeypatch.setitem(renamed.SETTINGS, "drops.finders", "drops.listers")
    monkeypatch.setitem(renamed.SETTINGS, "old.deep.finders", "drops.listers")
    monkeypatch.setitem(renamed.SETTINGS, "pace", "delay")
    monkeypatch.setitem(renamed.COMMANDS, "windrow state", "windrow status")
    monkeypatch.setitem(renamed.COMMANDS, "windrow config pin", "windrow config trust")
    monkeypatch.setitem(renamed.OPTIONS, "windrow run --most", "windrow run --limit")
    monkeypatch.setitem(renamed.REASONS, "too_slow", "timeout")
    return root


@pytest.mark.filterwarnings("default::windrow.renamed.RenamedWarning")
@pytest.mark.parametrize(("words", "code", "warning"), [
    (["state"], 0, "windrow state is now called windrow status"),
    (["config", "pin", "nobody", "SHA256:x"], 2, "windrow config pin is now called windrow config trust"),
    (["run", "--most", "3"], 0, "windrow run --most is now called windrow run --limit"),
    (["run", "--most=3"], 0, "windrow run --most is now called windrow run --limit"),
    (["retry", "--reason", "too_slow"], 0, "too_slow is now called timeout"),
])  # fmt: skip
def test_old_words_of_the_command_line_are_accepted(windrow: Windrow, workspace, words, code, warning):
    output = windrow(*words)
    assert (output.code, f"warning: {warning}; a later release will not accept the old name\n" in output.err) == (
        code,
        True,
    ), output


@pytest.mark.usefixtures("workspace")
def test_words_that_only_look_like_old_options_are_left_alone(windrow: Windrow):
    assert windrow("status", "--most", "3").code == 2
    assert "there is no command 'pin'" in windrow("pin").err


@pytest.mark.parametrize("text", ["[drops]\nfinders = 7\n", "[old.deep]\nfinders = 7\n"])
def test_an_old_setting_is_accepted(workspace, text):
    (workspace / "windrow.toml").write_text(text)
    with pytest.warns(renamed.RenamedWarning, match=r"windrow\.toml: [a-z.]+\.finders is now called drops\.listers"):
        config = load(workspace, {})
    assert {value.name: value.value for value in config.values}["drops.listers"] == 7


def test_an_old_setting_of_a_source_is_accepted(workspace):
    source = '[source.a]\ncollection = "drops"\nurl = "ftp://h/"\ncentre = "H"\npace = "3 s"\n'
    (workspace / "windrow.toml").write_text(source)
    with pytest.warns(renamed.RenamedWarning, match=r"windrow\.toml: source\.a\.pace is now called delay"):
        assert load(workspace, {}).sources[0].pace == 3
    (workspace / "windrow.toml").write_text(f"{source}delay = 4\n")
    with (
        pytest.warns(renamed.RenamedWarning),
        pytest.raises(ConfigError, match=r"source\.a\.delay is also set under its old name"),
    ):
        load(workspace, {})


def test_an_old_variable_is_accepted_and_the_new_one_is_stronger(workspace):
    (workspace / "windrow.toml").write_text('[source.a]\ncollection = "drops"\nurl = "ftp://h/"\ncentre = "H"\n')
    environ = {"WINDROW_DROPS_FINDERS": "7", "WINDROW_SOURCE_A_PACE": "3"}
    with pytest.warns(renamed.RenamedWarning) as warned:
        config = load(workspace, environ)
    assert sorted(str(warning.message) for warning in warned) == [
        "env WINDROW_DROPS_FINDERS is now called WINDROW_DROPS_LISTERS; a later release will not accept the old name",
        "env WINDROW_SOURCE_A_PACE is now called WINDROW_SOURCE_A_DELAY; a later release will not accept the old name",
    ]
    values = {value.name: value.value for value in config.values}
    assert (values["drops.listers"], config.sources[0].pace) == (7, 3)
    both = load(workspace, {"WINDROW_DROPS_FINDERS": "7", "WINDROW_DROPS_LISTERS": "8"})
    assert {value.name: value.value for value in both.values}["drops.listers"] == 8


@pytest.mark.usefixtures("workspace")
def test_an_old_reason_on_the_ledger_is_the_new_one():
    assert Reason("too_slow") is Reason.TIMEOUT
    with pytest.raises(ValueError, match="never_heard_of"):
        Reason("never_heard_of")


def test_nothing_is_renamed_to_a_name_that_is_not_there():
    assert {*renamed.REASONS.values()} <= {reason.value for reason in Reason}
    assert renamed.SETTINGS.keys().isdisjoint(renamed.SETTINGS.values())
