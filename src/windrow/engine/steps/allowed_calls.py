"""The system calls that a process which reads documents may make, and the seccomp filter that refuses all others.

They are those that Python needs for its memory, its threads and its clocks, to open files, and to read and write open
files; Landlock (`sandbox`) lets files be opened only for reading. No call that acts on another process, the network or
a terminal is among them. A refused call fails and does not end the process, so that a library which tries a newer call
first can go on; only a call for another architecture ends it.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from typing import NamedTuple

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""A dict from a value of `platform.machine()` to the number of this architecture in seccomp."""

_CALLS = {
    # reading and writing of open files
    "read": (0, 63), "write": (1, 64), "lseek": (8, 62), "fstat": (5, 80), "close": (3, 57), "pread64": (17, 67),
    "readv": (19, 65), "preadv": (295, 69), "writev": (20, 66), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24), "poll": (7, None), "ppoll": (271, 73), "select": (23, None),
    "pselect6": (270, 72), "close_range": (436, 436), "fadvise64": (221, 223),
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "brk": (12, 214), "membarrier": (324, 283),
    # looking for files and opening them, which Landlock restricts
    "openat": (257, 56), "open": (2, None), "openat2": (437, 437), "newfstatat": (262, 79), "stat": (4, None),
    "lstat": (6, None), "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getdents": (78, None), "getdents64": (217, 61),
    "getcwd": (79, 17),
    # clocks, signals to itself, threads
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115), "nanosleep": (35, 101),
    "gettimeofday": (96, 169), "time": (201, None), "setitimer": (38, 103), "getitimer": (36, 102),
    "times": (100, 153), "getrusage": (98, 165), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "restart_syscall": (219, 128), "futex": (202, 98),
    "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "exit": (60, 93), "exit_group": (231, 94),
    # questions about the process itself and the machine
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "uname": (63, 160), "sysinfo": (99, 179),
    "getrandom": (318, 278), "getcpu": (309, 168), "arch_prctl": (158, None),
}  # fmt: skip
"""The numbers of the allowed system calls on x86_64 and aarch64. A number is None if the call does not exist there."""


class _Condition(NamedTuple):
    """A condition for a call: the 32-bit word at `offset` in its arguments, after `& mask`, is one of `words`."""

    offset: int  # in bytes; each argument has two words, the lower one first
    mask: int
    words: tuple[int, ...]


_ALL_BITS = 0xFFFFFFFF
_FIRST, _SECOND, _THIRD = 0, 8, 16  # the offsets of arguments
_FILE_COMMANDS = (0, 1, 2, 3, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC: no owner, signal or lock
_DEVICE_COMMANDS = (0x5401, 0x5450, 0x5451)  # TCGETS, FIONCLEX, FIOCLEX: no input to a terminal
_CLONE_THREAD, _NEW_SPACES = 0x10000, 0x7E020080  # flags of clone: a thread, and all CLONE_NEW...

_CLONE3 = (435, 435)
"""The numbers of clone3, with which newer libraries start threads. They use `clone` if the kernel does not know it."""


def _conditional_calls(process: int) -> dict[str, tuple[tuple[int, int], tuple[_Condition, ...]]]:
    """Return a dict from each call that is allowed under conditions to its numbers and its conditions."""
    is_own = _Condition(_FIRST, _ALL_BITS, (process,))
    return {
        "fcntl": ((72, 25), (_Condition(_SECOND, _ALL_BITS, _FILE_COMMANDS),)),
        "ioctl": ((16, 29), (_Condition(_SECOND, _ALL_BITS, _DEVICE_COMMANDS),)),
        "kill": ((62, 129), (is_own,)),
        "tgkill": ((234, 131), (is_own,)),
        "clone": ((56, 220), (_Condition(_FIRST, _CLONE_THREAD | _NEW_SPACES, (_CLONE_THREAD,)),)),
        # A limit may be read, but not set: the address of the new one must be 0.
        "prlimit64": ((302, 261), tuple(_Condition(_THIRD + word, _ALL_BITS, (0,)) for word in (0, 4))),
    }


_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06  # instructions of a seccomp filter
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000  # what a filter returns; _FAIL with the number of an error
_REFUSE, _NOT_KNOWN = _FAIL | errno.EPERM, _FAIL | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # the offsets in bytes at which a filter finds these

Instruction = tuple[int, int, int, int]
"""An instruction of a filter: its code, how many instructions to skip if its test is true and if not, and a number."""


def make_filter(machine: str, process: int) -> list[Instruction]:
    """Return the seccomp filter for a machine (a key of ARCHITECTURES) and the process with the ID `process`."""
    column = [*ARCHITECTURES].index(machine)
    lines: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]  # fmt: skip
    for numbers in _CALLS.values():
        if (number := numbers[column]) is not None:
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for numbers, conditions in _conditional_calls(process).values():
        checks = [line for condition in conditions for line in _check(condition)]
        lines += [(_EQUAL, 0, len(checks) + 1, numbers[column]), *checks, (_RETURN, 0, 0, _ALLOW)]
    lines += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _NOT_KNOWN), (_RETURN, 0, 0, _REFUSE)]
    return lines


def _check(condition: _Condition) -> Iterator[Instruction]:
    """Yield the instructions that refuse a call unless it meets a condition."""
    yield _LOAD, 0, 0, _ARGUMENTS + condition.offset
    yield _AND, 0, 0, condition.mask
    for index, word in enumerate(condition.words):
        yield _EQUAL, len(condition.words) - index, 0, word
    yield _RETURN, 0, 0, _REFUSE


def encode_filter(lines: list[Instruction]) -> bytes:
    """Return the bytes of a filter, in the format of the kernel."""
    return b"".join(struct.pack("HBBI", *line) for line in lines)
