"""SFTP, by the extra `sftp`: asyncssh is imported only where a source needs it."""

from __future__ import annotations

from typing import ClassVar

from windrow.errors import MissingExtra
from windrow.fetch.dial import direct
from windrow.fetch.transport import Connection
from windrow.model import Site


class Sftp:
    """Files over SSH, `sftp`; several `get` may run at once on one connection, which is its speed."""

    schemes: ClassVar[frozenset[str]] = frozenset({"sftp"})
    blocking: ClassVar[bool] = False
    parallel: ClassVar[int] = 16

    async def connect(self, site: Site) -> Connection:
        """Open a session, logged in, to a server whose host key is pinned."""
        direct(site)
        try:
            from windrow.fetch.sftp_session import SftpConnection  # noqa: PLC0415 - the extra may be absent
        except ModuleNotFoundError as error:
            if error.name and error.name.startswith("windrow"):
                raise
            raise MissingExtra("SFTP", "sftp") from error
        connection = SftpConnection(site)
        await connection.open()
        return connection
