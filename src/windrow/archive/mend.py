"""Mend what a crash left: archive files end where the ledger's promise ends."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep, time

from windrow.archive.capture_sink import LARGE, LOCK, PARTS, UNARCHIVED
from windrow.archive.part_file import find_document
from windrow.errors import ArchiveError, ConfigError

FORTNIGHT = 14 * 86400
OWNER = ".ledger"
"""The file of an archive that says which ledger it belongs to."""
_OURS = re.compile(r"windrow-[0-9]+-[0-9]+-[0-9]{5}\.warc(?:\.gz)?|large-.+\.warc|unarchived-.+\.warc(?:\.gz)?")
"""The names of the WARC files that a session writes."""


_PATIENCE = 30.0
"""Seconds that the processes of another run are given to end."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Wait until no process writes to the archive any more: a killed run's fetchers take a moment to end."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        until = monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() > until:
                    raise ArchiveError(f"another process still writes to {folder}") from None
                sleep(0.05)
        yield
    finally:
        os.close(lock)


def refuse_other_ledger(folder: Path, ledger: str, promised: Mapping[str, int]) -> None:
    """Raise ConfigError where an archive belongs to another ledger: to mend it by this one would remove its captures.

    `ledger` is this one's identity, empty for a ledger without a session.
    """
    try:
        owner = (folder / OWNER).read_text()
    except FileNotFoundError:
        owner = ""
    files = [path.name for path in (*folder.glob("*.warc"), *folder.glob("*.warc.gz"))]
    if owner:
        strange = owner != ledger
    elif not ledger:
        strange = bool(files)
    else:  # an archive of a version that did not mark it
        strange = bool(files and promised) and not any(name in promised for name in files)
    if strange:
        what = "that this ledger did not write" if ledger else "and the ledger is a new one"
        holds = f"holds WARC files {what}" if files else "belongs to another ledger"
        hint = "put the ledger back that belongs to it (ledger.path), or name another folder in archive.folder"
        hint += f"; if neither is wanted any more: rm {folder / OWNER}" if not files else ""
        raise ConfigError(f"the archive {folder} {holds}; nothing in it was touched", hint=hint)


def mark_ledger(folder: Path, ledger: str) -> None:
    """Note in an archive which ledger it belongs to."""
    path = folder / OWNER
    if not path.exists() or path.read_text() != ledger:
        part = folder / f"{OWNER}.part"
        part.write_text(ledger)
        part.replace(path)


def mend(folder: Path, promised: Mapping[str, int]) -> list[str]:
    """Cut every file back to the ledger's promise and tell what was done, a line each.

    `promised` maps a file's name to the end of its last capture on the ledger. Bytes past that end
    were written but never put on record, so they will be fetched again; a large transfer that was
    whole but not yet on record becomes a part again, and need not be fetched. Files with other names than
    windrow gives are nobody's business here.
    """
    told = []
    for path in sorted([*folder.glob("*.warc"), *folder.glob("*.warc.gz")]):
        end, size = promised.get(path.name, 0), path.stat().st_size
        if size == end or not (end or _OURS.fullmatch(path.name)):
            continue
        if size < end:
            told.append(f"{path.name} has {size} bytes, the ledger knows of {end}: captures in it are lost")
        elif end:
            with path.open("r+b") as file:
                file.truncate(end)
            told.append(f"{path.name} cut back from {size} to {end} bytes")
        elif path.name.startswith(LARGE):
            told.append(_unfinish(folder, path))
        else:
            path.unlink()
            if not path.name.startswith(UNARCHIVED):  # nobody needs what was in it any more
                told.append(f"{path.name} removed: nothing in it was put on record")
    missing = [name for name in promised if not (folder / name).exists()]
    return told + [f"{name} is missing: captures in it are lost" for name in missing]


def _unfinish(folder: Path, path: Path) -> str:
    """Make a whole large capture a part again."""
    with path.open("rb") as file:
        head = file.read(65536)
    try:
        at, second = find_document(head)
        end = at + second.length + int(second.fields["content-length"])
    except (ArchiveError, KeyError, ValueError):
        path.unlink()
        return f"{path.name} removed: it is not a WARC file"
    with path.open("r+b") as file:
        file.truncate(end)
    path.rename(folder / PARTS / path.name.removeprefix(LARGE))
    return f"{path.name} is a part again: it was not put on record"


def sweep(folder: Path) -> None:
    """Remove parts that no transfer has touched for a fortnight: their files have changed or gone."""
    for path in (folder / PARTS).glob("*.warc"):
        if time() - path.stat().st_mtime > FORTNIGHT:
            path.unlink()
