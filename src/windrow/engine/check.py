"""Check: the archive holds what the ledger promises, and present state follows from the facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from windrow.digest import Hasher
from windrow.engine.ledger import Ledger
from windrow.errors import ArchiveError
from windrow.model import Place
from windrow.stores.archive import open_capture

BLOCK = 1 << 20


class Fault(NamedTuple):
    """Something that does not agree."""

    where: str
    what: str


def check_archive(ledger: Ledger, folder: Path) -> Iterator[Fault | int]:
    """Read every capture back and compare its digest; yield faults, and the bytes of each good one."""
    text = "SELECT warc, place_offset, place_length, digest, size FROM fetch_end WHERE reason IS NULL AND revisit = 0"
    for warc, offset, length, digest, size in ledger.cursor(f"{text} ORDER BY warc, place_offset"):
        hasher = Hasher()
        try:
            with open_capture(folder, Place(warc, offset, length)) as view:
                while block := view.read(BLOCK):
                    hasher.update(block)
        except (ArchiveError, OSError) as error:
            yield Fault(f"{warc} at {offset}", str(error))
            continue
        if hasher.digest() != digest or hasher.size != size:
            yield Fault(f"{warc} at {offset}", f"has {hasher.digest()}, the ledger says {digest}")
        else:
            yield hasher.size


def check_standing(ledger: Ledger) -> Iterator[Fault]:
    """Compare where items stand with their last move, and offers with the last listing."""
    text = (
        "SELECT s.item, s.phase, s.status, m.phase, m.status FROM standing s JOIN move m ON m.seq ="
        " (SELECT max(k.seq) FROM move k WHERE k.item = s.item) WHERE s.phase <> m.phase OR s.status <> m.status"
    )
    for item, *states in ledger.cursor(text):
        yield Fault(f"item {item}", f"stands at {states[:2]}, its last move was to {states[2:]}")
    text = (
        "SELECT o.source, o.item, o.present, l.event FROM offering o JOIN listing l ON l.seq = (SELECT max(k.seq)"
        " FROM listing k WHERE k.source = o.source AND k.item = o.item) WHERE o.present <> (l.event <> 'gone')"
    )
    for source, item, present, event in ledger.cursor(text):
        yield Fault(f"{source}, item {item}", f"present is {present}, the last listing said {event}")
