"""The facts of the ledger: append-only, in one order.

Every fact has a `seq`, unique over all kinds and rising in the order of writing; projections
read facts from a checkpoint on. Times are aware and UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from windrow.model import Level
from windrow.reasons import Reason


class Subject(NamedTuple):
    """The listed file or member that a fact is about, as it stood before the fact; empty for what is neither.

    `attempt` is the one that brought a member, or the latest one to get the file.
    """

    collection: str = ""
    kind: str = ""
    key: str = ""
    attempt: int | None = None


NOBODY = Subject()


class SessionOpened(NamedTuple):
    """A run began."""

    seq: int
    at: datetime
    holder: str
    command: str


class SessionClosed(NamedTuple):
    """A run ended, `outcome` 0 when all went well, else the exit code."""

    seq: int
    at: datetime
    session: int
    outcome: int
    failed: int | None = None  # the first of its tasks that failed


class TaskOpened(NamedTuple):
    """One phase of one source (or of the whole collection, with `source` empty) began."""

    seq: int
    at: datetime
    session: int
    collection: str
    source: str
    phase: int


class TaskClosed(NamedTuple):
    """A task ended; `failed` tells whether it counts against the session."""

    seq: int
    at: datetime
    task: int
    failed: bool
    reason: Reason | None
    comment: str


class FileFound(NamedTuple):
    """A source listed a file that none had listed before; `reason` says why its name was refused."""

    seq: int
    at: datetime
    session: int
    collection: str
    kind: str
    key: str
    owner: str
    size: int | None
    reason: Reason | None


class MemberFound(NamedTuple):
    """A member of a file was found in what an attempt brought; `reason` says why its name was refused."""

    seq: int
    at: datetime
    session: int
    collection: str
    kind: str
    key: str
    attempt: int
    name: str
    size: int | None
    digest: str
    md5: str
    reason: Reason | None


class Listed(NamedTuple):
    """A source began to list a file, changed what it says of it, was compared with another one, or stopped."""

    seq: int
    at: datetime
    session: int
    source: str
    file: int
    path: str
    event: str  # listed | refused | changed | compared | gone
    size: int | None
    modified: datetime | None
    subject: Subject = NOBODY


class AttemptOpened(NamedTuple):
    """An attempt to get a listed file from a source; a cut attempt goes on in a later session."""

    seq: int
    at: datetime
    session: int
    file: int
    source: str
    path: str
    subject: Subject = NOBODY
    cut: int | None = None  # the file's latest attempt that never ended
    errors: int = 0  # attempts on this file at this source that failed before


class AttemptClosed(NamedTuple):
    """The attempt's end; with a reason it failed. `received` are bytes over the line."""

    seq: int
    at: datetime
    attempt: int
    file: int
    source: str
    received: int
    size: int | None
    digest: str
    reason: Reason | None
    message: str
    subject: Subject = NOBODY


class StepStarted(NamedTuple):
    """A step was begun for an item; a crash may have cut it."""

    seq: int
    at: datetime
    session: int
    item: int
    step: str
    subject: Subject = NOBODY


class Decided(NamedTuple):
    """An item is to be fetched again (`act` is RETRIED), or ends where it stands (CANCELLED)."""

    seq: int
    at: datetime
    session: int
    item: int
    act: Reason
    message: str
    subject: Subject = NOBODY


class DocumentRead(NamedTuple):
    """A step read a document; `md5` of the whole where the step made it."""

    seq: int
    at: datetime
    session: int
    item: int
    step: str
    version: str
    reason: Reason | None
    number: int
    md5: str
    subject: Subject = NOBODY


class FindingMade(NamedTuple):
    """Something wrong or notable in an item, found in `phase`."""

    seq: int
    at: datetime
    session: int
    item: int
    phase: int
    kind: str
    level: Level
    message: str
    line: int | None
    column: int | None
    subject: Subject = NOBODY


Fact = (
    SessionOpened
    | SessionClosed
    | TaskOpened
    | TaskClosed
    | FileFound
    | MemberFound
    | Listed
    | AttemptOpened
    | AttemptClosed
    | StepStarted
    | Decided
    | DocumentRead
    | FindingMade
)
