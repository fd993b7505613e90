"""A session over SFTP by asyncssh: pinned host keys, one login, its errors as reasons."""

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

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.dial import Foreign, dial, direct, network
from windrow.fetch.secret import reveal
from windrow.fetch.sftp_client import Attributes, SftpClient
from windrow.fetch.transport import Connection, Sink, TransferEnd, at, moment, replaced, shown, wire
from windrow.formats.listing import ENTRIES, Entries, refuse_too_many
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

# The fastest ciphers first (AES with hardware, which authenticate in the same pass).
_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
# A server may own a key of each kind, of which one is pinned.
_KINDS = ("default", "ssh-ed25519", "ecdsa-sha2-*", "rsa-sha2-*")

Alien = (asyncssh.Error, asyncssh.KeyImportError, asyncssh.KeyEncryptionError, *Foreign)
"""What asyncssh raises while a session lives: all of these `failure` knows."""

_REASONS: tuple[tuple[type[BaseException], type[TransportError], Reason], ...] = (
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


def failure(error: BaseException, where: str) -> TransportError:
    """Map what asyncssh and sockets raise while a session lives."""
    for known, kind, reason in _REASONS:
        if isinstance(error, known):
            return kind(f"{where}: {shown(str(error)) or type(error).__name__}", reason)
    return network(error, where, open_line=True)


@dataclass(slots=True)
class SftpChannel:
    """An SSH connection with its SFTP session."""

    connection: asyncssh.SSHClientConnection
    sftp: SftpClient

    def drop(self) -> None:
        """Close at once."""
        self.connection.abort()

    async def end(self) -> None:
        """Close, waiting a second at most for the goodbye."""
        self.sftp.exit()
        self.connection.close()
        try:
            async with asyncio.timeout(1):
                await self.connection.wait_closed()
        except TimeoutError:
            self.drop()
            await asyncio.sleep(0)  # the socket is closed in the loop's next turn


class _Client(asyncssh.SSHClient):
    """Accept the pinned host keys only, and remember the key that was shown."""

    def __init__(self, pins: tuple[str, ...]) -> None:
        self._pins = pins
        self.seen = ""

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Compare fingerprints in OpenSSH's spelling, `SHA256:...`."""
        del host, addr, port
        self.seen = key.get_fingerprint("sha256")
        return self.seen in self._pins


async def open_line(site: Site) -> SftpChannel:
    """Connect, check the host key, log in and start SFTP."""
    where = at(site)
    seen = ""
    keys, password = _credentials(site, where)
    for kind in _KINDS:
        client = _Client(site.host_keys)
        try:
            async with asyncio.timeout(site.timeout):
                return await _start(site, client, kind, keys, password)
        except asyncssh.HostKeyNotVerifiable:
            seen = seen or client.seen
            if not site.host_keys:
                break
        except Alien as error:
            if seen and client.seen not in site.host_keys:
                continue  # the server has no key of this kind, and says so in one way or another
            raise failure(error, where) from error
    raise _stranger(site, seen)


async def _start(
    site: Site, client: _Client, kind: str, keys: list[asyncssh.SSHKey] | None, password: str | None
) -> SftpChannel:
    sock = await asyncio.to_thread(dial, site, 22)
    try:
        connection = await asyncssh.connect(
            sock=sock,
            config=None,
            client_factory=lambda: client,
            known_hosts=([], [], []),
            server_host_key_algs=kind,
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


def _credentials(site: Site, where: str) -> tuple[list[asyncssh.SSHKey] | None, str | None]:
    """Return the private key (whose passphrase is then the secret), or the password."""
    secret = reveal(site.secret) if site.secret else None
    if site.key is None:
        return None, secret
    try:
        return [asyncssh.import_private_key(reveal(site.key) + "\n", secret)], None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        message = str(error)
        locked = secret is not None and ("decrypt" in message or "assphrase" in message)
        reason = Reason.LOGIN_FAILED if locked else Reason.NO_SECRET
        text = f"{where}: the key at {site.key.place} cannot be used: {shown(message)}"
        raise TerminalFailure(text, reason) from error


def _stranger(site: Site, seen: str) -> TerminalFailure:
    """Say which key was shown, and how to trust it once it was compared with the owner's."""
    hint = f"compare it with the server's owner, then: windrow config trust NAME {seen}"
    if site.host_keys:
        text = f"{at(site)}: the host key is {seen}, pinned is {', '.join(site.host_keys)}"
        return TerminalFailure(text, Reason.HOST_KEY_CHANGED, hint=hint)
    return TerminalFailure(f"{at(site)}: unknown host key {seen}", Reason.HOST_KEY_UNKNOWN, hint=hint)


AHEAD = 4 * 2**20
"""Bytes of one file that are asked for before the first of them came."""

_BREAKING = {Reason.TIMEOUT, Reason.INTERRUPTED, Reason.PROTOCOL_ERROR}  # nothing more will come over this line


class SftpConnection(Connection):
    """A session that comes back: after a break the next call opens a new one by itself."""

    def __init__(self, site: Site) -> None:
        """Prepare for a site; `open` connects."""
        self._site = site
        self._line: SftpChannel | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> SftpChannel:
        """Connect and log in, unless there is a line that lives."""
        if self._line is None or self._line.connection.is_closed():
            async with self._opening:
                if self._line is None or self._line.connection.is_closed():
                    self._line = await open_line(self._site)
        return self._line

    @contextmanager
    def _mapped(self, line: SftpChannel, path: str) -> Iterator[None]:
        try:
            yield
        except Alien as error:
            mapped = failure(error, at(self._site, path))
            if mapped.reason in _BREAKING:
                self._line = None if self._line is line else self._line
                line.drop()
            raise mapped from error

    async def list(self, folder: str) -> Entries | None:
        """List a folder; links are there, but not as files (attributes are the link's own)."""
        whole = _spelled(self._site, folder)
        line = await self.open()
        entries: Entries = []
        with self._mapped(line, folder):
            try:
                end = asyncio.get_running_loop().time() + self._site.listing_timeout
                async with asyncio.timeout(self._site.timeout) as bound:
                    handle = await line.sftp.open_folder(whole)
                    while names := await line.sftp.names(handle):
                        entries += [_entry(folder, name, attributes) for name, attributes in names]
                        if len(entries) > ENTRIES + 2:
                            break
                        self._alive(bound, end)
                    line.sftp.close(handle)
            except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath):
                return None
        entries = [entry for entry in entries if entry.name not in {".", ".."}]
        refuse_too_many(len(entries), at(self._site, folder))
        return entries

    def _alive(self, bound: asyncio.Timeout, end: float = math.inf) -> None:
        """Give the server its time anew, and a quarter more: then not every block of a file has to set an alarm."""
        now = asyncio.get_running_loop().time()
        if (bound.when() or 0.0) - now < self._site.timeout:
            bound.reschedule(min(now + 1.25 * self._site.timeout, end))

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get one file, in order, from `sink.start` on.

        Bytes that are not as many as the server announced are a SIZE_MISMATCH, which may pass: the
        file may be growing.
        """
        whole = _spelled(self._site, path)
        line = await self.open()
        with self._mapped(line, path):
            async with asyncio.timeout(1.25 * self._site.timeout) as bound:
                handle = await line.sftp.open(whole)
                try:
                    self._alive(bound)
                    received, size = await self._pump(line.sftp, handle, sink, bound)
                finally:
                    line.sftp.close(handle)
        if size is not None and received != size:
            raise TransientFailure(
                f"{at(self._site, path)}: {received:,} bytes came, {size:,} were announced", Reason.SIZE_MISMATCH
            )
        return TransferEnd()

    async def _pump(
        self, sftp: SftpClient, handle: bytes, sink: Sink, bound: asyncio.Timeout
    ) -> tuple[int, int | None]:  # fmt: skip
        """Read to the end; return where that was, and the size that the server told."""
        # The first read travels beside the question for the size: a small file is one round trip.
        block, waiting = sftp.block, deque([sftp.ask_read(handle, sftp.block, sink.start)])
        if sink.listed and sink.listed < block and not sink.start:
            content = sftp.read(await waiting[0])
            if len(content) == sink.listed:
                # More was asked for than the listing told, and just that came: this is the whole file, and needs no
                # question more. Of a thousand small files, most are got so.
                sink.open(sink.listed)
                self._alive(bound)
                sink.write(content)
                return sink.listed, sink.listed
        attributes = await sftp.stat(handle)
        size = attributes.size
        if (size is not None and sink.start > size) or replaced(sink, moment(attributes.mtime)):
            sink.restart()
            waiting = deque([sftp.ask_read(handle, block, 0)])
        sink.open(size)
        where, asked = sink.start, sink.start + block
        while waiting:
            while (size is None or asked < size) and len(waiting) * block < AHEAD:
                waiting.append(sftp.ask_read(handle, block, asked))
                asked += block
            content = sftp.read(await waiting.popleft())
            end = where + block
            while content:
                self._alive(bound)
                sink.write(content)
                where += len(content)
                if where >= end or where == size:
                    break
                # a server may send less than asked
                content = sftp.read(await sftp.ask_read(handle, end - where, where))
            else:
                break
        return where, size

    async def close(self) -> None:
        """Say goodbye, for a second at most."""
        line, self._line = self._line, None
        if line:
            await line.end()


async def connect(site: Site) -> SftpConnection:
    """Open a session, logged in, to a server whose host key is pinned."""
    direct(site)
    connection = SftpConnection(site)
    await connection.open()
    return connection


def _spelled(site: Site, path: str) -> bytes:
    """Return a whole path as requests spell it."""
    return wire(site, path).encode("utf-8", "surrogateescape")


def _entry(folder: str, name: bytes, attributes: Attributes) -> ListingEntry:
    text = name.decode("utf-8", "surrogateescape")
    is_file = attributes.permissions is not None and stat.S_ISREG(attributes.permissions)
    return ListingEntry(folder, text, attributes.size if is_file else None, moment(attributes.mtime), is_file)
