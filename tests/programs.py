"""Python programs that start with windrow loaded: forked from a process that has imported it and has its fork server.

Importing windrow and starting the fork server take longer than most programs of the tests. `start`, `start_piped` and
`run` take the arguments of `python`: `-c CODE` or `-m MODULE`, and theirs.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib import import_module
from multiprocessing import forkserver
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from windrow.contract.registry import installed
from windrow.engine import plain_values, runtime
from windrow.fetch.transports import TRANSPORTS

ROOT = Path(__file__).parent.parent
LOADED = (
    *("windrow.app.workspace", "windrow.app.run", "windrow.cli.root", "windrow.cli.run", "windrow.adapters.records"),
    *("windrow.collections.drops.adapter.harvest", "sqlalchemy.dialects.mysql.pymysql"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"),
)
"""Modules that programs would load when they first need them, before they are forked."""


class Process:
    """A started program in a session of its own, with the part of `subprocess.Popen` that the tests need."""

    def __init__(self, server: Server, words: list[str], pid: int, *files: IO[bytes]) -> None:
        """Keep the server that is asked for its end, and the files of its standard output and standard error."""
        self.args, self.pid = words, pid
        self.returncode: int | None = None
        self.output = [b"", b""]
        self._server, self._files = server, files

    def poll(self) -> int | None:
        """Return its exit code (negative: the signal that killed it); None while it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask({"poll": self.pid})
            if self.returncode is not None:
                self._take_output()
        return self.returncode

    def _take_output(self) -> None:
        """Read what it wrote to its files, and close them."""
        self.output = [self._read(file) for file in self._files]
        for file in self._files:
            file.close()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its exit code; TimeoutExpired after so many seconds."""
        until = time.monotonic() + (float("inf") if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            time.sleep(0.02)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for its end, and return all that it wrote to standard output and standard error."""
        self.wait(timeout)
        out, err = self.output
        return out, err

    def send_signal(self, number: int) -> None:
        """Send it a signal if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    @staticmethod
    def _read(file: IO[bytes]) -> bytes:
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


class PipedProcess(Process):
    """A started program whose output is read from pipes, as text, while it runs."""

    def __init__(self, server: Server, words: list[str], pid: int, out: int, err: int) -> None:
        """Read from the descriptors of its standard output and standard error."""
        self.stdout, self.stderr = os.fdopen(out, encoding="utf-8"), os.fdopen(err, encoding="utf-8")
        super().__init__(server, words, pid)

    def _take_output(self) -> None:
        """Leave the output to the test."""

    def read_rest(self, timeout: float) -> tuple[str, str]:
        """Wait for its end, and return what it wrote since the last read; it must be less than a pipe holds, 64 KiB."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def close(self) -> None:
        """Kill it if it still runs, and close the pipes."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


class Server:
    """The client of the process that programs are forked from."""

    def __init__(self) -> None:
        """Start it; it loads windrow while the tests go on."""
        command = [sys.executable, "-m", "tests.programs"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        atexit.register(self.close)

    def ask(self, question: dict[str, Any], files: tuple[IO[bytes], ...] = ()) -> Any:
        """Send it a request, and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        question["files"] = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in files]
        self._process.stdin.write(f"{json.dumps(question)}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that programs are forked from has ended"
        return json.loads(answer)

    def close(self) -> None:
        """End it, and what it started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@cache
def server() -> Server:
    """Return the server of this process."""
    return Server()


def start(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Process:
    """Start a program: the words that stand behind `python`."""
    arguments = [str(word) for word in words]
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 they live as long as the process
    question = {"words": arguments, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    return Process(server(), arguments, server().ask(question, (out, err)), out, err)


@contextmanager
def start_piped(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Iterator[PipedProcess]:
    """Start a program, and yield it while it runs; it is killed at the end of the block."""
    arguments = [str(word) for word in words]
    question = {"words": arguments, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    with open(out_end, "wb") as out_file, open(err_end, "wb") as err_file:  # noqa: PTH123 they are descriptors
        pid = server().ask(question, (out_file, err_file))
    with closing(PipedProcess(server(), arguments, pid, out, err)) as process:
        yield process


def run(
    *words: object, cwd: Path | None = None, env: dict[str, str] | None = None, timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; what it wrote is text."""
    process = start(*words, cwd=cwd, env=env)
    try:
        out, err = process.communicate(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    return subprocess.CompletedProcess(process.args, process.wait(), out.decode(), err.decode())


def preload_all() -> None:
    """Start the fork server, and let it load what fetchers and readers of any collection need.

    In a program it loads what one harvest needs; a process of the tests makes all kinds of harvests with one server.
    It is started here, and not by the first harvest, whose test may have changed the working directory: the server
    finds the modules of tests there.
    """
    preload = runtime.CONTEXT.set_forkserver_preload

    def add_all(module_names: list[str]) -> None:
        all_modules = {module for each in installed().values() for module in plain_values.step_modules(each)}
        all_modules |= {*(transport.module for transport in TRANSPORTS.values()), "tests.preloaded"}
        preload([*module_names, *sorted(all_modules - {*module_names})])

    runtime.CONTEXT.set_forkserver_preload = add_all  # type: ignore[method-assign]
    runtime.warm_up()


def revive() -> None:
    """Make sure that the fork server answers: it dies if a program is killed while it requests a process."""
    runtime.start_process(process := runtime.CONTEXT.Process(target=int))
    process.join()


def _execute(words: list[str]) -> None:
    kind, program, *arguments = words
    if kind == "-m":
        sys.argv = [program, *arguments]
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    sys.argv = ["-c", *arguments]
    sys.modules["__main__"] = main_module = ModuleType("__main__")
    exec(compile(program, "<string>", "exec"), vars(main_module))


def _become(question: dict[str, Any], descriptors: list[int]) -> None:
    """Run the program in this forked process, and exit with its code. `descriptors` are its standard streams."""
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.chdir(question["cwd"])
        os.environ.clear()
        os.environ.update(question["env"])
        encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(number, mode), write_through=True, encoding=encoding, errors=errors)
            for number, (mode, errors) in enumerate((("rb", "strict"), ("wb", "strict"), ("wb", "backslashreplace")))
        )
        _execute(question["words"])
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 a program of Python ends so, too
        traceback.print_exc()
    finally:
        with suppress(Exception):
            atexit._run_exitfuncs()
        os._exit(code)


def _fork(question: dict[str, Any], pipes: tuple[IO[str], ...]) -> int:
    """Fork a program that closes `pipes`, and return its process number. Its files are open then."""
    descriptors = [os.open(os.devnull, os.O_RDONLY), *(os.open(path, os.O_WRONLY) for path in question["files"])]
    pid = os.fork()
    if not pid:
        # The fork server serves all programs, and does not belong to this one.
        forkserver.ensure_running = forkserver._forkserver.ensure_running = lambda: None  # type: ignore[method-assign]
        for pipe in pipes:
            pipe.close()
        _become(question, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def main() -> None:
    """Fork a program for each request, until the connection is closed."""
    for name in LOADED:
        import_module(name)
    preload_all()
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    children: set[int] = set()
    for line in questions:
        question = json.loads(line)
        if pid := question.get("poll"):
            ended, status = os.waitpid(pid, os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if ended else None
            children -= {ended}
            if answer is not None and answer < 0:
                revive()
        else:
            answer = _fork(question, (questions, answers))
            children.add(answer)
        answers.write(f"{json.dumps(answer)}\n")
        answers.flush()
    for pid in children:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
