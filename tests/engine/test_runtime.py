"""The fork server has loaded the modules that processes need: it would ignore an unknown name silently."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import spawn
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from windrow.engine import runtime
from windrow.errors import WindrowError
from windrow.fetch.transports import TRANSPORTS


@pytest.mark.parametrize(
    "name", sorted({*runtime.PRELOADED_MODULES, *(transport.module for transport in TRANSPORTS.values())})
)
def test_what_is_loaded_before_processes_are_forked_is_there(name: str) -> None:
    assert importlib.import_module(name).__name__ == name


def test_what_processes_are_forked_from_loads_neither_the_ledger_nor_what_looks_through_captures() -> None:
    script = f"import sys, {', '.join(runtime.PRELOADED_MODULES)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert set(runtime.PRELOADED_MODULES) <= set(loaded)
    for name in ("windrow.ledger", "windrow.engine.captures", "importlib.metadata"):
        assert [module for module in loaded if module.startswith(name)] == []


STARTS = """
from windrow.engine import runtime
from windrow.fetch.transports import TRANSPORTS
if __name__ == "__main__":
    runtime.warm_up(["sftp"])
    print(runtime.forkserver._forkserver._forkserver_pid, flush=True)
    input()
"""


def test_an_interrupt_while_the_server_of_processes_still_imports_does_not_end_it(tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(STARTS)
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        server = int(run.stdout.readline())
        for _ in range(5):
            os.kill(server, signal.SIGINT)
            time.sleep(0.05)
        status = Path(f"/proc/{server}/status").read_text()
        assert "State:\tZ" not in status
        run.stdin.write(b"\n")
    assert run.returncode == 0


KILLED_SERVER = """
import os, signal, threading
from windrow.engine import runtime
from windrow.fetch.transports import TRANSPORTS
if __name__ == "__main__":
    runtime.forkserver.ensure_running()
    server = runtime.forkserver._forkserver._forkserver_pid
    os.kill(server, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (server, signal.SIGKILL)).start()
    runtime.start_process(process := runtime.CONTEXT.Process(target=int))
    process.join()
    raise SystemExit(process.exitcode)
"""


def test_a_process_is_started_though_the_server_of_processes_is_killed_while_it_is_asked(tmp_path: Path) -> None:
    script = tmp_path / "asked.py"
    script.write_text(KILLED_SERVER)
    assert subprocess.run([sys.executable, str(script)], check=False).returncode == 0


def test_what_multiprocessing_tells_processes_of_its_host_stays_as_it_is_but_while_one_of_ours_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    untouched = "import sys; from multiprocessing import spawn; before = spawn.get_preparation_data"
    script = f"{untouched}; import windrow.engine.runtime; sys.exit(spawn.get_preparation_data is not before)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

    def prepare(name: str) -> dict[str, str]:
        return {"name": name, "init_main_from_path": "script.py"}

    monkeypatch.setattr(spawn, "get_preparation_data", prepare)
    monkeypatch.setattr(runtime, "_needed_modules", set())
    seen: list[dict[str, Any]] = []
    with ThreadPoolExecutor(1) as executor:

        class Process(BaseProcess):
            pid = None

            def start(self) -> None:
                seen.append(spawn.get_preparation_data("ours"))
                seen.append(executor.submit(spawn.get_preparation_data, "theirs").result())
                raise ValueError

        for _ in range(2):
            with pytest.raises(ValueError, match=r"^$"):
                runtime.start_process(Process())
            assert spawn.get_preparation_data is prepare
    assert seen == [{"name": "ours"}, prepare("theirs")] * 2

    monkeypatch.undo()
    before = spawn.get_preparation_data
    runtime.start_process(process := runtime.CONTEXT.Process(target=int))
    process.join()
    assert (process.exitcode, spawn.get_preparation_data) == (0, before)


@pytest.mark.parametrize("error", [EOFError("unexpected EOF"), ConnectionRefusedError()])
def test_a_process_that_cannot_be_started_is_an_error_and_not_a_stop(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    class UnstartedProcess:
        pid = None

        def start(self) -> None:
            raise error

    monkeypatch.setattr(runtime, "START_RETRY_SECONDS", 0.0)
    with pytest.raises(WindrowError, match="processes cannot be started") as raised:
        runtime.start_process(UnstartedProcess())  # type: ignore[arg-type]
    assert raised.value.exit_code == 1
