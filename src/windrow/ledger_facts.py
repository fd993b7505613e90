"""The facts of the ledger that projections read: those about sessions, tasks, listed files, their members, and steps.

Every fact has a time `at` and a number `seq`, which is unique over all kinds of facts and increases in the order of
writing. Projections read the facts after a checkpoint. A field that is named after another fact (`session`, `task`,
`file`, `attempt`, `item`) has the `seq` of that fact. Times are aware and in UTC; None and empty texts mean unknown or
absent, unless a class says more.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from windrow.model import Level
from windrow.reasons import Reason


class Subject(NamedTuple):
    """The listed file or member that a fact is about; facts about other items have `NO_SUBJECT`.

    `attempt` is the attempt that fetched the member, or the latest attempt to get the file that began before the fact
    (None: not tried before).
    """

    collection: str = ""
    kind: str = ""
    key: str = ""
    attempt: int | None = None


NO_SUBJECT = Subject()


class SessionOpened(NamedTuple):
    """A session began; `holder` names its process: machine, boot, process number and start time."""

    seq: int
    at: datetime
    holder: str
    command: str


class SessionClosed(NamedTuple):
    """A session ended; `outcome` is the exit code of its command."""

    seq: int
    at: datetime
    session: int
    outcome: int
    failed: int | None = None  # the first of its tasks that failed; None: none failed


class TaskOpened(NamedTuple):
    """A phase began for one source, or for the whole collection if `source` is empty."""

    seq: int
    at: datetime
    session: int
    collection: str
    source: str
    phase: int


class TaskClosed(NamedTuple):
    """A task ended. A task that did not fail may have a `reason` too, for example why it left something out."""

    seq: int
    at: datetime
    task: int
    failed: bool
    reason: Reason | None
    comment: str


class FileFound(NamedTuple):
    """A file that `owner` made was listed for the first time; it was refused if there is a `reason`."""

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
    """A member was found in the file that an attempt fetched; it was refused if there is a `reason`."""

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
    """A source began or stopped listing a file, or listed it with changes; or its file was refused or compared.

    The event `compared` means that the source's file, or its checksum file, was compared with the archived file.
    """

    seq: int
    at: datetime
    session: int
    source: str
    file: int
    path: str
    event: str  # listed | refused | changed | compared | gone
    size: int | None
    modified: datetime | None
    subject: Subject = NO_SUBJECT


class AttemptOpened(NamedTuple):
    """An attempt to get a listed file from a source began. If no AttemptClosed follows, it runs or was interrupted."""

    seq: int
    at: datetime
    session: int
    file: int
    source: str
    path: str
    subject: Subject = NO_SUBJECT
    cut: int | None = None  # the latest earlier attempt at the file without an end; None: all have ended
    errors: int = 0  # the number of earlier attempts to get this file from this source that failed


class AttemptClosed(NamedTuple):
    """An attempt ended; it failed if there is a `reason`. `received` is the number of bytes transferred."""

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
    subject: Subject = NO_SUBJECT


class StepStarted(NamedTuple):
    """A step began for an item; if no result follows, the step is running, or was interrupted."""

    seq: int
    at: datetime
    session: int
    item: int
    step: str
    subject: Subject = NO_SUBJECT


class Decided(NamedTuple):
    """It was decided to fetch a file again (`act` is RETRIED), or not to process an item any more (CANCELLED).

    An operator made the decision, or a change in a listing or in the configuration caused it. For a member, RETRIED
    means that it is not processed any more, because its file is fetched again.
    """

    seq: int
    at: datetime
    session: int
    item: int
    act: Reason
    message: str
    subject: Subject = NO_SUBJECT


class DocumentRead(NamedTuple):
    """A step read a document, or failed to read it if there is a `reason`."""

    seq: int
    at: datetime
    session: int
    item: int
    step: str
    version: str
    reason: Reason | None
    number: int  # `Reading.count`
    md5: str  # of the document, or empty
    subject: Subject = NO_SUBJECT


class FindingMade(NamedTuple):
    """A finding about an item was made in phase number `phase`. The other fields are as in `model.Finding`."""

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
    subject: Subject = NO_SUBJECT


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
