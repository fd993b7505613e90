"""Capturing: what others keep already is looked through, line by line, and what a collection wants becomes its visits.

How far each source looked is on the ledger, with what rules left out and what was taken, in one transaction for some
hundred lines: a run that is killed anywhere goes on from there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from windrow.contract import CAPTURED, Captures
from windrow.digest import digest, number
from windrow.engine.capture_rules import OTHER_RULES, RULES, LeftOutLines, Selection, SelectJob, added, kept_line
from windrow.engine.following import AnswerFollower
from windrow.engine.ledger import LedgerWriter
from windrow.engine.ledger.captures import CapturedRow, IndexRow, RuleRow
from windrow.engine.run import HarvestRun
from windrow.formats.url import parts
from windrow.model import CdxLine, FoundUrl, Reading, Recorded, Source
from windrow.reasons import Reason

PAGE = 1000
"""Lines that are looked at, and written, together."""

AHEAD = 8
"""Pages that the pool has in hand at a time."""

PARTS = 16
"""Into how many a row of lines is parted, where the rules end a process over it: to find the line that does so."""


@dataclass(slots=True)
class _Tally:
    """What became of the lines of a source's indexes."""

    task: int
    seen: int = 0
    taken: int = 0
    known: int = 0
    left_out: Counter[Reason] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def told(self, name: str) -> str:
        """Say it in a line."""
        why = ", ".join(f"{reason} {count}" for reason, count in self.left_out.most_common(5))
        told = f"{name}: {self.seen} captures looked at, {self.taken} taken" + (f" ({why})" if why else "")
        told += f"; {self.known} were taken before" if self.known else ""
        return told + "".join(f"; {one}" for one in self.broken[:3])


class _Page(NamedTuple):
    """Answers that were looked at together, how far they reach, and what became of them."""

    lines: Sequence[Recorded]
    place: int
    selection: Selection


class Capturing:
    """Takes for some sources what others keep."""

    def __init__(self, run: HarvestRun, captures: Captures) -> None:
        """Take for the active sources of a run's harvest."""
        self._run = run
        self._captures = captures
        self._sources = [one for one in run.harvest.sources if one.active]
        self._hosts: dict[str, int] = {}
        self._taken = 0

    def run(self) -> None:
        """Look through all that there is, from where each source left off; then follow what was taken."""
        run = self._run
        run.progress.begin("looking through captures", None)
        for source in self._sources:
            inputs = self._captures.inputs(source)
            if not inputs.kept or run.stopping():
                continue
            tally = _Tally(run.open_task(1, source.name))
            for name in inputs.kept:
                if not self._full():
                    self._kept(source, name, tally)
            run.close_task(tally.task, tally.told(source.name), failed=bool(tally.broken))
        self._follow()
        run.progress.end()

    def _full(self) -> bool:
        return self._run.stopping() > 0 or (self._run.limit is not None and self._taken >= self._run.limit)

    def _follow(self) -> None:
        """Follow what was taken for sources that are not asked; the others are followed with their answers."""
        run = self._run
        if self._captures.follow is None:
            return
        following = AnswerFollower(run, [one for one in self._sources if not is_asked(run, one)])
        while not run.stopping() and following.step(_refuse_requests):
            run.tick()

    def _kept(self, source: Source, name: str, tally: _Tally) -> None:
        """Look through what a collection, or one of its sources, kept since the last time."""
        run = self._run
        index = self._index(source, name)
        collection, _, only = name.partition(":")
        last = index.place
        while not self._full():
            pages: list[list[Recorded]] = []
            while len(pages) < AHEAD and (page := run.ledger.captures.after(last, PAGE, [(collection, only)])):
                last = page[-1].seq
                pages.append(page)
            if not pages:
                return
            documents = [[one for one in page if self._is_document(one)] for page in pages]
            selections = self._select(source, [[kept_line(one) for one in lines] for lines in documents])
            for page, lines, selection in zip(pages, documents, selections, strict=True):
                if self._full():
                    return
                self._write(source, index, _Page(lines, page[-1].seq, selection), tally)
                run.progress.step(len(page), 0)
                run.tick()

    def _is_document(self, one: Recorded) -> bool:
        """Tell whether an answer is that to a plain GET, and one with bytes of its own where only these are wanted."""
        visit = one.visit
        return number(visit.url) == visit.digest and (
            self._captures.unchanged or (visit.kept is not None and not visit.kept.revisit)
        )

    def _index(self, source: Source, name: str) -> IndexRow:
        """Return how far a source looked through an index; from its beginning where the rules are others now."""
        run = self._run
        told = json.dumps([self._captures.version, sorted((key, str(value)) for key, value in source.options.items())])
        rules = digest(told.encode())
        found = run.ledger.captures.index(run.collection.name, source.name, name)
        if found is None or found.rules != rules:
            with run.ledger.writing() as writer:
                writer.captures.begin(run.collection.name, source.name, name, rules)
            found = run.ledger.captures.index(run.collection.name, source.name, name)
        assert found is not None
        return found

    def _select(self, source: Source, pages: Sequence[Sequence[CdxLine]]) -> list[Selection]:
        """HarvestRun the rules on some pages of lines, in the pool."""
        jobs = [SelectJob(source, self._run.harvest.options, tuple(lines)) for lines in pages]
        results = [done.result for _, done in self._run.pool.run(jobs, batch=1, pulse=self._run.tick)]
        return [
            one if isinstance(one, Selection) else self._search_fault(source, lines, one)
            for one, lines in zip(results, pages, strict=True)
        ]

    def _search_fault(self, source: Source, lines: Sequence[CdxLine], failed: Reading) -> Selection:
        """Leave the line out over which the rules ended their process; the others have their own end."""
        if len(lines) == 1:
            reason = failed.reason or Reason.STEP_FAILED
            told = failed.findings[0].message if failed.findings else reason.meaning
            return Selection((), (LeftOutLines(reason, told[:200], 1, lines[0].url),))
        size = -(-len(lines) // PARTS)
        starts = range(0, len(lines), size)
        parts = self._select(source, [lines[start : start + size] for start in starts])
        wanted = [start + place for start, part in zip(starts, parts, strict=True) for place in part.wanted]
        return Selection(tuple(wanted), tuple(added(one for part in parts for one in part.left_out)))

    def _write(self, source: Source, index: IndexRow, page: _Page, tally: _Tally) -> None:
        """Put on record what is taken, what rules left out, and how far that got."""
        run, name = self._run, self._run.collection.name
        if run.limit is not None and self._taken + len(page.selection.wanted) > run.limit:
            lines = page.lines[: page.selection.wanted[run.limit - self._taken - 1] + 1]
            page = _Page(lines, lines[-1].seq, self._select(source, [[kept_line(one) for one in lines]])[0])
        wanted = [page.lines[place] for place in page.selection.wanted]
        fresh = [one for one in wanted if one.visit.kept and not run.ledger.captures.taken(name, one.visit.kept.place)]
        known = {(one.reason, one.rule) for one in run.ledger.captures.left_out(index.id)}
        with run.ledger.writing() as writer:
            for one in fresh:
                self._take(writer, source, index, one)
            for reason, rule, count, url in page.selection.left_out:
                rule = rule if (reason, rule) in known or len(known) < RULES else OTHER_RULES  # noqa: PLW2901
                known.add((reason, rule))
                writer.captures.leave_out(index.id, RuleRow(reason, rule, count, url))
                tally.left_out[reason] += count
            writer.captures.reach(index.id, page.place, len(page.lines), len(fresh))
        self._taken += len(fresh)
        tally.seen += len(page.lines)
        tally.taken += len(fresh)
        tally.known += len(wanted) - len(fresh)

    def _take(self, writer: LedgerWriter, source: Source, index: IndexRow, one: Recorded) -> None:
        """Make a visit of a capture: it asked nobody, and its bytes stay where they are."""
        run, visit = self._run, one.visit
        assert visit.kept is not None
        host = self._host(writer, source, parts(visit.url).origin)
        writer.addresses.add_known(host, FoundUrl(visit.digest, "", visit.url, kind=CAPTURED))
        taken = visit._replace(kind=CAPTURED, allowed=True, seconds=0.0, message="")
        seq = writer.attempts.visited(run.session, host, taken, None)
        place = visit.kept.place
        row = CapturedRow(seq, one.seq, "", "", index.name, place.warc, place.offset)
        writer.captures.take(seq, run.collection.name, source.name, row, index.id)

    def _host(self, writer: LedgerWriter, source: Source, origin: str) -> int:
        run = self._run
        host = self._hosts.get(origin) or run.ledger.addresses.host(origin, run.collection.name)
        if host is None:
            host = writer.addresses.add_host(run.session, run.collection.name, source.name, origin)
            writer.flush()
        self._hosts[origin] = host
        return host


def is_asked(run: HarvestRun, source: Source) -> bool:
    """Tell whether requests are made to a source, beside what is taken for it."""
    return run.collection.requests is not None and bool(source.site.scheme)


def _refuse_requests(writer: LedgerWriter, source: Source, via: int, found: Sequence[FoundUrl]) -> None:
    """Put nothing on record: what asks nobody has no requests."""
    del writer, source, via, found
