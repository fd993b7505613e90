"""Check: the archive holds what the ledger promises, and present state follows from the facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from windrow.digest import Hasher
from windrow.engine.indexing import index_name, lines
from windrow.engine.ledger import Ledger
from windrow.errors import ArchiveError
from windrow.model import Place
from windrow.stores.archive import open_capture

BLOCK = 1 << 20


class Fault(NamedTuple):
    """Something that does not agree, and what mends it."""

    where: str
    what: str
    hint: str = ""


def check_archive(ledger: Ledger, folder: Path) -> Iterator[Fault | int]:
    """Read every capture back and compare its digest; yield faults, and the bytes of each good one."""
    text = (
        "SELECT e.warc, e.place_offset, e.place_length, e.digest, e.size, i.item_key FROM fetch_end e"
        " JOIN item i ON i.seq = e.item WHERE e.reason IS NULL AND e.revisit = 0 UNION ALL"
        " SELECT v.warc, v.place_offset, v.place_length, v.digest, v.size, coalesce(a.url, v.url) FROM visit v"
        " LEFT JOIN address a ON a.digest = v.address WHERE v.warc <> '' AND v.revisit = 0 ORDER BY 1, 2"
    )
    for warc, offset, length, digest, size, key in ledger.cursor(text):
        hasher = Hasher()
        hint = f"restore {warc} from a backup: it held {key}"
        try:
            with open_capture(folder, Place(warc, offset, length)) as view:
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
    for session in [row[0] for row in ledger.ask("sessions_with_captures")]:
        path = folder / index_name(session)
        if not ledger.ask("session_ended", session):
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
    yield from _check_addresses(ledger)


def _check_addresses(ledger: Ledger) -> Iterator[Fault]:
    """Compare when addresses are due, and what they gave last, with the visits to them.

    Not those that are never due: they are known from elsewhere, or were taken down. Nor what others asked, which took
    no time that we know of.
    """
    last = "max(CASE WHEN v.status = 200 AND v.warc <> '' THEN v.seq ELSE 0 END)"
    text = (
        "SELECT * FROM (SELECT a.url, a.due AS due, a.capture AS capture, count(v.seq) AS visits,"
        f" {last} AS last FROM address a LEFT JOIN visit v ON v.address = a.digest"
        " AND (v.status IS NULL OR v.seconds > 0) WHERE a.due IS NOT NULL GROUP BY a.digest)"
        " WHERE (visits = 0 AND due > 1) OR capture <> last"
    )
    for url, due, capture, visits, found in ledger.cursor(text):
        known = f"due at {due}, with capture {capture}"
        yield Fault(url, f"is {known}; it has {visits} visits, the last capture is {found}")
