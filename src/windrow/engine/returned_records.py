"""Find and erase records that were taken down and are in the archive again, because a WARC file was restored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windrow.clock import now
from windrow.errors import ArchiveError
from windrow.formats.text import counted
from windrow.ledger import Ledger

if TYPE_CHECKING:
    from windrow.archive.erase import ErasedSpan


def find_returned(ledger: Ledger, folder: Path) -> dict[str, list[ErasedSpan]]:
    """Return a dict from WARC file to the records that finished takedowns erased from it, if it has them again.

    Of the records that a takedown erased from a file, only the first is read: a copy of the file has all or none.
    Files that are missing or cannot be read are left out.
    """
    if not (first_erased := [*ledger.takedowns.first_erased()]):
        return {}
    from windrow.archive.erase import ErasedSpan, has_record  # noqa: PLC0415 `windrow status` seldom needs it

    returned: dict[str, list[ErasedSpan]] = {}
    for tombstone, warc, *span in first_erased:
        if has_record(folder / warc, ErasedSpan(*span)):
            places = ledger.takedowns.erased_places(tombstone, warc)
            returned.setdefault(warc, []).extend(ErasedSpan(place.offset, place.length) for place in places)
    return returned


def describe_returned(ledger: Ledger, folder: Path) -> list[str]:
    """Return a message for each WARC file that has records again that were taken down, with the command that helps."""
    return [
        f"{folder / warc} has {counted(len(spans), 'record')} again that were taken down: windrow run erases them"
        for warc, spans in find_returned(ledger, folder).items()
    ]


def erase_returned(ledger: Ledger, folder: Path) -> tuple[list[str], list[str]]:
    """Erase again the records that `find_returned` returns.

    Return a message for each file from which they were erased, and one for each file that could not be written.
    """
    from windrow.archive.erase import erase  # noqa: PLC0415 `windrow status` does not need it

    erased, errors = [], []
    for warc, spans in find_returned(ledger, folder).items():
        records = f"{counted(len(spans), 'record')} that were taken down"
        try:
            erase(folder, warc, spans, now())
        except ArchiveError as error:
            errors.append(f"{warc} has {records} again, and they cannot be erased: {error}; correct this: windrow run")
        else:
            erased.append(f"{warc}: erased {records}, since a copy of the file was restored")
    return erased, errors
