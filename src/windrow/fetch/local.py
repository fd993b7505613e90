"""A folder on this machine as a source. Symbolic links below it are not followed."""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice

from windrow.clock import from_unix_time
from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.transport import Connection, Sink, TransferEnd, is_replaced, printable, public_address, server_path
from windrow.formats.listing import MAX_ENTRIES, Entries, refuse_too_many
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

BLOCK_SIZE = 256 * 2**10  # bytes
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def map_error(error: OSError, address: str) -> TransportError:
    """Return the TransportError for an error of the file system about the file or folder with this address."""
    message = f"{address}: {printable(error.strerror or str(error))}"
    match error:
        case FileNotFoundError():
            return TerminalFailure(message, Reason.NOT_FOUND)
        case PermissionError():
            return TerminalFailure(message, Reason.PERMISSION_DENIED)
        case IsADirectoryError() | NotADirectoryError() | OSError(errno=errno.ELOOP | errno.ENXIO):
            return TerminalFailure(message, Reason.NOT_A_FILE)
        case OSError(errno=errno.ENAMETOOLONG):
            return TerminalFailure(message, Reason.NAME_TOO_LONG)
        case _:
            return TransientFailure(message, Reason.DISK_FAILED)


class LocalConnection(Connection):
    """An open folder. Paths are opened below it without following symbolic links."""

    def __init__(self, site: Site) -> None:
        """Open the base folder, whose own path may have symbolic links. Raises a TransportError if that fails."""
        self._site = site
        self._view = memoryview(bytearray(BLOCK_SIZE))
        try:
            self._base = os.open(site.base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise map_error(error, public_address(site)) from error

    def _open(self, path: str, last_flags: int) -> int:
        """Open a path without following symbolic links. `last_flags` are added to the flags for its last part."""
        server_path(self._site, path)
        parts = [part for part in path.split("/") if part not in {"", "."}] or ["."]
        folder = self._base
        for index, part in enumerate(parts):
            is_last = index == len(parts) - 1
            try:
                descriptor = os.open(part, _OPEN_FLAGS | (last_flags if is_last else os.O_DIRECTORY), dir_fd=folder)
            finally:
                if folder != self._base:
                    os.close(folder)
            folder = descriptor
        return folder

    async def list(self, folder: str) -> Entries | None:
        """List a folder, or return None if it does not exist. Links and devices are listed, but not as files.

        Raises a TransportError.
        """
        try:
            descriptor = self._open(folder, os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise map_error(error, public_address(self._site, folder)) from error
        try:
            with os.scandir(descriptor) as directory:
                all_entries = (self._entry(folder, entry) for entry in islice(directory, MAX_ENTRIES + 1))
                entries = [entry for entry in all_entries if entry]
        except OSError as error:
            raise map_error(error, public_address(self._site, folder)) from error
        finally:
            os.close(descriptor)
        refuse_too_many(len(entries), public_address(self._site, folder))
        return entries

    def _entry(self, folder: str, entry: os.DirEntry[str]) -> ListingEntry | None:
        """Return the entry of a file, or None if it was removed meanwhile, as when an upload is renamed at its end."""
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_file = stat.S_ISREG(status.st_mode)
        return ListingEntry(
            folder, entry.name, status.st_size if is_file else None, from_unix_time(status.st_mtime), is_file
        )

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Copy a file into the sink, from `sink.start` on if it is unchanged. Raises a TransportError if that fails.

        Links, devices and folders are refused with NOT_A_FILE.
        """
        try:
            descriptor = self._open(path, 0)
        except OSError as error:
            raise map_error(error, public_address(self._site, path)) from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise TerminalFailure(f"{public_address(self._site, path)} is not a regular file", Reason.NOT_A_FILE)
            if sink.start > status.st_size or is_replaced(sink, from_unix_time(status.st_mtime)):
                sink.restart()
            sink.open(status.st_size)
            self._copy(descriptor, path, sink)
        finally:
            os.close(descriptor)
        return TransferEnd()

    def _copy(self, descriptor: int, path: str, sink: Sink) -> None:
        offset = sink.start
        while True:
            try:
                count = os.preadv(descriptor, [self._view], offset)
            except OSError as error:
                raise map_error(error, public_address(self._site, path)) from error
            if not count:
                return
            sink.write(self._view[:count])
            offset += count

    async def close(self) -> None:
        """Close the base folder."""
        base, self._base = self._base, -1
        if base >= 0:
            os.close(base)


async def connect(site: Site) -> LocalConnection:
    """Open the folder `site.base`. Raises a TransportError if that fails."""
    return LocalConnection(site)
