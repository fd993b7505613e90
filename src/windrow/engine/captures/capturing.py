"""Capturing: run a collection's rules on existing captures, and store an attempt for each capture that it wants.

For each page of captures of this ledger, one transaction stores the captures taken, the counts of the captures left
out, and how far the source has read. So the next run continues from there, even if this one is killed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from windrow.archive.wacz import WACZ_SUFFIX
from windrow.archive.warc_reader import PACKED_SUFFIXES, WARC_SUFFIXES
from windrow.clock import now
from windrow.contract import Captures
from windrow.digest import hash64
from windrow.engine.captures.capture_ledger import (
    CaptureLedger,
    CaptureTally,
    CollectedCapture,
    IndexProgress,
    TakenCapture,
)
from windrow.engine.captures.foreign_captures import ForeignCapturing
from windrow.engine.captures.rules import (
    LeftOutLines,
    Selection,
    SelectJob,
    index_line,
    left_out_by_fault,
    search_fault,
    sum_left_out,
)
from windrow.engine.captures.warc_names import CDX_NAMES, files_below
from windrow.engine.requests.answers import requests_of
from windrow.engine.requests.following import AnswerFollower
from windrow.engine.requests.list_yield import CAPTURES, compared_since, describe_fall
from windrow.engine.run import HarvestRun
from windrow.engine.steps.pool import QUICK_SECONDS
from windrow.formats.text import replace_lone_surrogates
from windrow.ledger.typed.captures import IndexRow
from windrow.model import ArchivePlace, CdxLine, Finding, Reading, RecordedAttempt, Source
from windrow.reasons import Reason

PAGE_SIZE = 1000
"""The maximum number of captures that are read and stored together, as a page."""

PAGES_AHEAD = 8
"""The maximum number of pages that the pool is given at a time."""


_UNREAD_SUFFIXES = (WACZ_SUFFIX, *PACKED_SUFFIXES)
_UNREAD_FILES = "unread files in folders of WARC files: packed ones, and WACZ (windrow run FILE imports it)"
_UNREAD_INDEXES = "unread files in folders of indexes: packed ones, except gzip, and those with other names"


class _Page(NamedTuple):
    """Responses that were read together, the number of the last attempt that was read, and what the rules selected."""

    responses: Sequence[RecordedAttempt]
    last_attempt: int
    selection: Selection


def _files_below(folders: Sequence[Path], suffixes: tuple[str, ...]) -> set[Path]:
    """Return the files below `folders` that have one of these suffixes; errors have been reported."""
    return {path for folder in folders for path in files_below(folder, suffixes, lambda _: None)}


def _note_unread(files: Collection[Path], rule: str, tally: CaptureTally) -> None:
    """Count files in the tally, as left out by `rule`."""
    for path in sorted(files):
        tally.rules.add(Reason.UNSUPPORTED, rule, 1, replace_lone_surrogates(str(path)))


class Capturing:
    """Takes existing captures for the active sources of a run."""

    def __init__(self, run: HarvestRun, captures: Captures) -> None:
        self._run = run
        self._captures = captures
        self._sources = [source for source in run.harvest.sources if source.active]
        self._capture_ledger = CaptureLedger(run, captures)

    def run(self) -> None:
        """For each source, take the wanted captures that earlier runs did not reach in its inputs, then follow them."""
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
                self._capture_ledger.forget_missing(source)
                with closing(ForeignCapturing(self._capture_ledger, tally)) as foreign:
                    foreign.run(inputs)
                _note_unread(_files_below(inputs.warc, _UNREAD_SUFFIXES), _UNREAD_FILES, tally)
                known = _files_below(inputs.cdx, CDX_NAMES) | _files_below(inputs.cdx, WARC_SUFFIXES)
                _note_unread(_files_below(inputs.cdx, ("",)) - known, _UNREAD_INDEXES, tally)
            self._note_fall(tally)
            with run.ledger.writing() as writer:
                tally.rules.record(writer, run.session, run.collection.name, source.name, 1)
            run.close_task(tally.task, tally.summary(), failed=bool(tally.errors or tally.fall))
        self._follow_taken()
        run.progress.end()

    def _note_fall(self, tally: CaptureTally) -> None:
        run, today = self._run, now()
        if run.limit is None and not run.stopping():
            since = compared_since(tally.source, today)
            earlier = run.ledger.requests.daily_captures(run.collection.name, tally.source.name, run.session, since)
            tally.fall = describe_fall(tally.taken, today.date(), earlier, CAPTURES)

    def _follow_taken(self) -> None:
        """Follow captures of the sources that make no requests. The crawl follows the captures of other sources."""
        run = self._run
        if self._captures.follow is None:
            return
        following = AnswerFollower(
            run, [source for source in self._sources if requests_of(run.collection, source) is None]
        )
        while True:
            if not run.stopping():
                following.submit_next()
            if not following.in_progress:
                return
            following.collect(0.0 if following.has_results else QUICK_SECONDS)
            if following.has_results:
                with run.ledger.writing() as writer:
                    following.write_results(writer, lambda *_: None)  # these sources make no requests
            run.tick()

    def _take_kept(self, source: Source, name: str, tally: CaptureTally) -> None:
        """Take the wanted captures of this ledger among those that the source has not read yet.

        `name` names who made them: a collection, or one of its sources (`collection:source`).
        """
        run = self._run
        index = self._capture_ledger.index_row(source, name)
        collection, _, source_name = name.partition(":")
        position = index.place
        kept_by = [(collection, source_name)]
        while not self._capture_ledger.must_stop():
            pages: list[list[RecordedAttempt]] = []
            while len(pages) < PAGES_AHEAD and (
                page := run.ledger.captures.after(position, PAGE_SIZE, kept_by, self._captures.statuses)
            ):
                position = page[-1].seq
                pages.append(page)
            if not pages:
                return
            documents = [[recorded for recorded in page if _answers_get(recorded)] for page in pages]
            lines = [[index_line(recorded) for recorded in responses] for responses in documents]
            selections = self._select_pages(source, lines)
            for page, responses, selection in zip(pages, documents, selections, strict=True):
                if self._capture_ledger.must_stop():
                    return
                self._record_page(source, index, _Page(responses, page[-1].seq, selection), tally)
                run.progress.step(len(page), 0)
                run.tick()

    def _select_pages(self, source: Source, pages: Sequence[Sequence[CdxLine]]) -> list[Selection]:
        """Run the rules in the pool on pages of lines. Return a selection for each; lines that fail are left out."""

        def run_rules(pages: Sequence[Sequence[CdxLine]]) -> list[Selection | Reading]:
            jobs = [SelectJob(self._captures, source, self._run.harvest.options, tuple(lines)) for lines in pages]
            done_jobs = self._run.pool.run(jobs, batch_size=1, pulse=self._run.tick)
            return [_refuse_wrong_indexes(done.result, len(job.lines)) for job, done in done_jobs]

        selections = []
        for lines, page_outcome in zip(pages, run_rules(pages), strict=True):
            wanted: list[int] = []
            left_out: list[LeftOutLines] = []
            for start, outcome in search_fault(lines, page_outcome, run_rules):
                if isinstance(outcome, Selection):
                    wanted += [start + index for index in outcome.wanted]
                    left_out += outcome.left_out
                else:
                    left_out.append(left_out_by_fault(outcome, lines[start].url))
            selections.append(Selection(tuple(wanted), tuple(sum_left_out(left_out))))
        return selections

    def _record_page(self, source: Source, index: IndexRow, page: _Page, tally: CaptureTally) -> None:
        run, name, capture_ledger = self._run, self._run.collection.name, self._capture_ledger
        if run.limit is not None and capture_ledger.taken + len(page.selection.wanted) > run.limit:
            last_allowed = page.selection.wanted[run.limit - capture_ledger.taken - 1]
            responses = page.responses[: last_allowed + 1]
            (selection,) = self._select_pages(source, [[index_line(recorded) for recorded in responses]])
            page = _Page(responses, responses[-1].seq, selection)
        collected: list[CollectedCapture] = []
        taken_places: set[ArchivePlace] = set()  # two captures may refer to one record
        with run.ledger.writing() as writer:
            for position in page.selection.wanted:
                recorded = page.responses[position]
                assert recorded.attempt.kept is not None
                place: ArchivePlace | None = recorded.attempt.kept.place
                if not self._captures.unchanged:  # a repeat is taken only if none with its bytes was: rules may differ
                    place = run.ledger.captures.place_of(recorded.attempt)
                assert place is not None
                if place in taken_places:
                    tally.known += 1
                elif number := run.ledger.captures.taken(name, place):
                    collected.append(CollectedCapture(number, place))
                else:
                    attempt = recorded.attempt._replace(message="")
                    capture_ledger.take_capture(writer, TakenCapture(attempt, place, index.id, recorded.seq), tally)
                taken_places.add(place)
            capture_ledger.share_captures(writer, collected, index, tally)
            progress = IndexProgress(page.last_attempt, len(page.responses), page.selection.left_out)
            capture_ledger.store_progress(writer, index, progress, tally)


def _answers_get(recorded: RecordedAttempt) -> bool:
    """Return whether a response answers a plain GET."""
    return hash64(recorded.attempt.url) == recorded.attempt.target


def _refuse_wrong_indexes(result: Selection | Reading, count: int) -> Selection | Reading:
    if isinstance(result, Reading) or all(0 <= index < count for index in result.wanted):
        return result
    return Reading(Reason.STEP_FAILED, (Finding("WrongLine", "the rules selected a line that does not exist"),))
