"""No foreign exception gets past a transport: each has a reason."""

from __future__ import annotations

import asyncio
import errno
import ftplib
import inspect
import socket
import ssl
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import aiohttp
import pytest

from tests.servers.daemon import driver
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.reasons import Reason
from windrow.transports import ftp, local, web_session

WHERE = "ftp://h/x"


def tree(root: type[BaseException]) -> Iterator[type[BaseException]]:
    """Walk an exception and everything below it."""
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def made(kind: type[BaseException]) -> BaseException:
    """Make an exception, whatever its constructor wants."""
    if issubclass(kind, aiohttp.ClientConnectorCertificateError):
        return kind(MagicMock(), ssl.SSLCertVerificationError("bad"))
    if issubclass(kind, aiohttp.ClientConnectorError):
        arguments: list[Any] = [MagicMock(), OSError(errno.ECONNREFUSED, "refused")]
        return kind("/path", *arguments) if "path" in inspect.signature(kind).parameters else kind(*arguments)
    if issubclass(kind, aiohttp.ServerFingerprintMismatch):
        return kind(b"a", b"b", "h", 1)
    if issubclass(kind, aiohttp.ClientResponseError):
        return kind(MagicMock(), (), status=400, message="bad")
    if issubclass(kind, aiohttp.InvalidURL):
        return kind("http://[")
    for arguments in ([], ["told"], ["told", "en"], [1, "told"], [1, "told", "en"], [None] * 8):
        try:
            return kind(*arguments)
        except TypeError:
            continue
    raise AssertionError(kind)


def check(error: TransportError, *expected: object) -> None:
    assert isinstance(error, TransientFailure | TerminalFailure)
    assert isinstance(error.reason, Reason)
    assert str(error).startswith(WHERE)
    assert error.retry is isinstance(error, TransientFailure)
    if expected:
        assert (type(error), error.reason) == expected


@pytest.mark.parametrize("code", [*range(400, 460), *range(500, 560)])
def test_every_ftp_code(code: int) -> None:
    kind = ftplib.error_temp if code < 500 else ftplib.error_perm
    error = ftp.failure(kind(f"{code} told"), WHERE)
    check(error)
    assert error.retry is (code < 500 and code != 430)


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (ftplib.error_perm("530 Login incorrect."), TerminalFailure, Reason.WRONG_PASSWORD),
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
    check(ftp.failure(error, WHERE), kind, reason)


@pytest.mark.parametrize("kind", sorted(set(tree(aiohttp.ClientError)), key=lambda kind: kind.__name__))
def test_every_aiohttp_error(kind: type[BaseException]) -> None:
    error = made(kind)
    assert isinstance(error, web_session.Alien)
    check(web_session.failure(error, WHERE))


@pytest.mark.parametrize(
    ("kind", "mapped", "reason"),
    [
        (aiohttp.ClientConnectorCertificateError, TerminalFailure, Reason.TLS_FAILED),
        (aiohttp.ClientConnectorSSLError, TransientFailure, Reason.TLS_FAILED),
        (aiohttp.ClientConnectorDNSError, TransientFailure, Reason.DNS_FAILED),
        (aiohttp.ClientConnectorError, TransientFailure, Reason.CONNECT_FAILED),
        (aiohttp.ClientProxyConnectionError, TransientFailure, Reason.CONNECT_FAILED),
        (aiohttp.ServerTimeoutError, TransientFailure, Reason.TIMEOUT),
        (aiohttp.SocketTimeoutError, TransientFailure, Reason.TIMEOUT),
        (aiohttp.ConnectionTimeoutError, TransientFailure, Reason.TIMEOUT),
        (aiohttp.ServerDisconnectedError, TransientFailure, Reason.INTERRUPTED),
        (aiohttp.ClientOSError, TransientFailure, Reason.INTERRUPTED),
        (aiohttp.ClientPayloadError, TransientFailure, Reason.INTERRUPTED),
        (aiohttp.ClientResponseError, TerminalFailure, Reason.PROTOCOL_ERROR),
        (aiohttp.TooManyRedirects, TerminalFailure, Reason.REDIRECTED),
        (aiohttp.InvalidURL, TerminalFailure, Reason.UNSAFE_NAME),
        (aiohttp.ServerFingerprintMismatch, TerminalFailure, Reason.TLS_FAILED),
        (asyncio.TimeoutError, TransientFailure, Reason.TIMEOUT),
    ],
)
def test_aiohttp(kind: type[BaseException], mapped: type, reason: Reason) -> None:
    check(web_session.failure(made(kind), WHERE), mapped, reason)


def test_a_refused_connection_is_told_in_the_words_of_the_socket() -> None:
    """Those of aiohttp say `ssl:default`, of plain connections too."""
    error = made(aiohttp.ClientConnectorError)
    assert "ssl:" in str(error)
    assert "ssl:" not in str(web_session.failure(error, WHERE))


def test_every_asyncssh_error() -> None:
    asyncssh = driver("asyncssh")
    shell = driver("windrow.transports.sftp_session")
    kinds = set(tree(asyncssh.Error)) | {asyncssh.KeyImportError, asyncssh.KeyEncryptionError}
    assert len(kinds) > 40
    for kind in kinds:
        error = made(kind)
        assert isinstance(error, shell.Alien)
        check(shell.failure(error, WHERE))


def test_asyncssh() -> None:
    asyncssh = driver("asyncssh")
    shell = driver("windrow.transports.sftp_session")
    for kind, mapped, reason in (
        (asyncssh.PermissionDenied, TerminalFailure, Reason.WRONG_PASSWORD),
        (asyncssh.HostKeyNotVerifiable, TerminalFailure, Reason.HOST_KEY_CHANGED),
        (asyncssh.ConnectionLost, TransientFailure, Reason.INTERRUPTED),
        (asyncssh.KeyExchangeFailed, TerminalFailure, Reason.PROTOCOL_ERROR),
        (asyncssh.SFTPNoSuchFile, TerminalFailure, Reason.NOT_FOUND),
        (asyncssh.SFTPPermissionDenied, TerminalFailure, Reason.PERMISSION_DENIED),
        (asyncssh.SFTPFailure, TransientFailure, Reason.SERVER_ERROR),
        (asyncssh.SFTPConnectionLost, TransientFailure, Reason.INTERRUPTED),
    ):
        check(shell.failure(made(kind), WHERE), mapped, reason)
    for error, mapped, reason in (
        (TimeoutError(), TransientFailure, Reason.TIMEOUT),
        (socket.gaierror(-2, "unknown"), TransientFailure, Reason.DNS_FAILED),
        (ConnectionRefusedError(), TransientFailure, Reason.CONNECT_FAILED),
    ):
        check(shell.failure(error, WHERE), mapped, reason)


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
    check(local.failure(OSError(number, "told"), WHERE), kind, reason)


def test_what_a_server_says_cannot_break_a_line() -> None:
    text = str(ftp.failure(ftplib.error_perm("550 x\r\nINFO all is well\x1b[2J" + "y" * 10_000), WHERE))
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 400
