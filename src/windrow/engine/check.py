"""Check whether archive, ledger and the archive's CDXJ indexes agree; the indexes are written here too."""

from __future__ import annotations

import mimetypes
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import groupby, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from windrow.archive import open_capture
from windrow.contract import Collection, Listing
from windrow.contract.registry import installed
from windrow.digest import Hasher
from windrow.errors import ArchiveError
from windrow.formats.cdx import format_cdxj_line
from windrow.formats.warc import escape_target
from windrow.ledger import Ledger
from windrow.ledger.typed.items import ItemEvent, SeenItem
from windrow.model import ArchivePlace, Status
from windrow.reasons import Reason

RULES = "2"
"""The version of the rules for index lines; an archive whose indexes follow older rules gets new ones."""

_MARK = ".index-rules"


def index_name(session: int) -> str:
    """Return the file name of a session's index, which is beside its WARC files."""
    return f"windrow-{session:06}.cdxj"


def index_archive(ledger: Ledger, folder: Path) -> None:
    """Write the index of every session that has captures but no index yet; a crash leaves no partial index."""
    with suppress(OSError):
        _remove_outdated(folder)
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if path.exists():
            continue
        part = path.with_suffix(".part")
        # If the disk is full now, the next session writes it.
        with suppress(OSError, sqlite3.Error):
            with part.open("w", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in lines(ledger, session))
            part.replace(path)


def _remove_outdated(folder: Path) -> None:
    """Remove indexes that follow older rules, and write the mark of the current rules."""
    mark = folder / _MARK
    if not folder.is_dir() or (mark.exists() and mark.read_text(encoding="ascii") == RULES):
        return
    for path in folder.glob("windrow-*.cdxj"):
        path.unlink()
    mark.write_text(RULES, encoding="ascii")


def lines(ledger: Ledger, *sessions: int) -> Iterator[str]:
    """Yield an index line for every capture of the sessions, sorted; they are sorted on disk, since they may be many.

    Responses 304 are left out: replay tools would show an empty page as the latest version.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("BEGIN")
        database.execute("CREATE TABLE line (text TEXT NOT NULL)")
        for session in sessions:
            database.executemany("INSERT INTO line VALUES (?)", ((line,) for line in _lines(ledger, session)))
        for (text,) in database.execute("SELECT text FROM line ORDER BY text"):
            yield text


def _lines(ledger: Ledger, session: int) -> Iterator[str]:
    """Yield a session's index lines, unsorted; file names are relative to the archive."""
    for capture in ledger.captures.of_session(session):
        kind = capture.mime or mimetypes.guess_type(capture.address, strict=False)[0] or "application/octet-stream"
        mime = "warc/revisit" if capture.revisit else kind
        place = (capture.warc, capture.offset, capture.length)
        yield format_cdxj_line(
            escape_target(capture.address), capture.at, place, status=capture.status, mime=mime, digest=capture.digest
        )


BLOCK = 1 << 20


class Fault(NamedTuple):
    """A disagreement: where it is, what is wrong, and how to repair it."""

    location: str
    problem: str
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
    """Compare the index of every session that has ended with the captures on the ledger."""
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if not ledger.sessions.has_ended(session):
            continue
        if not path.exists():
            yield Fault(path.name, "is missing", "windrow run makes it anew")
        elif not _has_lines(path, lines(ledger, session)):
            yield Fault(path.name, "differs from the ledger", f"rm {path}; windrow run makes it anew")


def _has_lines(path: Path, expected_lines: Iterable[str]) -> bool:
    """Return whether a file holds exactly these lines."""
    with path.open("rb") as file:
        return all(
            file_line == line
            for file_line, line in zip_longest(file, (f"{line}\n".encode() for line in expected_lines))
        )


def check_states(ledger: Ledger) -> Iterator[Fault]:
    """Compare mirrors with the last listing, and addresses with their attempts."""
    for mirror in ledger.mirrors.inconsistent():
        message = f"present is {mirror.present}, the last listing said {mirror.event}"
        yield Fault(f"{mirror.source}, file {mirror.file}", message)
    for address in ledger.addresses.inconsistent():
        state_text = f"due at {address.due}, with capture {address.capture}"
        yield Fault(
            address.url, f"is {state_text}; it has {address.attempts} attempts, the last capture is {address.last}"
        )


TOGETHER = 1_000
"""Items that are looked up together."""

Waits = tuple[str, Status] | None
"""The step that an item waits for, failed at or was cancelled before, with the status; None if it is done."""


def check_steps(ledger: Ledger) -> Iterator[Fault]:
    """Compare the steps that items wait for with the facts that they follow from."""
    for name, collection in sorted(installed().items()):
        numbers = ledger.items.numbers(name)
        for start in range(0, len(numbers), TOGETHER):
            yield from _wrong_steps(ledger, collection, numbers[start : start + TOGETHER])


def _wrong_steps(ledger: Ledger, collection: Collection, items: Sequence[int]) -> Iterator[Fault]:
    rows = groupby(ledger.items.events(items), attrgetter("item"))
    events = {number: [*group] for number, group in rows}
    for item in ledger.items.seen(items):
        actual = (item.step, item.status) if item.step is not None and item.status else None
        expected = _waits_for(collection, item, events.get(item.item, []))
        if actual != expected:
            yield Fault(
                f"item {item.item}",
                f"waits for {_describe_waits(actual)}; by its facts for {_describe_waits(expected)}",
            )


def _describe_waits(waits: Waits) -> str:
    return "nothing" if waits is None else f"{waits[0] or 'a good name'} ({waits[1].name.lower()})"


def _waits_for(collection: Collection, item: SeenItem, events: Iterable[ItemEvent]) -> Waits:
    """Return the step that an item waits for, derived from the events on the ledger."""
    listing = collection.discovery if isinstance(collection.discovery, Listing) else None
    fetch = listing.fetch_phase if listing and item.file is None and item.kind == listing.kind else ""
    start = fetch or collection.step_after(item.kind) or collection.phases[0]
    waits: Waits = ("", Status.FAILED) if item.reason else (start, Status.PENDING)
    for event in events:
        match event.event:
            case "end":
                next_step = collection.step_after(item.kind)
                waits = (fetch, Status.FAILED) if event.reason else (next_step, Status.PENDING) if next_step else None
            case "reading":
                next_step = collection.step_after(item.kind, event.step)
                waits = (
                    (event.step, Status.FAILED) if event.reason else (next_step, Status.PENDING) if next_step else None
                )
            case "decision" if fetch and event.reason is Reason.RETRIED:
                waits = fetch, Status.PENDING
            case "decision":
                waits = waits[0] if waits else "", Status.CANCELLED
            case _:
                pass
    return waits
