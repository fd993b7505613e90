"""Store on the ledger how far each source has read its indexes of captures, and which captures it took."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from windrow.clock import now
from windrow.contract import CAPTURED, Captures
from windrow.digest import EMPTY_DIGESTS, digest
from windrow.engine.captures.foreign_records import is_same_capture
from windrow.engine.captures.rules import MAX_RULES, LeftOutLines
from windrow.engine.crawl.left_out import LeftOutCounter
from windrow.engine.requests.list_yield import describe_drift
from windrow.engine.run import HarvestRun
from windrow.formats.text import counted, join_counts
from windrow.formats.url import parts
from windrow.ledger import Ledger, LedgerWriter
from windrow.ledger.captures import PARTIAL_BODY, failed_file
from windrow.ledger.rows import CapturedRow
from windrow.ledger.sessions import OTHER_RULES
from windrow.ledger.typed.captures import IndexRow, RuleRow
from windrow.model import ArchivePlace, Attempt, CdxLine, FoundUrl, KeptResponse, Source
from windrow.reasons import BY_RULE, TRANSIENT_REASONS, Reason

END_OF_FILE = -1
"""The position of an index or WARC file that was read to its end."""

RETRIED_REASONS = (
    *sorted(TRANSIENT_REASONS),
    *(Reason.NOT_FOUND, Reason.NO_ORIGINAL, Reason.PERMISSION_DENIED),
    *(Reason.DNS_FAILED, Reason.CONNECT_FAILED, Reason.TLS_FAILED, Reason.TIMEOUT, Reason.INTERRUPTED),
    *(Reason.SERVER_ERROR, Reason.RATE_LIMITED, Reason.SITE_GIVEN_UP),
    *(Reason.LOGIN_FAILED, Reason.NO_SECRET, Reason.POLICY_DENIED, Reason.PRIVATE_ADDRESS),
)
"""Reasons for a failure after which each run tries to read the record again.

After a failure for another reason, a record is read again only if its WARC file was changed or an operator orders a
retry, or if its index line was wrong and has changed.
"""

MAX_ERRORS_SHOWN = 5
"""The maximum number of errors in the comment of a source's task.

If there are more, the comment also states their number.
"""

_MAX_HOSTS = 10_000  # the maximum number of hosts whose numbers on the ledger are remembered


class Original(NamedTuple):
    """The response that a revisit refers to, and its status: a revisit without a head does not state its own."""

    response: KeptResponse
    status: int | None

    def as_revisit(self, attempt: Attempt, place: ArchivePlace) -> Attempt:
        """Return the attempt of the revisit at `place`, with the bytes of this response."""
        kept = self.response._replace(place=place, revisit=True)
        return attempt._replace(kept=kept, status=attempt.status or self.status)


def find_original(ledger: Ledger, payload_digest: str) -> Original | None:
    """Return the imported response whose body has this digest, or None if there is none or the digest is "".

    For the digest of an empty body, return an empty response. Its status is None, since many answers are empty.
    """
    if payload_digest in EMPTY_DIGESTS:
        return Original(KeptResponse(digest(b""), 0, ArchivePlace("", 0, 0)), None)
    response = ledger.imports.payload(payload_digest) if payload_digest else None
    return Original(response, ledger.attempts.status_at(response.place)) if response else None


class IndexProgress(NamedTuple):
    """The progress in reading an index: the new position, and the number of lines read since the last stored position.

    For a WARC file, records are counted instead of lines; for a collection, responses. `left_out` counts those that
    each rule left out.
    """

    position: int
    lines: int
    left_out: Iterable[LeftOutLines] = ()


class TakenCapture(NamedTuple):
    """A capture that a source takes, and the attempt to store for it."""

    attempt: Attempt  # its message says why the record has only a part of a body; it is empty if it has all
    found_at: ArchivePlace
    found_by: int  # the number of the index on the ledger
    original: int = 0  # the number of the attempt that has the record already, 0 if the capture is another program's
    line: CdxLine | None = None  # the index line; None if the capture is another collection's
    replaced: int = 0  # the number of the attempt that took another record from this place of a replaced file, or 0
    shared: bool = False  # whether `original` is the attempt of another source of the same collection


class CollectedCapture(NamedTuple):
    """A capture that the collection has: the attempt that took it, and where an index has it for another source."""

    attempt: int
    found_at: ArchivePlace
    line: CdxLine | None = None


@dataclass(slots=True)
class CaptureTally:
    """The counts of a source's index lines and captures in this run."""

    source: Source
    task: int  # its number on the ledger
    seen: int = 0
    taken: int = 0
    replaced: int = 0  # captures taken where an earlier one was, before its file was replaced
    known: int = 0  # captures that were taken, or failed, before
    failed: Counter[str] = field(default_factory=Counter)  # captures whose record could not be read, by reason
    left_out: Counter[Reason] = field(default_factory=Counter)  # lines and records
    rules: LeftOutCounter = field(default_factory=LeftOutCounter)  # lines and records by rule, and unread files
    missing: set[str] = field(default_factory=set)  # messages about WARC files that index lines name
    errors: list[str] = field(default_factory=list)  # messages about files that could not be read
    fall: str = ""  # a message if far fewer captures were taken than usual, otherwise empty

    def summary(self) -> str:
        """Return the counts, the drift and up to MAX_ERRORS_SHOWN missing files and errors as one line of text."""
        name = self.source.name
        clauses = [f"{name}: {self.seen} captures examined, {self.taken} taken"]
        if self.replaced:
            clauses.append(f"{self.replaced} of these from files that replaced others of their names")
        clauses += [f"left out: {join_counts(self.left_out)}"] if self.left_out else []
        clauses += [f"{self.known} were taken, or failed, before"] if self.known else []
        clauses += [f"{self.failed.total()} could not be read: {join_counts(self.failed)}"] if self.failed else []
        if self.missing:
            clauses += sorted(self.missing)[:MAX_ERRORS_SHOWN]
            further = len(self.missing) - MAX_ERRORS_SHOWN
            clauses += [f"so are {counted(further, 'other file')}"] if further > 0 else []
        if len(self.errors) > MAX_ERRORS_SHOWN:  # the number comes first, as a comment may be cut
            clauses.append(f"{counted(len(self.errors), 'file')} could not be read, including these")
        clauses += [describe_drift(self.fall)] if self.fall else []
        return "; ".join([*clauses, *self.errors[:MAX_ERRORS_SHOWN]])


def identify_file(path: Path) -> str:
    """Return a text that differs once the file has changed, or once its time is not in the future any more.

    In the second case, the clock was behind when it was read, and good times of captures were in the future, too.
    """
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}" + (" ahead" if stat.st_mtime > now().timestamp() else "")


class CaptureLedger:
    """Stores what the sources of one run have read and taken. `taken` is the number of captures that they took."""

    def __init__(self, run: HarvestRun, captures: Captures) -> None:
        self.run = run
        self.captures = captures
        self.taken = 0
        self._hosts: dict[tuple[str, str], int] = {}  # numbers on the ledger, by source and origin

    def must_stop(self) -> bool:
        """Return whether the run is being stopped or its limit of items is reached."""
        return self.run.stopping() > 0 or (self.run.limit is not None and self.taken >= self.run.limit)

    def count_allowed(self, most: int) -> int:
        """Return how many more captures the run's limit of items allows, but at most `most`."""
        return most if self.run.limit is None else min(most, self.run.limit - self.taken)

    def index_row(self, source: Source, name: str, identity: str = "") -> IndexRow:
        """Return the ledger's row for an index. If there is none, a new row is written.

        If the version of the rules, the source's options or `identity` (such as the file's size and time) has changed,
        the row is reset and its counts of lines left out are deleted, so that the index is read from its start. A file
        that was moved with its folder, such as that of the workspace, keeps its row.
        """
        run, rules_digest = self.run, self._digest_rules(source, identity)
        index = run.ledger.captures.index(run.collection.name, source.name, name)
        if index is None and identity:
            self._follow_moved(source, name, identity, rules_digest)
            index = run.ledger.captures.index(run.collection.name, source.name, name)
        if index is None or index.rules != rules_digest:
            with run.ledger.writing() as writer:
                writer.captures.begin(run.collection.name, source.name, name, rules_digest)
            index = run.ledger.captures.index(run.collection.name, source.name, name)
        assert index is not None
        return index

    def _digest_rules(self, source: Source, identity: str, folders: tuple[str, str] = ("", "")) -> str:
        """Return the digest of what decides how an index is read, as it was when the second folder was at the first."""
        old_folder, new_folder = folders
        options = sorted((key, str(setting)) for key, setting in source.options.items())
        if new_folder:
            options = [(key, setting.replace(new_folder, old_folder)) for key, setting in options]
        return digest(json.dumps([self.captures.version, identity, options]).encode())

    def _follow_moved(self, source: Source, name: str, identity: str, rules_digest: str) -> None:
        """If the file `name` was an index at another path before a folder was moved, give that index this path."""
        for row in self.run.ledger.captures.indexes(self.run.collection.name, source.name):
            folders = find_moved_folder(row.name, name)
            if folders and row.rules == self._digest_rules(source, identity, folders) and not Path(row.name).exists():
                with self.run.ledger.writing() as writer:
                    writer.captures.move(row, name, rules_digest, folders)
                return

    def store_progress(
        self, writer: LedgerWriter, index: IndexRow, progress: IndexProgress, tally: CaptureTally
    ) -> None:
        """Store how far an index was read and how many lines each rule left out, and count these lines in `tally`."""
        known_rules = {(row.reason, row.rule) for row in self.run.ledger.captures.left_out(index.id)}
        for reason, rule, line_count, url in progress.left_out:
            rule_name = rule if (reason, rule) in known_rules or len(known_rules) < MAX_RULES else OTHER_RULES
            known_rules.add((reason, rule_name))
            writer.captures.leave_out(index.id, RuleRow(reason, rule_name, line_count, url))
            tally.left_out[reason] += line_count
            tally.rules.add(reason, rule, line_count, url or index.name)
        writer.captures.record_progress(index.id, progress.position, progress.lines)
        if progress.position == END_OF_FILE:
            writer.captures.forget_unmet(index.collection, index.id)
        tally.seen += progress.lines

    def forget_missing(self, source: Source) -> None:
        """Delete the counts of left-out lines and the failures of files that were removed from existing folders."""
        for row in self.run.ledger.captures.indexes(self.run.collection.name, source.name):
            path = Path(row.name)
            if path.is_absolute() and path.parent.is_dir() and not path.exists():
                with self.run.ledger.writing() as writer:
                    writer.captures.forget(row.collection, row.id)

    def note_unusable(self, index: IndexRow, tally: CaptureTally) -> None:
        """Note an error in `tally` if all lines of an index were left out as faulty.

        The index must have been read to its end. An index without lines is not an error.
        """
        captures = self.run.ledger.captures
        row = captures.index(index.collection, index.source, index.name)
        if row is None or row.taken or not row.seen:
            return
        rules = captures.left_out(row.id)
        faults = [rule for rule in rules if rule.reason not in BY_RULE and rule.rule != PARTIAL_BODY]
        if sum(rule.lines for rule in faults) == row.seen:
            tally.errors.append(f"{row.name}: nothing in it can be read: {faults[0].reason}: {faults[0].rule}")

    def find_taken(self, place: ArchivePlace, line: CdxLine) -> tuple[int, bool]:
        """Return the attempt that took the record at a place, or 0, and whether it may have taken another record.

        It may have if the file was replaced since: then the line differs from that of the record that was taken.
        """
        captures = self.run.ledger.captures
        attempt = captures.taken(self.run.collection.name, place)
        captured = captures.captured(attempt) if attempt else None
        earlier_line = captured.line if captured else None
        return attempt, earlier_line is not None and not is_same_capture(line, earlier_line)

    def changed_files(self, source: Source) -> set[str]:
        """Return the WARC files in which wanted records failed, and that were written or replaced since.

        A file that was changed during the run in which a record failed may have been read before.
        """
        files = self.run.ledger.captures.failed_files(self.run.collection.name, source.name)
        return {file.warc for file in files if _changed_at(Path(failed_file(file.warc))) > file.since.timestamp()}

    def has_taken(self, number: int, attempt: Attempt) -> bool:
        """Return whether the attempt with this number took the capture of `attempt`: one address, time and digest."""
        earlier = self.run.ledger.attempts.get(number)
        digests = {attempt.kept.digest, earlier.digest if earlier else ""} if attempt.kept else {""}
        return (
            earlier is not None
            and (earlier.url, earlier.started) == (attempt.url, attempt.started)
            and len(digests) == 1
        )

    def take_capture(self, writer: LedgerWriter, capture: TakenCapture, tally: CaptureTally) -> None:
        """Store a capture as an attempt of the collection, and count it for its index, in `tally` and in `taken`."""
        number = self.record_attempt(writer, tally.source, capture.attempt)
        captured_row = CapturedRow(
            number, capture.original, "", "", "", capture.found_at.warc, capture.found_at.offset, capture.line
        )
        if capture.replaced:
            writer.captures.free_place(capture.replaced)
            tally.replaced += 1
        index = 0 if capture.shared else capture.found_by  # the place is that of the other source's capture
        writer.captures.record_taken(number, self.run.collection.name, tally.source.name, captured_row, index)
        writer.captures.add_taken(capture.found_by, 1)
        if capture.attempt.message:
            self._count_partial(writer, capture, tally)
        self.taken += 1
        tally.taken += 1

    def _count_partial(self, writer: LedgerWriter, capture: TakenCapture, tally: CaptureTally) -> None:
        """Count a capture that has only a part of its body.

        The ledger does not store its address with the count, since the capture may be taken down.
        """
        writer.captures.leave_out(capture.found_by, RuleRow(Reason.TRUNCATED, PARTIAL_BODY, 1, ""))
        tally.rules.add(Reason.TRUNCATED, PARTIAL_BODY, 1, capture.attempt.url)

    def share_captures(
        self, writer: LedgerWriter, captures: Sequence[CollectedCapture], index: IndexRow, tally: CaptureTally
    ) -> None:
        """Store captures that the collection has for the tally's source too. Those that the source has are known.

        A capture that was taken down with the source that took it is left out.
        """
        captures_by_attempt = {capture.attempt: capture for capture in captures}
        tally.known += len(captures) - len(captures_by_attempt)
        for recorded in self.run.ledger.attempts.by_numbers([*captures_by_attempt]):
            attempt, (original, place, line) = recorded.attempt, captures_by_attempt[recorded.seq]
            if self.run.ledger.captures.is_taken_by(original, tally.source.name):
                tally.known += 1
            elif attempt.kept is None:
                tally.left_out[Reason.FORGOTTEN] += 1
            else:
                self.take_capture(writer, TakenCapture(attempt, place, index.id, original, line, shared=True), tally)

    def record_attempt(self, writer: LedgerWriter, source: Source, attempt: Attempt) -> int:
        """Store an attempt for which no request was made, and its address. Return the number of the attempt."""
        run = self.run
        host = self._host_number(writer, source.name, parts(attempt.url).origin)
        writer.addresses.add_known(host, FoundUrl(attempt.target, "", attempt.url, kind=CAPTURED))
        capture = attempt._replace(kind=CAPTURED, allowed=True, seconds=0.0)
        return writer.attempts.record_attempt(run.session, host, capture)

    def _host_number(self, writer: LedgerWriter, source: str, origin: str) -> int:
        """Return the number of the source's own host with this origin, so that a takedown of the source finds it."""
        if (host := self._hosts.get((source, origin))) is None:
            if len(self._hosts) > _MAX_HOSTS:
                self._hosts.clear()
            host = writer.addresses.host_of(self.run.session, self.run.collection.name, source, origin)
            self._hosts[source, origin] = host
        return host


def _changed_at(path: Path) -> float:
    """Return when the content, name or rights of a file changed last, in UNIX seconds, or 0.0 if there is no file."""
    try:
        return path.stat().st_ctime
    except (OSError, ValueError):  # the name of a record on another machine is a URL
        return 0.0


def find_moved_folder(old: str, new: str) -> tuple[str, str] | None:
    """Return the old and the new path of the folder whose move changes the path `old` into `new`; None if none does.

    >>> find_moved_folder("/data/a/cdx/1.cdx", "/mnt/b/cdx/1.cdx"), find_moved_folder("/a/1.cdx", "/a/2.cdx")
    (('/data/a', '/mnt/b'), None)
    """
    old_path, new_path = Path(old), Path(new)
    if old_path.name != new_path.name or not old_path.is_absolute():
        return None
    while old_path.name == new_path.name and old_path.name:
        old_path, new_path = old_path.parent, new_path.parent
    return (str(old_path), str(new_path)) if old_path.name and new_path.name else None
