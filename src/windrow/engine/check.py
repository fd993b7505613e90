"""Check the archive, its CDXJ indexes and the ledger, and write the indexes."""

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
from windrow.engine.archive_losses import UNREADABLE_FILE, is_unreadable
from windrow.errors import ArchiveError
from windrow.formats.cdx import format_cdxj_line as format_line
from windrow.formats.warc import escape_target
from windrow.ledger import Ledger
from windrow.ledger.typed.items import ItemEvent, SeenItem
from windrow.model import ArchivePlace, Status
from windrow.private_files import write_whole
from windrow.reasons import Reason

INDEX_VERSION = "2"
"""The version of the rules for index lines. Indexes that follow another version are replaced."""

_VERSION_FILE = ".index-rules"


def index_name(session: int) -> str:
    """Return the name of the file with a session's index, in the folder of the archive."""
    return f"windrow-{session:06}.cdxj"


def index_archive(ledger: Ledger, folder: Path) -> None:
    """Write the missing index of each session with captures; remove all indexes of another `INDEX_VERSION` first.

    If a file cannot be written or removed, no error is raised, and the next call tries again.
    """
    with suppress(OSError):
        _remove_outdated(folder)
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if path.exists():
            continue
        with suppress(OSError, sqlite3.Error):
            write_whole(path, (f"{line}\n" for line in index_lines(ledger, session)))


def _remove_outdated(folder: Path) -> None:
    version_file = folder / _VERSION_FILE
    if not folder.is_dir() or (version_file.exists() and version_file.read_text(encoding="ascii") == INDEX_VERSION):
        return
    for path in folder.glob("windrow-*.cdxj"):
        path.unlink()
    write_whole(version_file, (INDEX_VERSION,))


def index_lines(ledger: Ledger, *sessions: int) -> Iterator[str]:
    """Yield the index lines of the captures of these sessions, sorted.

    There is no line for a response with status 304 from an address, since viewers would show an empty page, for bytes
    that are not archived, or for a capture that was taken from another collection.
    """
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("BEGIN")
        database.execute("CREATE TABLE line (text TEXT NOT NULL)")
        for session in sessions:
            database.executemany("INSERT INTO line VALUES (?)", ((line,) for line in _unsorted_lines(ledger, session)))
        for (text,) in database.execute("SELECT text FROM line ORDER BY text"):
            yield text


def _unsorted_lines(ledger: Ledger, session: int) -> Iterator[str]:
    for capture in ledger.captures.of_session(session):
        mime = capture.mime or mimetypes.guess_type(capture.address, strict=False)[0] or "application/octet-stream"
        mime = "warc/revisit" if capture.revisit else mime
        place = (capture.warc, capture.offset, capture.length)
        uri = escape_target(capture.address)
        yield format_line(uri, capture.at, place, status=capture.status, mime=mime, digest=capture.digest)


BLOCK_BYTES = 1 << 20
"""The maximum number of bytes of a capture that are read at a time."""


class Fault(NamedTuple):
    """Something wrong in stored data or files: where it is, what is wrong, and how to repair it ("" if not known)."""

    location: str
    problem: str
    hint: str = ""


def check_values(ledger: Ledger) -> list[Fault]:
    """Return a fault for each column of the ledger that has values of the wrong type."""
    hint = "restore a copy of the ledger"
    return [Fault("the ledger", problem, hint) for problem in ledger.wrong_values()]


def check_archive(ledger: Ledger, folder: Path) -> Iterator[Fault | int]:
    """Compare the bytes of the captures in the archive with the digests and sizes on the ledger.

    Yield a fault for a capture that differs, or its size in bytes if it does not. Captures without bytes of their own
    (revisits) are left out, and so are captures of failed attempts at listed files. Also yield a fault for what is
    named like a WARC file but is not a file, such as a named pipe.
    """
    for path in sorted([*folder.glob("*.warc"), *folder.glob("*.warc.gz")]):
        if not path.is_file():
            yield Fault(path.name, "is not a file, although it is named like a WARC file", f"ls -ld {path}")
    for warc, offset, length, digest, size, key in ledger.captures.held():
        hasher = Hasher()
        location, hint = f"the record at byte {offset:,} of {warc}", f"restore {warc} from a backup: it contained {key}"
        hint += f"; or fetch it anew: windrow replay, windrow retry --reason {Reason.DISK_FAILED}, windrow run"
        try:
            with open_capture(folder, ArchivePlace(warc, offset, length)) as view:
                while block := view.read(BLOCK_BYTES):
                    hasher.update(block)
        except (ArchiveError, OSError) as error:
            yield Fault(location, str(error), UNREADABLE_FILE if is_unreadable(folder / warc) else hint)
            continue
        if hasher.digest() != digest or hasher.size != size:
            problem = f"has {hasher.size:,} bytes with {hasher.digest()}, but the ledger has {size:,} with {digest}"
            yield Fault(location, problem, hint)
        else:
            yield hasher.size


def check_index(ledger: Ledger, folder: Path) -> Iterator[Fault]:
    """Yield a fault for each ended session with captures whose index is missing or differs from the ledger."""
    for session in ledger.captures.sessions():
        path = folder / index_name(session)
        if not ledger.sessions.has_ended(session):
            continue
        if not path.exists():
            yield Fault(path.name, "is missing", "windrow run rebuilds it")
        elif not _has_lines(path, index_lines(ledger, session)):
            yield Fault(path.name, "differs from the ledger", f"rm {path}; windrow run rebuilds it")


def _has_lines(path: Path, expected_lines: Iterable[str]) -> bool:
    with path.open("rb") as file:
        return all(
            file_line == line
            for file_line, line in zip_longest(file, (f"{line}\n".encode() for line in expected_lines))
        )


def check_states(ledger: Ledger) -> Iterator[Fault]:
    """Yield a fault for each mirror or address whose recorded state is wrong.

    The state of a mirror must follow from its listings, and the state of an address from its attempts.
    Addresses that are never due are not checked.
    """
    for mirror in ledger.mirrors.inconsistent():
        recorded = "listed" if mirror.present else "not listed"
        message = f"is recorded as {recorded}, but the last event of its listings is {mirror.event!r}"
        yield Fault(f"{mirror.source}, file {mirror.file}", message)
    for address in ledger.addresses.inconsistent():
        recorded = f"is recorded as due at UNIX time {address.due}, and last captured by attempt {address.capture}"
        yield Fault(
            address.url, f"{recorded}; it has {address.attempts} attempts, and attempt {address.last} captured it last"
        )


ITEMS_PER_QUERY = 1_000
"""The maximum number of items that are looked up in one query."""

PendingState = tuple[str, Status] | None
"""The step that an item waits for, failed at or was cancelled before, and the item's status; None if it is done.

The step is "" if the item was refused for its name, or was done when it was cancelled.
"""


def check_steps(ledger: Ledger) -> Iterator[Fault]:
    """Yield a fault for each item of an installed collection whose pending step does not follow from its facts."""
    for name, collection in sorted(installed().items()):
        numbers = ledger.items.numbers(name)
        for start in range(0, len(numbers), ITEMS_PER_QUERY):
            yield from _find_wrong_steps(ledger, collection, numbers[start : start + ITEMS_PER_QUERY])


def _find_wrong_steps(ledger: Ledger, collection: Collection, items: Sequence[int]) -> Iterator[Fault]:
    events_by_item = groupby(ledger.items.events(items), attrgetter("item"))
    item_events = {number: [*group] for number, group in events_by_item}
    for item in ledger.items.seen(items):
        actual = (item.step, item.status) if item.step is not None and item.status else None
        expected = _derive_state(collection, item, item_events.get(item.item, []))
        if actual != expected:
            yield Fault(
                f"item {item.item}",
                f"is recorded as {_describe_state(actual)}; by its facts, it should be {_describe_state(expected)}",
            )


def _describe_state(state: PendingState) -> str:
    if state is None:
        return "done"
    if state == ("", Status.CANCELLED):
        return "cancelled when no step was left"
    words = {Status.PENDING: "waiting for", Status.FAILED: "failed at", Status.CANCELLED: "cancelled before"}
    return f"{words.get(state[1], state[1].name.lower())} {state[0] or 'the check of its name'}"


def _derive_state(collection: Collection, item: SeenItem, events: Iterable[ItemEvent]) -> PendingState:
    listing = collection.discovery if isinstance(collection.discovery, Listing) else None
    fetch_step = listing.fetch_phase if listing and item.file is None and item.kind == listing.kind else ""
    first_step = fetch_step or collection.step_after(item.kind) or collection.phases[0]
    state: PendingState = ("", Status.FAILED) if item.reason else (first_step, Status.PENDING)
    for event in events:
        match event.event:
            case "end":
                next_step = collection.step_after(item.kind)
                state = (
                    (fetch_step, Status.FAILED) if event.reason else (next_step, Status.PENDING) if next_step else None
                )
            case "reading":
                next_step = collection.step_after(item.kind, event.step)
                state = (
                    (event.step, Status.FAILED) if event.reason else (next_step, Status.PENDING) if next_step else None
                )
            case "decision" if fetch_step and event.reason is Reason.RETRIED:
                state = fetch_step, Status.PENDING
            case "decision":
                state = state[0] if state else "", Status.CANCELLED
            case _:
                pass
    return state
