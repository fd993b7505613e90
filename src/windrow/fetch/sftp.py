"""SFTP as a transport, with asyncssh: checking pinned host keys, login, transfers, and reasons for errors."""

from __future__ import annotations

import asyncio
import math
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import asyncssh

from windrow.clock import from_unix_time
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import NETWORK_ERRORS, connect_socket, map_network_error, refuse_proxy
from windrow.fetch.secret import read_secret
from windrow.fetch.sftp_client import Attributes, SftpClient
from windrow.fetch.transport import Connection, Sink, TransferEnd, is_replaced, printable, public_address, server_path
from windrow.formats.listing import MAX_ENTRIES, Entries, refuse_too_large, refuse_too_many
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

# These ciphers are preferred because they are the fastest: AES in hardware, with authentication in the same pass.
_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
# The kinds of host keys, in the order tried: a server may have a key of each kind, and not all are pinned.
_HOST_KEY_KINDS = ("default", "ssh-ed25519", "ecdsa-sha2-*", "rsa-sha2-*")

SFTP_ERRORS = (asyncssh.Error, asyncssh.KeyImportError, asyncssh.KeyEncryptionError, *NETWORK_ERRORS)
"""The errors that asyncssh and sockets raise. `map_error` maps all of them."""

_ERROR_TABLE: tuple[tuple[type[BaseException], type[TransportError], Reason], ...] = (
    (asyncssh.PermissionDenied, TerminalFailure, Reason.LOGIN_FAILED),
    (asyncssh.IllegalUserName, TerminalFailure, Reason.LOGIN_FAILED),
    (asyncssh.KeyEncryptionError, TerminalFailure, Reason.LOGIN_FAILED),
    (asyncssh.KeyImportError, TerminalFailure, Reason.NO_SECRET),
    (asyncssh.HostKeyNotVerifiable, TerminalFailure, Reason.HOST_KEY_CHANGED),
    (asyncssh.ConnectionLost, TransientFailure, Reason.INTERRUPTED),
    (asyncssh.ServiceNotAvailable, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.KeyExchangeFailed, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.ProtocolNotSupported, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.ProtocolError, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.MACError, TransientFailure, Reason.INTERRUPTED),
    (asyncssh.CompressionError, TransientFailure, Reason.INTERRUPTED),
    (asyncssh.DisconnectError, TransientFailure, Reason.CONNECT_FAILED),
    (asyncssh.ChannelOpenError, TransientFailure, Reason.CONNECT_FAILED),
    (asyncssh.SFTPNoSuchFile, TerminalFailure, Reason.NOT_FOUND),
    (asyncssh.SFTPNoSuchPath, TerminalFailure, Reason.NOT_FOUND),
    (asyncssh.SFTPPermissionDenied, TerminalFailure, Reason.PERMISSION_DENIED),
    (asyncssh.SFTPFileIsADirectory, TerminalFailure, Reason.NOT_A_FILE),
    (asyncssh.SFTPNotADirectory, TerminalFailure, Reason.NOT_A_FILE),
    (asyncssh.SFTPLinkLoop, TerminalFailure, Reason.NOT_A_FILE),
    (asyncssh.SFTPInvalidFilename, TerminalFailure, Reason.UNSAFE_NAME),
    (asyncssh.SFTPConnectionLost, TransientFailure, Reason.INTERRUPTED),
    (asyncssh.SFTPNoConnection, TransientFailure, Reason.INTERRUPTED),
    (asyncssh.SFTPBadMessage, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.SFTPOpUnsupported, TerminalFailure, Reason.PROTOCOL_ERROR),
    (asyncssh.SFTPError, TransientFailure, Reason.SERVER_ERROR),
    (asyncssh.Error, TransientFailure, Reason.SERVER_ERROR),
)


def map_error(error: BaseException, address: str) -> TransportError:
    """Return the TransportError for an error of asyncssh or a socket. Its message names `address`."""
    for error_type, result_type, reason in _ERROR_TABLE:
        if isinstance(error, error_type):
            return result_type(f"{address}: {printable(str(error)) or type(error).__name__}", reason)
    return map_network_error(error, address, was_open=True)


@dataclass(slots=True)
class SftpChannel:
    """An SSH connection and its SFTP session."""

    connection: asyncssh.SSHClientConnection
    sftp: SftpClient

    def drop(self) -> None:
        """Close the connection at once."""
        self.connection.abort()

    async def end(self) -> None:
        """Close the connection, and wait for the server for at most a second."""
        self.sftp.exit()
        self.connection.close()
        try:
            async with asyncio.timeout(1):
                await self.connection.wait_closed()
        except TimeoutError:
            self.drop()
            await asyncio.sleep(0)  # the event loop then closes the socket


class _HostKeyChecker(asyncssh.SSHClient):
    """Accepts only host keys whose fingerprints are in `pins`. `seen` is the fingerprint of the server's key."""

    def __init__(self, pins: tuple[str, ...]) -> None:
        self._pins = pins
        self.seen = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        del host, addr, port
        self.seen = key.get_fingerprint("sha256")
        return self.seen in self._pins


async def open_channel(site: Site) -> SftpChannel:
    """Connect, check the host key, log in and start SFTP. Raises a TransportError if one of these fails."""
    address = public_address(site)
    first_seen_key = ""
    keys, password = _credentials(site, address)
    for key_kind in _HOST_KEY_KINDS:
        key_checker = _HostKeyChecker(site.host_keys)
        try:
            async with asyncio.timeout(site.timeout):
                return await _start_sftp(site, key_checker, key_kind, keys, password)
        except asyncssh.HostKeyNotVerifiable:
            first_seen_key = first_seen_key or key_checker.seen
            if not site.host_keys:
                break
        except SFTP_ERRORS as error:
            if first_seen_key and key_checker.seen not in site.host_keys:
                continue  # the server has no key of this kind; its error does not matter
            raise map_error(error, address) from error
    raise _unknown_host_key(site, first_seen_key)


async def _start_sftp(
    site: Site, checker: _HostKeyChecker, key_kind: str, keys: list[asyncssh.SSHKey] | None, password: str | None
) -> SftpChannel:
    """Connect to a server with a host key of the kind `key_kind`, log in with `keys` or `password`, and start SFTP."""
    sock = await asyncio.to_thread(connect_socket, site, 22)
    try:
        connection = await asyncssh.connect(
            sock=sock,
            config=None,
            client_factory=lambda: checker,
            known_hosts=([], [], []),
            server_host_key_algs=key_kind,
            encryption_algs=_CIPHERS,
            compression_algs=None,
            username=site.username,
            client_keys=keys,
            password=password,
            agent_path=None,
            gss_host=None,
        )
    except BaseException:
        sock.close()
        raise
    try:
        _, session = await connection.create_session(SftpClient, subsystem="sftp", encoding=None)
        sftp = cast("SftpClient", session)
        await sftp.begin()
    except BaseException:
        connection.abort()
        raise
    return SftpChannel(connection, sftp)


def _credentials(site: Site, address: str) -> tuple[list[asyncssh.SSHKey] | None, str | None]:
    """Return ([private key], None) for a site with a key, otherwise (None, password or None).

    If the site has a key, its secret is the passphrase of the key. Raises TerminalFailure if the key cannot be used.
    """
    secret = read_secret(site.secret) if site.secret else None
    if site.key is None:
        return None, secret
    try:
        return [asyncssh.import_private_key(read_secret(site.key) + "\n", secret)], None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        problem = str(error)
        has_wrong_passphrase = secret is not None and ("decrypt" in problem or "assphrase" in problem)
        reason = Reason.LOGIN_FAILED if has_wrong_passphrase else Reason.NO_SECRET
        message = f"{address}: the key at {site.key.place} cannot be used: {printable(problem)}"
        raise TerminalFailure(message, reason) from error


def _unknown_host_key(site: Site, fingerprint: str) -> TerminalFailure:
    hint = f"ask the server's owner if this key is right, then: windrow config trust NAME {fingerprint}"
    if site.host_keys:
        pinned_keys = ", ".join(site.host_keys)
        message = f"{public_address(site)}: the host key is {fingerprint}; the pinned keys are {pinned_keys}"
        return TerminalFailure(message, Reason.HOST_KEY_CHANGED, hint=hint)
    return TerminalFailure(
        f"{public_address(site)}: the host key {fingerprint} is not pinned yet", Reason.HOST_KEY_UNKNOWN, hint=hint
    )


READ_AHEAD_SIZE = 4 * 2**20
"""The maximum number of bytes of a file that have been requested but have not arrived."""

_FATAL_REASONS = {Reason.TIMEOUT, Reason.INTERRUPTED, Reason.PROTOCOL_ERROR}  # the connection cannot be used any more


class SftpConnection(Connection):
    """A session with a server. After a broken connection, the next call opens a new one."""

    def __init__(self, site: Site) -> None:
        """Prepare a session with a site; `open` connects."""
        self._site = site
        self._channel: SftpChannel | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> SftpChannel:
        """Return the session; connect and log in if none is open. Raises a TransportError if that fails."""
        if self._channel is None or self._channel.connection.is_closed():
            async with self._opening:
                if self._channel is None or self._channel.connection.is_closed():
                    self._channel = await open_channel(self._site)
        return self._channel

    @contextmanager
    def _map_errors(self, channel: SftpChannel, path: str) -> Iterator[None]:
        """Map errors in the block to errors about `path`. Close the channel if it cannot be used any more."""
        try:
            yield
        except SFTP_ERRORS as error:
            mapped = map_error(error, public_address(self._site, path))
            if mapped.reason in _FATAL_REASONS:
                self._channel = None if self._channel is channel else self._channel
                channel.drop()
            raise mapped from error

    async def list(self, folder: str) -> Entries | None:
        """List a folder, or return None if it does not exist. Links are listed, but not as files."""
        full_path = _encoded_path(self._site, folder)
        channel = await self.open()
        entries: Entries = []
        size = 0
        with self._map_errors(channel, folder):
            try:
                deadline = asyncio.get_running_loop().time() + self._site.listing_timeout
                async with asyncio.timeout(self._site.timeout) as timeout:
                    handle = await channel.sftp.open_folder(full_path)
                    while (names := await channel.sftp.names(handle)) is not None:
                        size += sum(len(name) for name, _ in names)
                        refuse_too_large(size, public_address(self._site, folder))
                        entries += [_make_entry(folder, name, attributes) for name, attributes in names]
                        if len(entries) > MAX_ENTRIES + 2:  # with . and ..
                            break
                        self._extend_timeout(timeout, deadline)
                    channel.sftp.close(handle)
            except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
                return None
        entries = [entry for entry in entries if entry.name not in {".", ".."}]
        refuse_too_many(len(entries), public_address(self._site, folder))
        return entries

    def _extend_timeout(self, timeout: asyncio.Timeout, deadline: float = math.inf) -> None:
        """Let `timeout` expire after 1.25 times the site's timeout, or at `deadline` if that is earlier.

        `deadline` is a time of the event loop. `timeout` is only changed if it would expire within the site's timeout,
        since changing it for every block is slow.
        """
        now = asyncio.get_running_loop().time()
        if (timeout.when() or 0.0) - now < self._site.timeout:
            timeout.reschedule(min(now + 1.25 * self._site.timeout, deadline))

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, from `sink.start` on if it is unchanged.

        Raises a TransportError, such as TransientFailure (SIZE_MISMATCH) if the server announces a size and another
        number of bytes arrives.
        """
        full_path = _encoded_path(self._site, path)
        channel = await self.open()
        with self._map_errors(channel, path):
            async with asyncio.timeout(1.25 * self._site.timeout) as timeout:
                handle = await channel.sftp.open(full_path)
                try:
                    self._extend_timeout(timeout)
                    received, size = await self._read_file(channel.sftp, handle, sink, timeout)
                finally:
                    channel.sftp.close(handle)
        if size is not None and received != size:
            raise TransientFailure(
                f"{public_address(self._site, path)}: received {received:,} bytes; the server announced {size:,}",
                Reason.SIZE_MISMATCH,
            )
        return TransferEnd()

    async def _read_file(
        self, sftp: SftpClient, handle: bytes, sink: Sink, read_timeout: asyncio.Timeout
    ) -> tuple[int, int | None]:  # fmt: skip
        """Write a file into the sink. Return the offset at which it ended, and its announced size or None."""
        # The first read is sent together with the request for the size: a small file takes one round trip.
        block_size, responses = sftp.block_size, deque([sftp.ask_read(handle, sftp.block_size, sink.start)])
        if sink.listed_size and sink.listed_size < block_size and not sink.start:
            content = sftp.read(await responses[0])
            if len(content) == sink.listed_size:
                # More than the listed size was requested, and exactly this size arrived: the file is complete. Most
                # small files are read in this way.
                sink.open(sink.listed_size)
                self._extend_timeout(read_timeout)
                sink.write(content)
                return sink.listed_size, sink.listed_size
        attributes = await sftp.stat(handle)
        size = attributes.size
        if (size is not None and sink.start > size) or is_replaced(sink, from_unix_time(attributes.mtime)):
            sink.restart()
            responses = deque([sftp.ask_read(handle, block_size, 0)])
        sink.open(size)
        offset, requested_end = sink.start, sink.start + block_size
        while responses:
            while (size is None or requested_end < size) and len(responses) * block_size < READ_AHEAD_SIZE:
                responses.append(sftp.ask_read(handle, block_size, requested_end))
                requested_end += block_size
            content = sftp.read(await responses.popleft())
            block_end = offset + block_size
            while content:
                self._extend_timeout(read_timeout)
                sink.write(content)
                offset += len(content)
                if offset >= block_end or offset == size:
                    break
                # a server may send less than requested
                content = sftp.read(await sftp.ask_read(handle, block_end - offset, offset))
            else:
                break
        return offset, size

    async def close(self) -> None:
        """Close the session, and wait for the server for at most a second."""
        channel, self._channel = self._channel, None
        if channel:
            await channel.end()


async def connect(site: Site) -> SftpConnection:
    """Connect and log in to a server whose host key is pinned. Raises a TransportError if that fails."""
    refuse_proxy(site)
    connection = SftpConnection(site)
    await connection.open()
    return connection


def _encoded_path(site: Site, path: str) -> bytes:
    return server_path(site, path).encode("utf-8", "surrogateescape")


def _make_entry(folder: str, name: bytes, attributes: Attributes) -> ListingEntry:
    text = name.decode("utf-8", "surrogateescape")
    # Permissions, and the kind of file in them, are optional: an entry without them is a file unless fetching it fails.
    kind = stat.S_IFMT(attributes.permissions or 0)
    is_file = kind in {0, stat.S_IFREG}
    return ListingEntry(folder, text, attributes.size if is_file else None, from_unix_time(attributes.mtime), is_file)
