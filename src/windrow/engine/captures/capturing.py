"""Capturing: what others keep already is looked through, line by line, and what a collection wants becomes its visits.

How far each source looked is on the ledger, with what rules left out and what was taken, in one transaction for some
hundred lines: a run that is killed anywhere goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from windrow.contract import Captures
from windrow.digest import number
from windrow.engine.captures.capture_ledger import CaptureLedger, CaptureTally, LookedThrough, TakenCapture
from windrow.engine.captures.foreign_captures import ForeignCapturing
from windrow.engine.captures.rules import PARTS, Selection, SelectJob, added, kept_line, left_out_by_fault
from windrow.engine.requests.answers import requests_of
from windrow.engine.requests.following import AnswerFollower
from windrow.engine.run import HarvestRun
from windrow.ledger import LedgerWriter
from windrow.ledger.typed.captures import IndexRow
from windrow.model import ArchivePlace, CdxLine, FoundUrl, Reading, RecordedAttempt, Source

PAGE = 1000
"""Lines that are looked at, and written, together."""

AHEAD = 8
"""Pages that the pool has in hand at a time."""


class _Page(NamedTuple):
    """Answers that were looked at together, how far they reach, and what became of them."""

    lines: Sequence[RecordedAttempt]
    place: int
    selection: Selection


class Capturing:
    """Takes for some sources what others keep."""

    def __init__(self, run: HarvestRun, captures: Captures) -> None:
        """Take for the active sources of a run's harvest."""
        self._run = run
        self._captures = captures
        self._sources = [source for source in run.harvest.sources if source.active]
        self._capture_ledger = CaptureLedger(run, captures)

    def run(self) -> None:
        """Look through all that there is, from where each source left off; then follow what was taken."""
        run = self._run
        run.progress.begin("looking through captures", None)
        for source in self._sources:
            inputs = self._captures.inputs(source)
            if not any(inputs) or run.stopping():
                continue
            tally = CaptureTally(source, run.open_task(1, source.name))
            for name in inputs.kept:
                self._take_kept(source, name, tally)
            if inputs.cdx or inputs.warc:
                with ForeignCapturing(self._capture_ledger, tally) as foreign:
                    foreign.run(inputs)
            run.close_task(tally.task, tally.told(), failed=bool(tally.broken))
        self._follow()
        run.progress.end()

    def _follow(self) -> None:
        """Follow what was taken for sources that are not asked; the others are followed with their answers."""
        run = self._run
        if self._captures.follow is None:
            return
        following = AnswerFollower(
            run, [source for source in self._sources if requests_of(run.collection, source) is None]
        )
        while not run.stopping() and following.step(_refuse_requests):
            run.tick()

    def _take_kept(self, source: Source, name: str, tally: CaptureTally) -> None:
        """Look through what a collection, or one of its sources, kept since the last time."""
        run = self._run
        index = self._capture_ledger.index(source, name)
        collection, _, only = name.partition(":")
        last = index.place
        while not self._capture_ledger.full():
            pages: list[list[RecordedAttempt]] = []
            while len(pages) < AHEAD and (
                page := run.ledger.captures.after(last, PAGE, [(collection, only)], self._captures.statuses)
            ):
                last = page[-1].seq
                pages.append(page)
            if not pages:
                return
            documents = [[one for one in page if self._is_document(one)] for page in pages]
            selections = self._select(source, [[kept_line(line) for line in lines] for lines in documents])
            for page, lines, selection in zip(pages, documents, selections, strict=True):
                if self._capture_ledger.full():
                    return
                self._write(source, index, _Page(lines, page[-1].seq, selection), tally)
                run.progress.step(len(page), 0)
                run.tick()

    def _is_document(self, one: RecordedAttempt) -> bool:
        """Tell whether an answer is that to a plain GET, and one with bytes of its own where only these are wanted."""
        attempt = one.attempt
        return number(attempt.url) == attempt.target and (
            self._captures.unchanged or (attempt.kept is not None and not attempt.kept.revisit)
        )

    def _select(self, source: Source, pages: Sequence[Sequence[CdxLine]]) -> list[Selection]:
        """Run the rules on some pages of lines, in the pool."""
        jobs = [SelectJob(self._captures, source, self._run.harvest.options, tuple(lines)) for lines in pages]
        results = [done.result for _, done in self._run.pool.run(jobs, batch=1, pulse=self._run.tick)]
        return [
            one if isinstance(one, Selection) else self._search_fault(source, lines, one)
            for one, lines in zip(results, pages, strict=True)
        ]

    def _search_fault(self, source: Source, lines: Sequence[CdxLine], failed: Reading) -> Selection:
        """Run the rules on smaller parts, down to the line over which their process was ended: it alone is left out."""
        if len(lines) == 1:
            return Selection((), (left_out_by_fault(failed, lines[0].url),))
        size = -(-len(lines) // PARTS)
        starts = range(0, len(lines), size)
        parts = self._select(source, [lines[start : start + size] for start in starts])
        wanted = [start + place for start, part in zip(starts, parts, strict=True) for place in part.wanted]
        return Selection(tuple(wanted), tuple(added(one for part in parts for one in part.left_out)))

    def _write(self, source: Source, index: IndexRow, page: _Page, tally: CaptureTally) -> None:
        """Put on record what is taken, what rules left out, and how far that got."""
        run, name, capture_ledger = self._run, self._run.collection.name, self._capture_ledger
        if run.limit is not None and capture_ledger.taken + len(page.selection.wanted) > run.limit:
            lines = page.lines[: page.selection.wanted[run.limit - capture_ledger.taken - 1] + 1]
            page = _Page(lines, lines[-1].seq, self._select(source, [[kept_line(line) for line in lines]])[0])
        taken: set[ArchivePlace] = set()  # two collections may both have had a record
        with run.ledger.writing() as writer:
            for place in page.selection.wanted:
                one = page.lines[place]
                kept = one.attempt.kept
                assert kept is not None
                if kept.place in taken or run.ledger.captures.taken(name, kept.place):
                    tally.known += 1
                    continue
                taken.add(kept.place)
                attempt = one.attempt._replace(message="")
                capture_ledger.take(writer, TakenCapture(attempt, kept.place, index.id, one.seq), tally)
            capture_ledger.reach(
                writer, index, LookedThrough(page.place, len(page.lines), page.selection.left_out), tally
            )


def _refuse_requests(writer: LedgerWriter, source: Source, via: int, found: Sequence[FoundUrl]) -> None:
    """Put nothing on record: what asks nobody has no requests."""
    del writer, source, via, found
