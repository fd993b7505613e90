"""Restrict the privileges, files, network and programs of this process, before it reads or receives untrusted data.

Three mechanisms of Linux are used, which do not need root: `no_new_privs` (kernel 3.5), Landlock (5.13) and a seccomp
filter (3.5). A mechanism that the kernel lacks is left out; `windrow check --sandbox` shows what works on a machine.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import io
import os
import platform
import resource
import site
import socket
import struct
import sys
import sysconfig
import tempfile
import termios
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import IO, Any, NamedTuple

from windrow.archive.capture_sink import PARTS_FOLDER
from windrow.engine.runtime import CONTEXT, start_process
from windrow.engine.steps.allowed_calls import ARCHITECTURES, encode_filter, make_filter

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # calls of Landlock, the same on all architectures
_PATH_BENEATH, _GET_VERSION = 1, 1  # the type of a rule, and a flag of _CREATE_RULESET
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""A dict from a version of Landlock to the rights over files that it knows, as bits."""
_NET_VERSION, _SCOPE_VERSION = 4, 6  # the first versions of Landlock with _NET_RIGHTS and with _SCOPES
_NET_RIGHTS, _SCOPES = 0b11, 0b11  # TCP bind and connect; abstract sockets and signals to processes outside
_RENAME_VERSION = 2  # before it, Landlock refuses all renames from one folder to another
_SIGNAL_SCOPE = 0b10
_NEW_USER_SPACE = 0x10000000  # CLONE_NEWUSER

_SYSTEM_FOLDERS = (
    "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/etc/ld.so.cache",
    "/usr/share/zoneinfo", "/etc/localtime", "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/X11/fonts",
    "/dev/null", "/dev/zero", "/dev/urandom", "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu",
)  # fmt: skip
"""Files and folders that Python and the libraries of readers may read."""


class Sandbox(NamedTuple):
    """Which mechanisms restrict this process."""

    no_new_privs: bool = False
    landlock: int = 0  # its version, 0 if the kernel does not have it
    seccomp: bool = False


def linked_files(folders: Iterable[Path]) -> list[Path]:
    """Return the files to which symbolic links below `folders` point, wherever these files are."""
    return [
        Path(entry.path).resolve()
        for folder in folders
        for below, _, _ in os.walk(folder)
        for entry in os.scandir(below)
        if entry.is_symlink() and entry.is_file()
    ]


def forget_variables(names: Iterable[str]) -> None:
    """Remove environment variables of this process, and overwrite their values where it got them when it started."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    for name in names:
        if value := getenv(os.fsencode(name)):
            ctypes.memset(value, 0, len(ctypes.string_at(value)))
        os.environ.pop(name, None)


def restrict_process(readable: Iterable[Path]) -> Sandbox:
    """Let this process only read `readable` (files and folders), Python's own files and some files of the system.

    Its output goes to /dev/null, and its temporary files are in memory. Return what restricts the process: mechanisms
    that the system lacks are left out.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return Sandbox()
    _close_outputs()
    landlock = _restrict_files(libc, dict.fromkeys([*readable, *_own_folders()], _READ_FILE | _READ_FOLDER))
    tempfile.TemporaryFile = open_memory_file  # type: ignore[assignment]
    return Sandbox(True, landlock, _restrict_calls(libc))


def restrict_fetcher(archive: Path) -> Sandbox:
    """Let this process write only below the folder `archive` and to /dev/null, and run no program.

    It may read every file that its user may read, such as secrets, certificates and sources that are folders. Return
    what restricts it. Before version 2 of Landlock, it can still write everywhere and run programs.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return Sandbox()
    if _landlock_version(libc) < _RENAME_VERSION:
        return Sandbox(no_new_privs=True)
    writable = {archive: ~_EXECUTE, archive / PARTS_FOLDER: ~_EXECUTE, Path(os.devnull): _WRITE_FILE}
    unrestricted = _READ_FILE | _READ_FOLDER
    return Sandbox(True, _restrict_files(libc, writable, unrestricted, net_rights=0, scopes=_SIGNAL_SCOPE))


def _close_outputs() -> None:
    """Send output to /dev/null, and close every pipe to which this process could write.

    Such pipes lead to the processes that multiprocessing starts for itself.
    """
    with Path(os.devnull).open("wb") as nowhere:
        for descriptor in (1, 2):
            os.dup2(nowhere.fileno(), descriptor)
    for link in [*Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # the folder itself was open while it was read
            if str(link.readlink()).startswith("pipe:") and _is_for_writing(int(link.name)):
                os.close(int(link.name))


def _is_for_writing(descriptor: int) -> bool:
    return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


def open_memory_file(mode: str = "w+b", *_arguments: object, **_keywords: object) -> IO[Any]:
    """Return a new file in memory. This function replaces `tempfile.TemporaryFile`, which some libraries need."""
    return io.BytesIO() if "b" in mode else io.StringIO()


def _own_folders() -> list[Path]:
    folders = {*sys.path, *site.getsitepackages(), *sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
    return [Path(folder) for folder in sorted({folder for folder in folders if folder} | {*_SYSTEM_FOLDERS})]


def _landlock_version(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock that the kernel has, or a number below 1 if it has none."""
    version: int = libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION)
    return version


def _restrict_files(
    libc: ctypes.CDLL, allowed: Mapping[Path, int], unrestricted: int = 0, *, net_rights: int = _NET_RIGHTS,
    scopes: int = _SCOPES,
) -> int:  # fmt: skip
    """Let Landlock allow only the rights in `allowed`, and refuse `net_rights` and `scopes` if its version can do that.

    `allowed` has the rights over files and folders. The rights in `unrestricted` apply everywhere. Return the version,
    or 0 if Landlock does not work.
    """
    version = _landlock_version(libc)
    if version < 1:
        return 0
    file_rights = max(rights for first, rights in _FILE_RIGHTS.items() if version >= first) & ~unrestricted
    net_rights, scopes = net_rights * (version >= _NET_VERSION), scopes * (version >= _SCOPE_VERSION)
    attributes = struct.pack("QQQ", file_rights, net_rights, scopes)
    size = 24 if scopes else 16 if net_rights else 8  # bytes of `attributes` that this version of Landlock has
    ruleset: int = libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if ruleset < 0:
        return 0
    try:
        for path, rights in allowed.items():
            _allow(libc, ruleset, path, rights & file_rights)
        return version if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= -1 if path.is_dir() else _EXECUTE | _WRITE_FILE | _READ_FILE
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _restrict_calls(libc: ctypes.CDLL) -> bool:
    """Let seccomp refuse all system calls but those of `allowed_calls`. Return whether that works."""
    if platform.machine() not in ARCHITECTURES:
        return False
    lines = make_filter(platform.machine(), os.getpid())
    code = ctypes.create_string_buffer(encode_filter(lines))
    program = ctypes.create_string_buffer(struct.pack("HP", len(lines), ctypes.addressof(code)))
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


class SandboxTrial(NamedTuple):
    """Which mechanisms restrict a process on this machine, and which forbidden acts it can still do."""

    sandbox: Sandbox
    allowed: tuple[str, ...]


def try_sandbox(*, is_fetcher: bool = False) -> SandboxTrial:
    """Restrict a child process like a worker or a fetcher, let it try forbidden acts, and return the result.

    If the process ends without an answer, the result is that nothing restricts it and every act is allowed.
    """
    ours, theirs = CONTEXT.Pipe()
    with tempfile.TemporaryDirectory(prefix="windrow-sandbox-") as folder, ours:
        process = CONTEXT.Process(target=_try_acts, args=(theirs, Path(folder), is_fetcher), daemon=True)
        start_process(process)
        theirs.close()
        try:
            landlock, seccomp, no_new_privs, *allowed = ours.recv_bytes(1 << 16).decode().split("\n")
        except (EOFError, OSError):
            return SandboxTrial(Sandbox(), _FETCHER_ACTS if is_fetcher else (*_ACTS,))
        finally:
            process.join()
    return SandboxTrial(Sandbox(no_new_privs == "True", int(landlock), seccomp == "True"), tuple(allowed))


_ACTS: dict[str, Callable[[Path], object]] = {
    "read another file": lambda _folder: Path("/etc/passwd").read_bytes(),
    "write a file": lambda folder: (folder / "new").write_bytes(b""),
    "open a socket": lambda _folder: socket.socket().close(),
    "run a program": lambda _folder: os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-V"], {}), 0),
    "signal another process": lambda _folder: os.kill(os.getppid(), 0),
    "send signals through a file": lambda _folder: fcntl.fcntl(_open_null(), fcntl.F_SETOWN, os.getppid()),
    "start a process": lambda _folder: os.waitpid(os.fork() or os._exit(0), 0),
    "set limits of another process": lambda _folder: resource.prlimit(
        os.getppid(), resource.RLIMIT_CORE, resource.prlimit(os.getppid(), resource.RLIMIT_CORE)
    ),
    "type into a terminal": lambda _folder: fcntl.ioctl(_open_null(), termios.TIOCSTI, b" "),
    "share memory with other programs": lambda _folder: _call("shmget", 0, 0, 0),
    "make a namespace": lambda _folder: _call("unshare", _NEW_USER_SPACE),
}
"""The acts that a worker must not be able to do: a dict from their names to functions that do them."""
_FETCHER_ACTS = ("write a file", "run a program")
"""The names of those acts that a fetcher must not be able to do: it may not write outside the archive."""


def _open_null() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def _call(function: str, *arguments: int) -> None:
    """Call a function of the C library. Raises PermissionError if the kernel refuses it."""
    result = getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments)
    if result < 0 and ctypes.get_errno() == errno.EPERM:
        raise PermissionError(function)


def _try_acts(pipe: Pipe, folder: Path, is_fetcher: bool) -> None:
    sandbox = restrict_fetcher(folder / "archive") if is_fetcher else restrict_process([])
    names = _FETCHER_ACTS if is_fetcher else _ACTS
    allowed = [name for name in names if not _is_refused(_ACTS[name], folder)]
    words = [sandbox.landlock, sandbox.seccomp, sandbox.no_new_privs, *allowed]
    pipe.send_bytes("\n".join(map(str, words)).encode())


def _is_refused(act: Callable[[Path], object], folder: Path) -> bool:
    try:
        act(folder)
    except PermissionError:
        return True
    except OSError:  # the kernel did not refuse the act, which failed for another reason
        return False
    return False
