"""A command that a person stopped ends with 130; one that lost a process of windrow ends with 1."""

import errno
import json
import os

import click
import pytest

from windrow.cli import root as command_line


@pytest.mark.parametrize(
    ("error", "exit_code", "message"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (click.exceptions.Abort(), 130, "stopped"),
        (EOFError("got end of file during message"), 1, "a process of windrow ended"),
    ],
)
def test_only_a_person_stops_a_command(error, exit_code, message, monkeypatch, capsys):
    def invoke(context):
        raise error

    monkeypatch.setattr(command_line.root, "invoke", invoke)
    with pytest.raises(SystemExit) as raised:
        command_line.main(["status"])
    assert raised.value.code == exit_code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EIO, "disk_failed"),
        (errno.ENOSPC, "disk_full"),
        (errno.EACCES, "permission_denied"),
        (errno.EROFS, "permission_denied"),
        (errno.EMFILE, ""),
        (errno.ECONNRESET, ""),
    ],
)
def test_an_error_of_the_system_has_the_reason_that_it_is(number, reason, monkeypatch, capsys):
    def invoke(context):
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr(command_line.root, "invoke", invoke)
    with pytest.raises(SystemExit) as raised:
        command_line.main(["--json", "status"])
    assert raised.value.code == 1
    error = json.loads(capsys.readouterr().err)
    assert (error["reason"], error["message"]) == (reason, f"/some/file: {os.strerror(number)}")
