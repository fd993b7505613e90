"""How far each source looked for captures, and what it took, on the ledger: in one transaction for some lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.contract import CAPTURED, Captures
from windrow.digest import digest
from windrow.engine.captures.rules import RULES, LeftOutLines
from windrow.engine.run import HarvestRun
from windrow.formats.url import parts
from windrow.ledger import LedgerWriter
from windrow.ledger.rows import CapturedRow
from windrow.ledger.sessions import OTHER_RULES
from windrow.ledger.typed.captures import IndexRow, RuleRow
from windrow.model import ArchivePlace, Attempt, CdxLine, FoundUrl, Source
from windrow.reasons import Reason

THROUGH = -1
"""The place in an index file, or a WARC file, that is looked through to its end."""

_HOSTS = 10_000  # origins whose numbers on the ledger are remembered


class LookedThrough(NamedTuple):
    """Lines of an index that were looked at: the place they reach to, how many, and what rules left out of them."""

    place: int
    lines: int
    left_out: Iterable[LeftOutLines] = ()


class TakenCapture(NamedTuple):
    """A capture that is taken: the visit that it becomes, its place where it was found, and the number of the index.

    `original` is the visit of the collection that keeps it, `line` the index line of another maker's capture.
    """

    attempt: Attempt
    found_at: ArchivePlace
    found_by: int
    original: int = 0
    line: CdxLine | None = None


@dataclass(slots=True)
class CaptureTally:
    """What became of the lines of a source's indexes."""

    source: Source
    task: int
    seen: int = 0
    taken: int = 0
    known: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    left_out: Counter[Reason] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def told(self) -> str:
        """Say it in a line."""
        name = self.source.name
        why = ", ".join(f"{reason} {count}" for reason, count in self.left_out.most_common(5))
        told = f"{name}: {self.seen} captures looked at, {self.taken} taken" + (f" ({why})" if why else "")
        told += f"; {self.known} were taken before" if self.known else ""
        if self.failed:
            why = ", ".join(f"{reason} {count}" for reason, count in self.failed.most_common(5))
            told += f"; {self.failed.total()} could not be had: {why}"
        return told + "".join(f"; {one}" for one in self.broken[:3])


class CaptureLedger:
    """Writes for one run what its sources looked at and took."""

    def __init__(self, run: HarvestRun, captures: Captures) -> None:
        """Write for the collection of a run."""
        self.run = run
        self.captures = captures
        self.taken = 0
        self._hosts: dict[str, int] = {}

    def full(self) -> bool:
        """Tell whether to stop: a person said so, or as many were taken as the run may."""
        return self.run.stopping() > 0 or (self.run.limit is not None and self.taken >= self.run.limit)

    def index(self, source: Source, name: str, identity: str = "") -> IndexRow:
        """Return how far a source looked through an index; from its beginning where the rules or the file changed."""
        run, version = self.run, self.captures.version
        options = sorted((key, str(value)) for key, value in source.options.items())
        rules = digest(json.dumps([version, identity, options]).encode())
        found = run.ledger.captures.index(run.collection.name, source.name, name)
        if found is None or found.rules != rules:
            with run.ledger.writing() as writer:
                writer.captures.begin(run.collection.name, source.name, name, rules)
            found = run.ledger.captures.index(run.collection.name, source.name, name)
        assert found is not None
        return found

    def reach(self, writer: LedgerWriter, index: IndexRow, looked: LookedThrough, tally: CaptureTally) -> None:
        """Put on record how far an index was looked through, and what rules left out on the way."""
        known = {(one.reason, one.rule) for one in self.run.ledger.captures.left_out(index.id)}
        for reason, rule, count, url in looked.left_out:
            named = rule if (reason, rule) in known or len(known) < RULES else OTHER_RULES
            known.add((reason, named))
            writer.captures.leave_out(index.id, RuleRow(reason, named, count, url))
            tally.left_out[reason] += count
        writer.captures.reach(index.id, looked.place, looked.lines)
        tally.seen += looked.lines

    def take(self, writer: LedgerWriter, taken: TakenCapture, tally: CaptureTally) -> None:
        """Make a visit of a capture, which asked nobody."""
        seq = self.record_attempt(writer, tally.source, taken.attempt)
        row = CapturedRow(seq, taken.original, "", "", "", taken.found_at.warc, taken.found_at.offset, taken.line)
        writer.captures.take(seq, self.run.collection.name, tally.source.name, row, taken.found_by)
        writer.captures.count(taken.found_by, 1)
        self.taken += 1
        tally.taken += 1

    def record_attempt(self, writer: LedgerWriter, source: Source, attempt: Attempt) -> int:
        """Put a visit on record that asked nobody."""
        run = self.run
        host = self._host(writer, source, parts(attempt.url).origin)
        writer.addresses.add_known(host, FoundUrl(attempt.target, "", attempt.url, kind=CAPTURED))
        taken = attempt._replace(kind=CAPTURED, allowed=True, seconds=0.0)
        return writer.attempts.record_attempt(run.session, host, taken)

    def _host(self, writer: LedgerWriter, source: Source, origin: str) -> int:
        run = self.run
        host = self._hosts.get(origin) or run.ledger.addresses.host(origin, run.collection.name)
        if host is None:
            host = writer.addresses.add_host(run.session, run.collection.name, source.name, origin)
            writer.flush()
        if len(self._hosts) > _HOSTS:
            self._hosts.clear()
        self._hosts[origin] = host
        return host
