"""Run the rules of a collection on the lines of an index, and count what they leave out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.clock import spell
from windrow.contract import NOT_MODIFIED, OK, Captures, Collection, Skip
from windrow.formats.cdx import CaptureColumns
from windrow.ledger.sessions import OTHER_RULES
from windrow.model import CdxLine, Limits, Reading, RecordedAttempt, Source
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.ledger import Ledger

RULES = 200
"""Rules of one index that are counted separately; further ones are counted together."""

KINDS = 10_000
"""Pairs of media type and status whose verdict is remembered."""

PARTS = 16
"""Parts into which lines are split repeatedly, to find the one that killed the rules' process."""

_RULE = 200  # characters of a rule's name that are kept


class SelectJob(NamedTuple):
    """Lines of an index, to be selected for a source."""

    captures: Captures
    source: Source
    options: Mapping[str, Any]
    lines: Sequence[CdxLine]

    def run(self, _limits: Limits) -> Selection:
        """Run the rules on each line."""
        return select(self)


class LeftOutLines(NamedTuple):
    """Lines that a rule left out: how many, and the address of the first one."""

    reason: Reason
    rule: str
    lines: int
    url: str


def left_out_by_fault(failed: Reading, url: str) -> LeftOutLines:
    """Return a line that killed the rules' process as left out for that reason."""
    reason = failed.reason or Reason.STEP_FAILED
    message = failed.findings[0].message if failed.findings else reason.meaning
    return LeftOutLines(reason, message[:_RULE], 1, url)


class Selection(NamedTuple):
    """The positions of the wanted lines of a job, and what rules left out."""

    wanted: tuple[int, ...]
    left_out: tuple[LeftOutLines, ...]


class IndexRules:
    """Runs the rules of one source, and counts what they leave out."""

    def __init__(self, captures: Captures, source: Source, options: Mapping[str, Any]) -> None:
        self._rules = captures.select(source, options)
        self._skip_kind = captures.kinds(source, options) if captures.kinds else None
        self._kinds: dict[tuple[str, str], Skip | None] = {}
        self._counts: dict[Skip, list[Any]] = {}

    def want(self, line: CdxLine) -> bool:
        """Return whether a line is wanted; a rule that raises an error leaves it out, named after the error."""
        try:
            skip = self._rules(line)
        except Exception as error:  # noqa: BLE001 an error at one line must not lose the others, nor pass unseen
            skip = Skip(Reason.STEP_FAILED, "", f"{type(error).__name__}: {error}")
        if skip is None:
            return True
        count = self._counts.get(skip)
        if count is None:
            self._counts[skip] = [1, line.url]
        else:
            count[0] += 1
        return False

    def wanted(self, columns: CaptureColumns) -> list[CdxLine]:
        """Return the wanted ones of many lines; lines of an unwanted kind are left out together."""
        kinds = [*zip(columns.mime, columns.status, strict=True)]
        counts = Counter(kinds)
        for kind in counts:
            if kind not in self._kinds:
                if len(self._kinds) >= KINDS:
                    self._kinds.clear()
                self._kinds[kind] = self._skip_of_kind(*columns.lines([kinds.index(kind)]))
        for kind, count in counts.items():
            if (skip := self._kinds.get(kind)) is not None:
                self.count(skip, columns.url[kinds.index(kind)], count)
        undecided_kinds = {kind for kind in counts if self._kinds.get(kind) is None}
        positions = (
            [position for position, kind in enumerate(kinds) if kind in undecided_kinds] if undecided_kinds else ()
        )
        lines = columns.lines(positions)
        with suppress(Exception):  # the line at fault is found below
            if not any(map(self._rules, lines)):
                return lines
        return [line for line in lines if self.want(line)]

    def _skip_of_kind(self, line: CdxLine) -> Skip | None:
        """Return why no line of this kind is wanted; None if each line must be checked."""
        if self._skip_kind is None:
            return None
        try:
            return self._skip_kind(line.mime, line.status)
        except Exception:  # noqa: BLE001 each line is checked then, and its error counted
            return None

    def count(self, skip: Skip, url: str, lines: int = 1) -> None:
        """Count lines that are left out before any rule."""
        self._counts.setdefault(skip, [0, url])[0] += lines

    def left_out(self) -> tuple[LeftOutLines, ...]:
        """Return what was left out, by rule."""
        return tuple(sum_left_out(_left_out(self._counts)))


def select(job: SelectJob) -> Selection:
    """Run the rules on each line."""
    rules = IndexRules(job.captures, job.source, job.options)
    positions = tuple(number for number, line in enumerate(job.lines) if rules.want(line))
    return Selection(positions, rules.left_out())


def _left_out(counts: Mapping[Skip, Sequence[Any]]) -> Iterable[LeftOutLines]:
    for skip, (count, url) in counts.items():
        yield LeftOutLines(skip.reason, rule_name(skip), count, url.encode("utf-8", "replace").decode()[:2048])


def rule_name(skip: Skip) -> str:
    """Return the name of the rule that left a line out."""
    return (skip.message or skip.reason.meaning)[:_RULE]


def sum_left_out(parts: Iterable[LeftOutLines]) -> list[LeftOutLines]:
    """Add up what was left out, rule by rule; beyond RULES, all other rules together."""
    sums: dict[tuple[Reason, str], LeftOutLines] = {}
    for part in parts:
        key = (part.reason, part.rule)
        if key not in sums and len(sums) >= RULES:
            key = (part.reason, OTHER_RULES)
        earlier = sums.get(key)
        lines, url = (earlier.lines, earlier.url) if earlier else (0, part.url)
        sums[key] = LeftOutLines(*key, lines + part.lines, url)
    return list(sums.values())


class ExplainedCapture(NamedTuple):
    """A capture that a collection keeps, and why rules leave it out today: None if it is wanted."""

    recorded: RecordedAttempt
    found_in: str
    left_out: LeftOutLines | None


def explain_captures(
    ledger: Ledger, collection: Collection, source: Source, options: Mapping[str, Any], address: int
) -> list[ExplainedCapture]:
    """Run the rules again on each capture of an address that a source could take."""
    explained: list[ExplainedCapture] = []
    if (captures := collection.captures) is None:
        return explained
    for name in captures.inputs(source).kept:
        keeper, _, only = name.partition(":")
        for recorded in ledger.captures.of_address(keeper, address):
            if only in {"", recorded.source}:
                selection = select(SelectJob(captures, source, options, (kept_line(recorded),)))
                explained.append(ExplainedCapture(recorded, name, next(iter(selection.left_out), None)))
    return explained


def kept_line(recorded: RecordedAttempt) -> CdxLine:
    """Return a stored response as an index line."""
    attempt, kept = recorded.attempt, recorded.attempt.kept
    assert kept is not None
    at = spell(attempt.started)
    stamp = at[:4] + at[5:7] + at[8:10] + at[11:13] + at[14:16] + at[17:19]
    status = OK if attempt.status == NOT_MODIFIED else attempt.status
    return CdxLine("", stamp, attempt.url, kept.mime, status, kept.digest, kept.place.length, kept.place.offset,
                   kept.place.warc)  # fmt: skip
