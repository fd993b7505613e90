"""The SSH line below SFTP: pinned host keys, one login, asyncssh's errors as reasons."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import asyncssh

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.model import Site
from windrow.reasons import Reason
from windrow.transports.dial import dial
from windrow.transports.path import at, shown
from windrow.transports.secret import reveal
from windrow.transports.trouble import Foreign, network

# The fastest ciphers first (AES with hardware, which authenticate in the same pass).
_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
# A server may own a key of each kind, of which one is pinned.
_KINDS = ("default", "ssh-ed25519", "ecdsa-sha2-*", "rsa-sha2-*")
_LEAST, _MOST = 32 * 2**10, 256 * 2**10

Alien = (asyncssh.Error, asyncssh.KeyImportError, asyncssh.KeyEncryptionError, *Foreign)
"""What asyncssh raises while a session lives: all of these `failure` knows."""

_REASONS: tuple[tuple[type[BaseException], type[TransportError], Reason], ...] = (
    (asyncssh.PermissionDenied, TerminalFailure, Reason.WRONG_PASSWORD),
    (asyncssh.IllegalUserName, TerminalFailure, Reason.WRONG_PASSWORD),
    (asyncssh.KeyEncryptionError, TerminalFailure, Reason.WRONG_PASSWORD),
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
    """An SSH connection with its SFTP session; `block` is what one read may ask for, in bytes."""

    connection: asyncssh.SSHClientConnection
    sftp: asyncssh.SFTPClient
    block: int

    def drop(self) -> None:
        """Close at once."""
        self.connection.abort()

    async def end(self) -> None:
        """Close, waiting a second at most for the goodbye."""
        self.sftp.exit()
        self.connection.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self.connection.wait_closed()


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
            site.host,
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
        sftp = await connection.start_sftp_client(path_errors="surrogateescape")
    except BaseException:
        connection.abort()
        raise
    return SftpChannel(connection, sftp, min(max(sftp.limits.max_read_len, _LEAST), _MOST))


def _credentials(site: Site, where: str) -> tuple[list[asyncssh.SSHKey] | None, str | None]:
    """Return the private key (whose passphrase is then the secret), or the password."""
    secret = reveal(site.secret) if site.secret else None
    if site.key is None:
        return None, secret
    try:
        return [asyncssh.import_private_key(reveal(site.key) + "\n", secret)], None
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
        told = str(error)
        locked = secret is not None and ("decrypt" in told or "assphrase" in told)
        reason = Reason.WRONG_PASSWORD if locked else Reason.NO_SECRET
        text = f"{where}: the key at {site.key.place} cannot be used: {shown(told)}"
        raise TerminalFailure(text, reason) from error


def _stranger(site: Site, seen: str) -> TerminalFailure:
    """Say which key was shown, and how to trust it once it was compared with the owner's."""
    hint = f"compare it with the server's owner, then: windrow config trust NAME {seen}"
    if site.host_keys:
        text = f"{at(site)}: the host key is {seen}, pinned is {', '.join(site.host_keys)}"
        return TerminalFailure(text, Reason.HOST_KEY_CHANGED, hint=hint)
    return TerminalFailure(f"{at(site)}: unknown host key {seen}", Reason.HOST_KEY_UNKNOWN, hint=hint)
