"""Restrict this process before it reads untrusted documents: its privileges, files, network and programs.

Three mechanisms of Linux are used, which do not need root: `no_new_privs` (kernel 3.5), Landlock (5.13) and a seccomp
filter (3.5). A mechanism that the kernel lacks is left out; `windrow check --sandbox` shows what works on a machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import site
import socket
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import IO, Any, NamedTuple

from windrow.engine.runtime import CONTEXT, start_process

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # calls of Landlock, the same on all architectures
_PATH_BENEATH, _GET_VERSION = 1, 1  # the type of a rule, and a flag of _CREATE_RULESET
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""The rights over files that Landlock knows, by the first version that knows them."""
_NET_VERSION, _SCOPE_VERSION = 4, 6  # the first versions of Landlock with _NET_RIGHTS and with _SCOPES
_NET_RIGHTS, _SCOPES = 0b11, 0b11  # TCP bind and connect; abstract sockets and signals to processes outside

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The numbers of architectures in seccomp, by `platform.machine()`."""
_CALL_NUMBERS = {
    # network
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "recvmsg": (47, 212),
    # programs and other processes
    "execve": (59, 221), "execveat": (322, 281), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "process_madvise": (440, 440), "kcmp": (312, 272),
    # files: what Landlock does not refuse
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "truncate": (76, 45), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # the system
    "mount": (165, 40), "umount2": (166, 39), "chroot": (161, 51), "pivot_root": (155, 41), "unshare": (272, 97),
    "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "init_module": (175, 105),
    "finit_module": (313, 273), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
}  # fmt: skip
"""The system calls that are refused (EPERM): their numbers on x86_64 and aarch64, or None if a call does not exist."""
_SIGNAL_NUMBERS = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}  # fmt: skip
"""The system calls that send signals. They are refused if Landlock does not keep signals from other processes."""

_X32_CALLS = 0x40000000  # x86_64: calls of the x32 ABI, which have other numbers for the same calls
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # instructions of a seccomp filter
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000  # what a filter returns

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


def restrict_process(readable: Iterable[Path]) -> Sandbox:
    """Let this process only read `readable` (files and folders) and Python's own files. Return what restricts it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return Sandbox()
    landlock = _restrict_files(libc, [*readable, *_own_folders()])
    tempfile.TemporaryFile = open_memory_file  # type: ignore[assignment]
    return Sandbox(True, landlock, _restrict_calls(libc, signals=landlock < _SCOPE_VERSION))


def open_memory_file(mode: str = "w+b", *_arguments: object, **_keywords: object) -> IO[Any]:
    """Return a new file in memory. It replaces `tempfile.TemporaryFile`, which some libraries need."""
    return os.fdopen(os.memfd_create("windrow"), mode)


def _own_folders() -> list[Path]:
    folders = {*sys.path, *site.getsitepackages(), *sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}
    return [Path(folder) for folder in sorted({folder for folder in folders if folder} | {*_SYSTEM_FOLDERS})]


def _restrict_files(libc: ctypes.CDLL, readable: Iterable[Path]) -> int:
    """Let Landlock allow only reading of `readable`, and no TCP. Return its version, or 0 if it does not work."""
    version: int = libc.syscall(_CREATE_RULESET, None, 0, _GET_VERSION)
    if version < 1:
        return 0
    file_rights = max(rights for first, rights in _FILE_RIGHTS.items() if version >= first)
    net_rights, scopes = _NET_RIGHTS * (version >= _NET_VERSION), _SCOPES * (version >= _SCOPE_VERSION)
    attributes = struct.pack("QQQ", file_rights, net_rights, scopes)
    size = 24 if scopes else 16 if net_rights else 8  # bytes of `attributes` that this version of Landlock has
    ruleset: int = libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if ruleset < 0:
        return 0
    try:
        for path in readable:
            _allow_reading(libc, ruleset, path)
        return version if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | _READ_FOLDER if path.is_dir() else _READ_FILE
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _restrict_calls(libc: ctypes.CDLL, *, signals: bool) -> bool:
    """Refuse the system calls of _CALL_NUMBERS and, if `signals`, those that send signals.

    Return whether that works.
    """
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    column = [*_ARCHITECTURES].index(machine)
    calls = _CALL_NUMBERS | (_SIGNAL_NUMBERS if signals else {})
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32_CALLS), (_RETURN, 0, 0, _REFUSE)]
    for numbers in calls.values():
        if (number := numbers[column]) is not None:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("HP", len(lines), ctypes.addressof(code)))
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


class SandboxTrial(NamedTuple):
    """Which mechanisms restrict a process on this machine, and which forbidden acts it can do nevertheless."""

    sandbox: Sandbox
    allowed: tuple[str, ...]


def try_sandbox() -> SandboxTrial:
    """Restrict a child process like a worker, let it try what a worker must not do, and return the result."""
    ours, theirs = CONTEXT.Pipe()
    with tempfile.TemporaryDirectory(prefix="windrow-sandbox-") as folder, ours:
        process = CONTEXT.Process(target=_try_acts, args=(theirs, Path(folder)), daemon=True)
        start_process(process)
        theirs.close()
        try:
            landlock, seccomp, no_new_privs, *allowed = ours.recv_bytes(1 << 16).decode().split("\n")
        except (EOFError, OSError):
            return SandboxTrial(Sandbox(), (*_ACTS,))
        finally:
            process.join()
    return SandboxTrial(Sandbox(no_new_privs == "True", int(landlock), seccomp == "True"), tuple(allowed))


_ACTS: dict[str, Callable[[Path], object]] = {
    "read another file": lambda _folder: Path("/etc/passwd").read_bytes(),
    "write a file": lambda folder: (folder / "new").write_bytes(b""),
    "open a socket": lambda _folder: socket.socket().close(),
    "run a program": lambda _folder: os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-V"], {}), 0),
    "signal another process": lambda _folder: os.kill(os.getppid(), 0),
}
"""Functions that do what a worker must not be able to do, by the name of the act."""


def _try_acts(pipe: Pipe, folder: Path) -> None:
    sandbox = restrict_process([])
    allowed = [name for name, act in _ACTS.items() if not _is_refused(act, folder)]
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
