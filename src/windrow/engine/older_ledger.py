"""Notice that the ledger is an older copy than its archive or a store, or that a store is of another ledger.

This is noticed before anything is requested or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from windrow.clock import spell
from windrow.errors import ConfigError, StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.facts import last_number
from windrow.private_files import write_whole
from windrow.stores.store_mark import StoreMark

SESSION_MARK = ".session"
"""The name of the file in an archive that names the last session that wrote to it: number, time and process."""

RESTORE_HINT = "restore the newest copy of the ledger, or follow 'Restore a ledger' in docs/howto/mend.md"
_FOREIGN_HINT = "name stores of this workspace's own in the configuration, or move these away; then: windrow run"

_FILE_OF_SESSION = re.compile(r"windrow-([0-9]+)(?:-[0-9]+-[0-9]{5}\.warc(?:\.gz)?|\.cdxj)")
_INDEXED_PLACE = re.compile(rb'"offset": "([0-9]+)", "filename": "([^"]+)"')
_FILES_SHOWN = 20


def mark_session(folder: Path, ledger: Ledger, session: int) -> None:
    """Write the `SESSION_MARK` of an archive."""
    write_whole(folder / SESSION_MARK, (_spell_session(ledger, session),))


class LedgerProblem(NamedTuple):
    """Why the ledger does not belong to its archive or a store, as a message, and what to do about it."""

    message: str
    hint: str


@runtime_checkable
class OwnedStore(Protocol):
    """A store that records whose facts it has."""

    def owner(self) -> int:
        """Return the identity of the ledger whose facts the store has, or 0 if it is not recorded."""

    def set_owner(self, ledger: int) -> None:
        """Record the identity of the ledger whose facts the store has."""


def is_foreign(owner: int, ledger: Ledger) -> bool:
    """Return whether the `owner` of a store is another ledger. An owner of 0 is not recorded."""
    return owner not in {0, ledger.sessions.identity()}


def claim_store(store: object, ledger: Ledger) -> None:
    """Record that a store is of this ledger, if it records that; raise StoreError if it is of another one.

    `refuse_wrong_ledger` could not compare the store if it was away then.
    """
    if not isinstance(store, OwnedStore):
        return
    owner = store.owner()
    if is_foreign(owner, ledger):
        raise StoreError("a store is of another workspace; nothing was fetched", hint=_FOREIGN_HINT)
    if not owner:
        store.set_owner(ledger.sessions.identity())


def refuse_wrong_ledger(ledger: Ledger, folder: Path, marks: Mapping[str, StoreMark]) -> None:
    """Raise ConfigError if `find_ledger_problems` finds any."""
    if problems := find_ledger_problems(ledger, folder, marks):
        messages = "; ".join(problem.message for problem in problems)
        hints = "; ".join(dict.fromkeys(problem.hint for problem in problems))
        raise ConfigError(f"{messages}; nothing was touched", hint=hints)


def find_ledger_problems(ledger: Ledger, folder: Path, marks: Mapping[str, StoreMark]) -> list[LedgerProblem]:
    """Say what a session wrote to the archive or a store that is not on the ledger, and which stores are of another.

    The ledger would use the numbers of these facts again, and a store would take the new facts for those that it has.
    The messages name the files of these sessions, and the stores. `marks` is a dict from each store to its mark, which
    was read before now, since a run may be under way.
    """
    last_fact = last_number(ledger)
    foreign = [store for store, mark in marks.items() if is_foreign(mark.owner, ledger)]
    later_stores = ", ".join(
        f"{store} (up to {mark.last_fact})"
        for store, mark in marks.items()
        if mark.last_fact > last_fact and store not in foreign
    )
    problems = [
        (_describe_older_than_archive(ledger, folder), RESTORE_HINT),
        (
            later_stores
            and f"the ledger ends with fact {last_fact}, but these stores have later facts: {later_stores}",
            RESTORE_HINT,
        ),
        (foreign and f"these stores are of another workspace: {', '.join(foreign)}", _FOREIGN_HINT),
    ]
    return [LedgerProblem(str(message), hint) for message, hint in problems if message]


def _describe_older_than_archive(ledger: Ledger, folder: Path) -> str:
    latest_session = ledger.sessions.latest()
    if latest_session is None:  # `refuse_other_ledger` compares new ledgers
        return ""
    files = sorted(_find_later_files(ledger, folder, latest_session))
    mark_path = folder / SESSION_MARK
    mark = mark_path.read_text(encoding="utf-8") if mark_path.exists() else ""
    number = mark.partition(" ")[0]
    is_known = not mark or (number.isdecimal() and _spell_session(ledger, int(number)) == mark)
    if is_known and not files:
        return ""
    names = ", ".join([*files[:_FILES_SHOWN], *(["..."] if len(files) > _FILES_SHOWN else [])])
    later = f"; later sessions wrote {counted(len(files), 'file')}: {names}" if files else ""
    last = "" if is_known else f"; its last session was {mark.strip()}, which is not on the ledger"
    return f"the ledger is an older copy than the archive {folder}{last}{later}"


def _spell_session(ledger: Ledger, session: int) -> str:
    row = ledger.sessions.get(session)
    return f"{row.seq} of {spell(row.began)} by {row.holder}\n" if row else ""


def _find_later_files(ledger: Ledger, folder: Path, latest_session: int) -> Iterator[str]:
    """Yield the names of the files of sessions that are not on the ledger, or that ended after the ledger was copied.

    The files of large transfers do not have the number of a session in their names, so they are found in the indexes.
    """
    paths = [*folder.glob("windrow-*")]
    known_sessions = ledger.sessions.numbers()  # read after the folder, since a session may just have begun
    for path in paths:
        match = _FILE_OF_SESSION.fullmatch(path.name)
        if match is None or path.is_symlink():
            continue
        session = int(match[1])
        is_later = session not in known_sessions
        # The index is written when all captures are on the ledger.
        may_be_later = session == latest_session and not ledger.sessions.has_ended(session)
        if path.suffix == ".cdxj" and (is_later or may_be_later):
            names = [*_find_unrecorded(path, folder, ledger.captures.promised())]
            yield from (name for name in names if not _FILE_OF_SESSION.fullmatch(name) or may_be_later)
            is_later = is_later or bool(names)
        if is_later:
            yield path.name


def _find_unrecorded(index: Path, folder: Path, recorded_ends: Mapping[str, int]) -> set[str]:
    """Return the names of the existing files of an index that have a capture after their last one on the ledger."""
    with index.open("rb") as lines:
        places = [(match[2].decode(), int(match[1])) for line in lines if (match := _INDEXED_PLACE.search(line))]
    names = {name for name, offset in places if offset >= recorded_ends.get(name, 0)}
    return {name for name in names if (folder / name).exists()}
