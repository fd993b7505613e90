"""A folder of this machine as a source: the simplest transport, and the strictest about paths."""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice

from windrow.errors import TerminalFailure, TransientFailure, TransportError
from windrow.fetch.transport import Connection, Sink, TransferEnd, at, moment, replaced, shown, wire
from windrow.formats.listing import ENTRIES, Entries, refuse_too_many
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason

BLOCK = 256 * 2**10
_STEP = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def failure(error: OSError, where: str) -> TransportError:
    """Map what the operating system says about a file or folder."""
    text = f"{where}: {shown(error.strerror or str(error))}"
    match error:
        case FileNotFoundError():
            return TerminalFailure(text, Reason.NOT_FOUND)
        case PermissionError():
            return TerminalFailure(text, Reason.PERMISSION_DENIED)
        case IsADirectoryError() | NotADirectoryError() | OSError(errno=errno.ELOOP | errno.ENXIO):
            return TerminalFailure(text, Reason.NOT_A_FILE)
        case OSError(errno=errno.ENAMETOOLONG):
            return TerminalFailure(text, Reason.NAME_TOO_LONG)
        case _:
            return TransientFailure(text, Reason.DISK_FAILED)


class LocalConnection(Connection):
    """A folder, held open; paths are walked below it and no link is followed."""

    def __init__(self, site: Site) -> None:
        """Open the base folder, which itself may be reached through links."""
        self._site = site
        self._view = memoryview(bytearray(BLOCK))
        try:
            self._base = os.open(site.base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise failure(error, at(site)) from error

    def _open(self, path: str, kind: int) -> int:
        """Walk to a path part by part, so that nothing on the way can lead elsewhere."""
        wire(self._site, path)
        parts = [part for part in path.split("/") if part not in {"", "."}] or ["."]
        here = self._base
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            try:
                there = os.open(part, _STEP | (kind if last else os.O_DIRECTORY), dir_fd=here)
            finally:
                if here != self._base:
                    os.close(here)
            here = there
        return here

    async def list(self, folder: str) -> Entries | None:
        """List a folder; links, pipes and devices are there, but not as files."""
        try:
            number = self._open(folder, os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise failure(error, at(self._site, folder)) from error
        try:
            with os.scandir(number) as found:
                entries = [self._entry(folder, one) for one in islice(found, ENTRIES + 1)]
        except OSError as error:
            raise failure(error, at(self._site, folder)) from error
        finally:
            os.close(number)
        refuse_too_many(len(entries), at(self._site, folder))
        return entries

    def _entry(self, folder: str, one: os.DirEntry[str]) -> ListingEntry:
        told = one.stat(follow_symlinks=False)
        is_file = stat.S_ISREG(told.st_mode)
        return ListingEntry(folder, one.name, told.st_size if is_file else None, moment(told.st_mtime), is_file)

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Read one regular file into the sink, from `sink.start` on."""
        try:
            number = self._open(path, 0)
        except OSError as error:
            raise failure(error, at(self._site, path)) from error
        try:
            told = os.fstat(number)
            if not stat.S_ISREG(told.st_mode):
                raise TerminalFailure(f"{at(self._site, path)}: not a regular file", Reason.NOT_A_FILE)
            if sink.start > told.st_size or replaced(sink, moment(told.st_mtime)):
                sink.restart()
            sink.open(told.st_size)
            self._pump(number, path, sink)
        finally:
            os.close(number)
        return TransferEnd()

    def _pump(self, number: int, path: str, sink: Sink) -> None:
        where = sink.start
        while True:
            try:
                count = os.preadv(number, [self._view], where)
            except OSError as error:
                raise failure(error, at(self._site, path)) from error
            if not count:
                return
            sink.write(self._view[:count])
            where += count

    async def close(self) -> None:
        """Let the base folder go."""
        base, self._base = self._base, -1
        if base >= 0:
            os.close(base)


async def connect(site: Site) -> LocalConnection:
    """Open the folder `site.base`."""
    return LocalConnection(site)
