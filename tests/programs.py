"""Python programs that start with windrow loaded: forked from a process that has imported it and has its fork server.

Importing windrow and starting the fork server take longer than most programs of the tests. `start`, `start_piped` and
`run` take the arguments of `python`: `-c CODE` or `-m MODULE`, and theirs. All processes of a run of tests use one
such process: the first of them starts it, and `ADDRESS` in the environment names its socket to the others.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib import import_module
from multiprocessing import forkserver, reduction
from multiprocessing.connection import Client, Connection, wait
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tests.statements import share_compiled_statements
from tests.warm_up import run_once
from windrow.contract.registry import installed
from windrow.engine import plain_values, runtime
from windrow.fetch.transports import TRANSPORTS

ROOT = Path(__file__).parent.parent
LOADED = (
    *("windrow.app.workspace", "windrow.app.run", "windrow.cli.root", "windrow.cli.run", "windrow.adapters.records"),
    *("windrow.collections.drops.adapter.harvest", "windrow.collections.pages.adapter.harvest"),
    *("windrow.collections.events.adapter.adapter", "sqlalchemy.dialects.mysql.pymysql"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"),
)
"""Modules that programs would load when they first need them, before they are forked."""

ADDRESS = "TEST_PROGRAMS"
"""The variable of the environment that names the socket of the process that programs are forked from."""

SERVER_STATE = {"_forkserver_address", "_forkserver_authkey"}
"""What a client of a fork server must know of it; Python 3.11 has no key."""


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
    """The connection of this process to the one that programs are forked from."""

    def __init__(self) -> None:
        """Connect to it; it may be loading windrow still."""
        if ADDRESS not in os.environ:
            start_server()
        self._connection = Client(os.environ[ADDRESS])

    def ask(self, question: dict[str, Any]) -> Any:
        """Send it a request, and return its answer."""
        self._connection.send(question)
        return self._connection.recv()

    def start(self, words: list[str], cwd: Path | None, env: dict[str, str] | None, *files: IO[bytes]) -> int:
        """Start a program that writes to two files, and return its process number."""
        surroundings = {"cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
        self._connection.send({"words": words, **surroundings})
        with Path(os.devnull).open("rb") as nothing, _stream(self._connection) as stream:
            reduction.sendfds(stream, [file.fileno() for file in (nothing, *files)])
        return int(self._connection.recv())


def _stream(connection: Connection) -> socket.socket:
    """Return the socket of a connection, over which descriptors of files can be sent."""
    return socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM)


def start_server() -> None:
    """Start the process that programs are forked from, which loads windrow; it ends with this one, however this one ends."""
    address = f"{tempfile.mkdtemp(prefix='programs-')}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        command = [sys.executable, "-m", "tests.programs", str(listener.fileno())]
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, start_new_session=True, pass_fds=[listener.fileno()]
        )
    os.environ[ADDRESS] = address
    atexit.register(_end_server, process, Path(address))


def _end_server(process: subprocess.Popen[bytes], address: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    address.unlink(missing_ok=True)
    address.parent.rmdir()


@cache
def server() -> Server:
    """Return the connection of this process, and use the fork server of the other one for processes of windrow."""
    connection = Server()
    share_compiled_statements()
    state = connection.ask({"fork server": True})
    # A fork server runs as long as its clients have a descriptor open. This one runs as long as the other process.
    vars(forkserver._forkserver).update(state, _forkserver_alive_fd=os.open(os.devnull, os.O_RDONLY))
    _keep_fork_server()
    return connection


def start(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Process:
    """Start a program: the words that stand behind `python`."""
    arguments = [str(word) for word in words]
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 they live as long as the process
    return Process(server(), arguments, server().start(arguments, cwd, env, out, err), out, err)


@contextmanager
def start_piped(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Iterator[PipedProcess]:
    """Start a program, and yield it while it runs; it is killed at the end of the block."""
    arguments = [str(word) for word in words]
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    with open(out_end, "wb") as out_file, open(err_end, "wb") as err_file:  # noqa: PTH123 they are descriptors
        pid = server().start(arguments, cwd, env, out_file, err_file)
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


def write_command(folder: Path) -> None:
    """Write the command `windrow` for shells into a new folder: it is forked as the other programs are."""
    folder.mkdir()
    command = folder / "windrow"
    command.write_text(f"#!{sys.executable} -IS\n{(ROOT / 'tests' / 'forked_windrow.py').read_text()}")
    command.chmod(0o755)


def wait_until_loaded() -> None:
    """Wait until programs and processes of windrow start at once: both servers have loaded their modules."""
    server()
    runtime.start_process(process := runtime.CONTEXT.Process(target=int))
    process.join()


def _keep_fork_server() -> None:
    """Never start another fork server in this process: it uses one that serves all, and is not its parent."""
    forkserver.ensure_running = forkserver._forkserver.ensure_running = lambda: None  # type: ignore[method-assign]


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


def _fork(question: dict[str, Any], descriptors: list[int], connections: Iterable[socket.socket | Connection]) -> int:
    """Fork a program that closes `connections`, and return its process number. Its standard streams are given."""
    pid = os.fork()
    if not pid:
        _keep_fork_server()
        for connection in connections:
            connection.close()
        _become(question, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _receive_files(connection: Connection) -> list[int]:
    """Return the descriptors of the standard streams of a program."""
    with _stream(connection) as stream:
        return list(reduction.recvfds(stream, 3))


def _poll(pid: int, children: set[int]) -> int | None:
    """Return the exit code of a program, or None if it still runs."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    children -= {ended}
    return os.waitstatus_to_exitcode(status) if ended else None


def _kill_all(children: Iterable[int]) -> None:
    for pid in children:
        for kill in (os.kill, os.killpg):  # it may have made no group yet
            with suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _serve(listener: socket.socket) -> None:
    """Answer requests until the standard input is closed; the programs of a connection are killed when it ends."""
    programs: dict[Connection, set[int]] = {}
    while sys.stdin not in (ready := wait([sys.stdin, listener, *programs])):  # type: ignore[list-item]
        if listener in ready:
            programs[Connection(listener.accept()[0].detach())] = set()
        for connection in programs.keys() & {*ready}:
            try:
                question = connection.recv()
                descriptors = _receive_files(connection) if "words" in question else []
            except (EOFError, ConnectionError):
                _kill_all(programs.pop(connection))
                connection.close()
                continue
            if pid := question.get("poll"):
                answer: Any = _poll(pid, programs[connection])
            elif "words" in question:
                answer = _fork(question, descriptors, [listener, *programs])
                programs[connection].add(answer)
            else:
                state = vars(forkserver._forkserver)
                answer = {name: state[name] for name in SERVER_STATE & state.keys()}
            with suppress(ConnectionError):
                connection.send(answer)
    for children in programs.values():
        _kill_all(children)


def main() -> None:
    """Load what programs need, harvest once, and serve programs."""
    preload_all()
    for name in LOADED:
        import_module(name)
    share_compiled_statements()
    run_once()
    gc.freeze()  # a collection in a forked program would copy all of this memory
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        _serve(listener)


if __name__ == "__main__":
    main()
