"""The process that programs and processes of all tests are forked from goes on, whatever is killed."""

from __future__ import annotations

import socket
import subprocess
from datetime import UTC, datetime, timedelta
from multiprocessing import forkserver
from pathlib import Path

import pytest

from tests import programs
from tests.clock import pass_time, present
from tests.house.tree import ROOT
from tests.waiting import until
from windrow.engine import runtime

CALLER = "from tests import programs; print(programs.start('-c', 'import time; time.sleep(600)').pid)"


def test_a_client_that_is_killed_before_it_sends_its_request_does_not_end_the_fork_server() -> None:
    address = vars(forkserver._forkserver)["_forkserver_address"]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
    runtime.start_process(process := runtime.CONTEXT.Process(target=int))
    process.join()
    assert process.exitcode == 0


def test_a_program_is_killed_when_the_process_that_started_it_ends() -> None:
    caller = programs.run("-c", CALLER, cwd=ROOT)
    pid = int(caller.stdout)
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_command_of_a_shell_has_its_streams_and_exit_code(tmp_path: Path) -> None:
    programs.write_command(tmp_path / "bin")
    script = f"{tmp_path}/bin/windrow --version | tr a-z A-Z; {tmp_path}/bin/windrow nothing > out 2>&1; echo $?"
    printed = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    version, code = printed.splitlines()
    assert version.startswith("WINDROW")
    assert code == "2"
    assert "there is no command 'nothing'" in (tmp_path / "out").read_text()


def test_no_test_advances_the_clock_where_nothing_resets_it() -> None:
    with pytest.raises(AssertionError, match="import `real_clock`"):
        pass_time(60)
    assert present() - datetime.now(UTC) < timedelta(seconds=1)
