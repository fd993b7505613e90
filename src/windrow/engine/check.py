"""Check: the archive holds what the ledger promises, and present state follows from the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from windrow.archive import open_capture
from windrow.digest import Hasher
from windrow.engine.indexing import index_name, lines
from windrow.engine.ledger import Ledger
from windrow.errors import ArchiveError
from windrow.model import ArchivePlace

BLOCK = 1 << 20


class Fault(NamedTuple):
    """Something that does not agree, and what mends it."""

    where: str
    what: str
    hint: str = ""


def check_archive(ledger: Ledger, folder: Path) -> Iterator[Fault | int]:
    """Read every capture back and compare its digest; yield faults, and the bytes of each good one."""
    for warc, offset, length, digest, size, key in ledger.captures.held():
        hasher = Hasher()
        hint = f"restore {warc} from a backup: it held {key}"
        try:
            with open_capture(folder, ArchivePlace(warc, offset, length)) as view:
                while block := view.read(BLOCK):
                    hasher.update(block)
        except (ArchiveError, OSError) as error:
            yield Fault(f"{warc} at {offset}", str(error), hint)
            continue
        if hasher.digest() != digest or hasher.size != size:
            yield Fault(f"{warc} at {offset}", f"has {hasher.digest()}, the ledger says {digest}", hint)
        else:
            yield hasher.size


def check_index(ledger: Ledger, folder: Path) -> Iterator[Fault]:
    """Compare every session's index with what the ledger has in it."""
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if not ledger.sessions.has_ended(session):
            continue
        if not path.exists():
            yield Fault(path.name, "is missing", "windrow run makes it anew")
        elif not _same(path, lines(ledger, session)):
            yield Fault(path.name, "is not what the ledger says", f"rm {path}; windrow run makes it anew")


def _same(path: Path, lines: Iterable[str]) -> bool:
    """Tell whether a file holds these lines and no others."""
    with path.open("rb") as file:
        return all(one == told for one, told in zip_longest(file, (f"{line}\n".encode() for line in lines)))


def check_standing(ledger: Ledger) -> Iterator[Fault]:
    """Compare where items stand with their last move, offers with the last listing, and addresses with their visits."""
    for one in ledger.items.wrong():
        stands, moved = [one.phase, one.status], [one.moved_phase, one.moved_status]
        yield Fault(f"item {one.item}", f"stands at {stands}, its last move was to {moved}")
    for offer in ledger.listings.wrong():
        said = f"present is {offer.present}, the last listing said {offer.event}"
        yield Fault(f"{offer.source}, item {offer.item}", said)
    for address in ledger.addresses.wrong():
        known = f"due at {address.due}, with capture {address.capture}"
        yield Fault(address.url, f"is {known}; it has {address.visits} visits, the last capture is {address.last}")
