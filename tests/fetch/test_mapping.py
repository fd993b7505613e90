"""Every foreign exception is mapped to an error with a reason."""

from __future__ import annotations

import errno
import ftplib
import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.servers.daemon import driver
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch import ftp, local
from windrow.fetch.dial import NETWORK_ERRORS, map_network_error
from windrow.reasons import Reason

WHERE = "ftp://h/x"


def subclasses_of(root: type[BaseException]) -> Iterator[type[BaseException]]:
    """Yield an exception class and all its subclasses."""
    yield root
    for child in root.__subclasses__():
        yield from subclasses_of(child)


def make_error(kind: type[BaseException]) -> BaseException:
    """Make an exception; try several arguments for its constructor."""
    for arguments in ([], ["told"], ["told", "en"], [1, "told"], [1, "told", "en"], [None] * 8):
        try:
            return kind(*arguments)
        except TypeError:
            continue
    raise AssertionError(kind)


def assert_mapped(error: TransportError, *expected: object) -> None:
    assert isinstance(error, TransientFailure | TerminalFailure)
    assert isinstance(error.reason, Reason)
    assert str(error).startswith(WHERE)
    assert error.retry is isinstance(error, TransientFailure)
    if expected:
        assert (type(error), error.reason) == expected


@pytest.mark.parametrize("code", [*range(400, 460), *range(500, 560)])
def test_every_ftp_code(code: int) -> None:
    kind = ftplib.error_temp if code < 500 else ftplib.error_perm
    error = ftp.map_error(kind(f"{code} told"), WHERE)
    assert_mapped(error)
    assert error.retry is (code < 500 and code != 430)


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ftplib.error_perm("530 Login incorrect."), TerminalFailure, Reason.LOGIN_FAILED),
        (ftplib.error_perm("550 Failed to open file."), TerminalFailure, Reason.NOT_FOUND),
        (ftplib.error_perm("550 Permission denied"), TerminalFailure, Reason.PERMISSION_DENIED),
        (ftplib.error_temp("421 Timeout"), TransientFailure, Reason.CONNECT_FAILED),
        (ftplib.error_temp("425 no"), TransientFailure, Reason.CONNECT_FAILED),
        (ftplib.error_temp("426 no"), TransientFailure, Reason.INTERRUPTED),
        (ftplib.error_proto("?"), TerminalFailure, Reason.PROTOCOL_ERROR),
        (ftplib.error_reply("350 what"), TerminalFailure, Reason.PROTOCOL_ERROR),
        (ftplib.Error("?"), TerminalFailure, Reason.PROTOCOL_ERROR),
        (ssl.SSLCertVerificationError("bad"), TerminalFailure, Reason.TLS_FAILED),
        (ssl.SSLError("bad"), TransientFailure, Reason.TLS_FAILED),
        (ssl.SSLEOFError("gone"), TransientFailure, Reason.INTERRUPTED),
        (socket.gaierror(-2, "unknown"), TransientFailure, Reason.DNS_FAILED),
        (TimeoutError(), TransientFailure, Reason.TIMEOUT),
        (ConnectionRefusedError(), TransientFailure, Reason.CONNECT_FAILED),
        (ConnectionResetError(), TransientFailure, Reason.INTERRUPTED),
        (BrokenPipeError(), TransientFailure, Reason.INTERRUPTED),
        (EOFError("gone"), TransientFailure, Reason.INTERRUPTED),
        (OSError(errno.EHOSTUNREACH, "no route"), TransientFailure, Reason.INTERRUPTED),
    ],
)
def test_ftp(error: BaseException, kind: type, reason: Reason) -> None:
    assert_mapped(ftp.map_error(error, WHERE), kind, reason)


FOREIGN = {
    kind.__name__: kind
    for root in (OSError, EOFError)
    for kind in subclasses_of(root)
    if kind.__module__ in {"builtins", "socket", "ssl", "asyncio.exceptions"}
}


@pytest.mark.parametrize("name", sorted(FOREIGN))
@pytest.mark.parametrize("was_open", [False, True])
def test_every_error_of_a_socket_a_resolver_and_tls(name: str, was_open: bool) -> None:
    error = make_error(FOREIGN[name])
    assert isinstance(error, NETWORK_ERRORS)
    assert_mapped(map_network_error(error, WHERE, was_open=was_open))


@pytest.mark.parametrize(
    ("error", "kind", "reason", "before"),
    [
        (ssl.SSLCertVerificationError("bad"), TerminalFailure, Reason.TLS_FAILED, Reason.TLS_FAILED),
        (ssl.SSLError("bad"), TransientFailure, Reason.TLS_FAILED, Reason.TLS_FAILED),
        (ssl.SSLEOFError("gone"), TransientFailure, Reason.INTERRUPTED, Reason.INTERRUPTED),
        (ssl.SSLZeroReturnError("gone"), TransientFailure, Reason.INTERRUPTED, Reason.INTERRUPTED),
        (socket.gaierror(-2, "unknown"), TransientFailure, Reason.DNS_FAILED, Reason.DNS_FAILED),
        (UnicodeError("label too long"), TransientFailure, Reason.DNS_FAILED, Reason.DNS_FAILED),
        (TimeoutError(), TransientFailure, Reason.TIMEOUT, Reason.TIMEOUT),
        (TimeoutError("nothing came for 5 seconds"), TransientFailure, Reason.TIMEOUT, Reason.TIMEOUT),
        (ConnectionRefusedError(), TransientFailure, Reason.CONNECT_FAILED, Reason.CONNECT_FAILED),
        (ConnectionResetError(), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
        (ConnectionAbortedError(), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
        (BrokenPipeError(), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
        (OSError(errno.EHOSTUNREACH, "no route"), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
        (OSError(errno.EMFILE, "too many"), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
        (EOFError("gone"), TransientFailure, Reason.INTERRUPTED, Reason.CONNECT_FAILED),
    ],
)
def test_web(error: BaseException, kind: type, reason: Reason, before: Reason) -> None:
    assert_mapped(map_network_error(error, WHERE, was_open=True), kind, reason)
    assert_mapped(map_network_error(error, WHERE, was_open=False), kind, before)


def test_messages_are_in_the_words_of_the_system_without_numbers_and_tuples() -> None:
    for error, words in (
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 80)"), "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError("the host name has no IP address"), "the host name has no IP address"),
    ):
        assert str(map_network_error(error, WHERE, was_open=False)) == f"{WHERE}: {words}"


def test_what_is_mapped_already_stays_as_it_is() -> None:
    failure = TerminalFailure(f"{WHERE}: no answer in HTTP/1.1", Reason.PROTOCOL_ERROR)
    assert map_network_error(failure, "elsewhere", was_open=True) is failure


def test_every_asyncssh_error() -> None:
    asyncssh = driver("asyncssh")
    shell = driver("windrow.fetch.sftp")
    kinds = set(subclasses_of(asyncssh.Error)) | {asyncssh.KeyImportError, asyncssh.KeyEncryptionError}
    assert len(kinds) > 40
    for kind in kinds:
        error = make_error(kind)
        assert isinstance(error, shell.SFTP_ERRORS)
        assert_mapped(shell.map_error(error, WHERE))


def test_asyncssh() -> None:
    asyncssh = driver("asyncssh")
    shell = driver("windrow.fetch.sftp")
    for kind, mapped, reason in (
        (asyncssh.PermissionDenied, TerminalFailure, Reason.LOGIN_FAILED),
        (asyncssh.HostKeyNotVerifiable, TerminalFailure, Reason.HOST_KEY_CHANGED),
        (asyncssh.ConnectionLost, TransientFailure, Reason.INTERRUPTED),
        (asyncssh.KeyExchangeFailed, TerminalFailure, Reason.PROTOCOL_ERROR),
        (asyncssh.SFTPNoSuchFile, TerminalFailure, Reason.NOT_FOUND),
        (asyncssh.SFTPPermissionDenied, TerminalFailure, Reason.PERMISSION_DENIED),
        (asyncssh.SFTPFailure, TransientFailure, Reason.SERVER_ERROR),
        (asyncssh.SFTPConnectionLost, TransientFailure, Reason.INTERRUPTED),
    ):
        assert_mapped(shell.map_error(make_error(kind), WHERE), mapped, reason)
    for error, mapped, reason in (
        (TimeoutError(), TransientFailure, Reason.TIMEOUT),
        (socket.gaierror(-2, "unknown"), TransientFailure, Reason.DNS_FAILED),
        (ConnectionRefusedError(), TransientFailure, Reason.CONNECT_FAILED),
    ):
        assert_mapped(shell.map_error(error, WHERE), mapped, reason)


@pytest.mark.parametrize(
    ("number", "kind", "reason"),
    [
        (errno.ENOENT, TerminalFailure, Reason.NOT_FOUND),
        (errno.EACCES, TerminalFailure, Reason.PERMISSION_DENIED),
        (errno.EPERM, TerminalFailure, Reason.PERMISSION_DENIED),
        (errno.EISDIR, TerminalFailure, Reason.NOT_A_FILE),
        (errno.ENOTDIR, TerminalFailure, Reason.NOT_A_FILE),
        (errno.ELOOP, TerminalFailure, Reason.NOT_A_FILE),
        (errno.ENXIO, TerminalFailure, Reason.NOT_A_FILE),
        (errno.ENAMETOOLONG, TerminalFailure, Reason.NAME_TOO_LONG),
        (errno.EIO, TransientFailure, Reason.DISK_FAILED),
        (errno.EMFILE, TransientFailure, Reason.DISK_FAILED),
    ],
)
def test_folder(number: int, kind: type, reason: Reason) -> None:
    assert_mapped(local.map_error(OSError(number, "told"), WHERE), kind, reason)


def test_what_a_server_says_cannot_break_a_line() -> None:
    text = str(ftp.map_error(ftplib.error_perm("550 x\r\nINFO all is well\x1b[2J" + "y" * 10_000), WHERE))
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 400


@pytest.mark.parametrize("detail", ["the listing did not end within listing_timeout", "nothing received for 5 seconds"])
def test_the_message_of_a_timeout_has_its_cause(detail: str) -> None:
    assert str(ftp.map_error(TimeoutError(detail), WHERE)) == f"{WHERE}: {detail}"


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        TimeoutError("timed out"),
        TimeoutError(errno.ETIMEDOUT, "Connection timed out"),
        BlockingIOError(),
    ],
)
def test_a_timeout_of_the_system_has_a_message_in_plain_words(error: OSError) -> None:
    message = str(map_network_error(error, WHERE, was_open=True))
    assert message == f"{WHERE}: the server did not answer within the timeout"
