"""Run the rules of a collection on the lines of an index of captures, and count the lines that each rule leaves out.

The rules are a function that the collection defines. It returns None for a line whose capture is wanted, or a Skip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.clock import spell
from windrow.contract import NOT_MODIFIED, OK, Captures, Collection, Skip
from windrow.formats.cdx import CaptureColumns
from windrow.formats.text import replace_lone_surrogates
from windrow.ledger.sessions import OTHER_RULES
from windrow.model import CdxLine, Limits, Reading, RecordedAttempt, Source
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.ledger import Ledger

MAX_RULES = 200
"""The maximum number of rules of an index that are counted separately.

Further rules with the same reason count as one.
"""

MAX_KINDS = 10_000
"""The maximum number of kinds (pairs of media type and status) for which the rules' result is remembered."""

PARTS = 16
"""The maximum number of parts into which lines are divided at a time, to find a line at which the rules failed."""

_MAX_RULE_LENGTH = 200  # the maximum number of characters of a rule's name that are stored


class SelectJob(NamedTuple):
    """A job that runs a source's rules on lines of an index."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    lines: Sequence[CdxLine]

    def run(self, _limits: Limits) -> Selection:
        """Run the rules on the lines, and return which lines they select."""
        return select_lines(self)


class LeftOutLines(NamedTuple):
    """Lines that a rule left out: the rule, their number, and the address of the first one (or its text, or "")."""

    reason: Reason
    rule: str  # its name
    lines: int
    url: str


def left_out_by_fault(failure: Reading, url: str) -> LeftOutLines:
    """Return the count of one line that is left out because the rules failed at it. `url` is its address or text."""
    reason = failure.reason or Reason.STEP_FAILED
    message = failure.findings[0].message if failure.findings else reason.meaning
    return LeftOutLines(reason, message[:_MAX_RULE_LENGTH], 1, url)


def search_fault(
    lines: Sequence[Any], outcome: Any, run: Callable[[Sequence[Any]], Sequence[Any]]
) -> Iterator[tuple[int, Any]]:
    """Yield `outcome`, the result of the rules for `lines`. If it is a failed reading, yield results for parts instead.

    `run` runs the rules: it takes a list of parts of `lines` and returns a result for each. A part whose result is a
    failed reading is divided again, down to single lines. Each result is yielded with the index of its first line in
    `lines`.
    """
    if len(lines) == 1 or not isinstance(outcome, Reading):
        yield 0, outcome
        return
    size = -(-len(lines) // PARTS)
    starts = range(0, len(lines), size)
    parts = [lines[start : start + size] for start in starts]
    for start, part, part_outcome in zip(starts, parts, run(parts), strict=True):
        yield from ((start + index, result) for index, result in search_fault(part, part_outcome, run))


class Selection(NamedTuple):
    """The indexes of the wanted lines of a job, and how many lines each rule left out."""

    wanted: tuple[int, ...]
    left_out: tuple[LeftOutLines, ...]


class IndexRules:
    """Runs the rules of one source on lines, and counts the lines left out for each Skip."""

    def __init__(self, captures: Captures, source: Source, options: Mapping[str, Any]) -> None:
        self._rules = captures.select(source, options)
        self._skip_kind = captures.kinds(source, options) if captures.kinds else None
        self._kinds: dict[tuple[str, str], Skip | None] = {}  # by (media type, status): why all are left out
        self._counts: dict[Skip, list[Any]] = {}  # [number of lines, address of the first one]

    def is_wanted(self, line: CdxLine) -> bool:
        """Return whether a line is wanted; if it is not, count it.

        If the rules raise an error, the line is counted as left out, with the error as the name of the rule.
        """
        try:
            skip = self._rules(line)
        except Exception as error:  # noqa: BLE001 an error at one line must be reported, and not lose the other lines
            skip = Skip(Reason.STEP_FAILED, "", f"{type(error).__name__}: {error}")
        if skip is None:
            return True
        count = self._counts.get(skip)
        if count is None:
            self._counts[skip] = [1, line.url]
        else:
            count[0] += 1
        return False

    def select_columns(self, columns: CaptureColumns) -> list[CdxLine]:
        """Return the wanted lines of `columns`. All lines of an unwanted kind are left out together."""
        kinds = [*zip(columns.mime, columns.status, strict=True)]
        counts = Counter(kinds)
        for kind in counts:
            if kind not in self._kinds:
                if len(self._kinds) >= MAX_KINDS:
                    self._kinds.clear()
                self._kinds[kind] = self._skip_of_kind(*columns.lines([kinds.index(kind)]))
        for kind, count in counts.items():
            if (skip := self._kinds.get(kind)) is not None:
                self.count_left_out(skip, columns.url[kinds.index(kind)], count)
        undecided_kinds = {kind for kind in counts if self._kinds.get(kind) is None}
        positions = (
            [position for position, kind in enumerate(kinds) if kind in undecided_kinds] if undecided_kinds else ()
        )
        lines = columns.lines(positions)
        with suppress(Exception):  # `is_wanted` finds the line of the error below
            if not any(map(self._rules, lines)):
                return lines
        return [line for line in lines if self.is_wanted(line)]

    def _skip_of_kind(self, line: CdxLine) -> Skip | None:
        if self._skip_kind is None:
            return None
        try:
            return self._skip_kind(line.mime, line.status)
        except Exception:  # noqa: BLE001 each line is checked instead, and its error is counted
            return None

    def count_left_out(self, skip: Skip, url: str, lines: int = 1) -> None:
        """Count lines that are left out without running the rules on each; `url` is the address of the first line."""
        self._counts.setdefault(skip, [0, url])[0] += lines

    def left_out(self) -> tuple[LeftOutLines, ...]:
        """Return how many lines were left out by each rule."""
        return tuple(
            sum_left_out(
                LeftOutLines(skip.reason, rule_name(skip), count, replace_lone_surrogates(url)[:2048])
                for skip, (count, url) in self._counts.items()
            )
        )


def select_lines(job: SelectJob) -> Selection:
    """Run the rules on each line of a job, and return which lines they select."""
    rules = IndexRules(job.captures, job.source, job.options)
    positions = tuple(position for position, line in enumerate(job.lines) if rules.is_wanted(line))
    return Selection(positions, rules.left_out())


def rule_name(skip: Skip) -> str:
    """Return the name of the rule that returned a Skip: its message, or if that is empty the meaning of its reason."""
    return (skip.message or skip.reason.meaning)[:_MAX_RULE_LENGTH]


def sum_left_out(parts: Iterable[LeftOutLines]) -> list[LeftOutLines]:
    """Add up counts by rule. After MAX_RULES rules, all further rules with the same reason are counted as one rule."""
    sums: dict[tuple[Reason, str], LeftOutLines] = {}
    for part in parts:
        key = (part.reason, part.rule)
        if key not in sums and len(sums) >= MAX_RULES:
            key = (part.reason, OTHER_RULES)
        earlier = sums.get(key)
        lines, url = (earlier.lines, earlier.url) if earlier else (0, part.url)
        sums[key] = LeftOutLines(*key, lines + part.lines, url)
    return list(sums.values())


class ExplainedCapture(NamedTuple):
    """A capture of a collection. `left_out` has the rule that leaves it out now, or is None if it is wanted."""

    recorded: RecordedAttempt
    found_in: str  # the input of the source: a collection, or `collection:source`
    left_out: LeftOutLines | None


def explain_captures(
    ledger: Ledger, collection: Collection, source: Source, options: Mapping[str, Any], address: int
) -> list[ExplainedCapture]:
    """Run a source's rules again on the captures of an address that its inputs contain, and return the results.

    `address` is the digest of the address.
    """
    explained: list[ExplainedCapture] = []
    if (captures := collection.captures) is None:
        return explained
    for name in captures.inputs(source).kept:
        collection_name, _, source_name = name.partition(":")
        for recorded in ledger.captures.of_address(collection_name, address):
            if source_name in {"", recorded.source}:
                selection = select_lines(SelectJob(captures, source, options, (index_line(recorded),)))
                explained.append(ExplainedCapture(recorded, name, next(iter(selection.left_out), None)))
    return explained


def index_line(recorded: RecordedAttempt) -> CdxLine:
    """Return the CDX line of a stored response. A response with status 304 gets the status of the page, 200."""
    attempt, response = recorded.attempt, recorded.attempt.kept
    assert response is not None
    started = spell(attempt.started)
    timestamp = started[:4] + started[5:7] + started[8:10] + started[11:13] + started[14:16] + started[17:19]
    status = OK if attempt.status == NOT_MODIFIED else attempt.status
    warc, offset, length = response.place
    return CdxLine("", timestamp, attempt.url, response.mime, status, response.digest, length, offset, warc)
