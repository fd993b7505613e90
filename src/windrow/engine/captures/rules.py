"""The rules of a collection over the lines of an index, and what they left out."""

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
"""Rules of one index that are counted each by itself; what others leave out is counted together."""

KINDS = 10_000
"""Media types with their statuses of which is remembered whether they are wanted."""

PARTS = 16
"""Parts into which lines are split, again and again, to find the one over which the rules' process was ended."""

_RULE = 200  # characters of a rule's name that are kept


class SelectJob(NamedTuple):
    """Some lines of an index, to be chosen from for a source."""

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
    """Return a line over which the rules' process was ended as one that is left out for that reason."""
    reason = failed.reason or Reason.STEP_FAILED
    told = failed.findings[0].message if failed.findings else reason.meaning
    return LeftOutLines(reason, told[:_RULE], 1, url)


class Selection(NamedTuple):
    """What became of the lines of a job: the places of those that are wanted, and what left out the others."""

    wanted: tuple[int, ...]
    left_out: tuple[LeftOutLines, ...]


class IndexRules:
    """The rules of one source at work, and the count of what they leave out."""

    def __init__(self, captures: Captures, source: Source, options: Mapping[str, Any]) -> None:
        """Have the collection make its rules."""
        self._rules = captures.select(source, options)
        self._of_kind = captures.kinds(source, options) if captures.kinds else None
        self._kinds: dict[tuple[str, str], Skip | None] = {}
        self._counts: dict[Skip, list[Any]] = {}

    def want(self, line: CdxLine) -> bool:
        """Tell whether a line is wanted; a rule that fails at it leaves it out, with the fault as its name."""
        try:
            skip = self._rules(line)
        except Exception as error:  # noqa: BLE001 a fault at one line must not lose the others, nor be silent
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
        """Return which of many lines are wanted; those whose kind is not are left out together."""
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
        open_ = {kind for kind in counts if self._kinds.get(kind) is None}
        places = [place for place, kind in enumerate(kinds) if kind in open_] if open_ else ()
        lines = columns.lines(places)
        with suppress(Exception):  # which line it was is found below
            if not any(map(self._rules, lines)):
                return lines
        return [line for line in lines if self.want(line)]

    def _skip_of_kind(self, line: CdxLine) -> Skip | None:
        """Return why no line of such a kind is wanted; None where that is to be asked of each."""
        if self._of_kind is None:
            return None
        try:
            return self._of_kind(line.mime, line.status)
        except Exception:  # noqa: BLE001 each line is asked then, and has its fault counted
            return None

    def count(self, skip: Skip, url: str, lines: int = 1) -> None:
        """Count lines that are left out before any rule."""
        self._counts.setdefault(skip, [0, url])[0] += lines

    def left_out(self) -> tuple[LeftOutLines, ...]:
        """Return what was left out, by rule."""
        return tuple(added(_left_out(self._counts)))


def select(job: SelectJob) -> Selection:
    """Run the rules on each line."""
    rules = IndexRules(job.captures, job.source, job.options)
    wanted = tuple(number for number, line in enumerate(job.lines) if rules.want(line))
    return Selection(wanted, rules.left_out())


def _left_out(counts: Mapping[Skip, Sequence[Any]]) -> Iterable[LeftOutLines]:
    for skip, (count, url) in counts.items():
        yield LeftOutLines(skip.reason, named(skip), count, url.encode("utf-8", "replace").decode()[:2048])


def named(skip: Skip) -> str:
    """Return the name of the rule that left a line out."""
    return (skip.message or skip.reason.meaning)[:_RULE]


def added(parts: Iterable[LeftOutLines]) -> list[LeftOutLines]:
    """Add up what rules left out, rule by rule; from so many rules on, all others together."""
    found: dict[tuple[Reason, str], LeftOutLines] = {}
    for part in parts:
        key = (part.reason, part.rule)
        if key not in found and len(found) >= RULES:
            key = (part.reason, OTHER_RULES)
        before = found.get(key)
        lines, url = (before.lines, before.url) if before else (0, part.url)
        found[key] = LeftOutLines(*key, lines + part.lines, url)
    return list(found.values())


class CaptureStory(NamedTuple):
    """What rules say today of a capture that somebody keeps: None where it is wanted."""

    recorded: RecordedAttempt
    found_in: str
    left_out: LeftOutLines | None


def stories(
    ledger: Ledger, collection: Collection, source: Source, options: Mapping[str, Any], address: int
) -> list[CaptureStory]:
    """Say of each capture of an address that a source could take whether it is wanted, by running the rules again."""
    found: list[CaptureStory] = []
    if (captures := collection.captures) is None:
        return found
    for name in captures.inputs(source).kept:
        keeper, _, only = name.partition(":")
        for one in ledger.captures.of_address(keeper, address):
            if only in {"", one.source}:
                selection = select(SelectJob(captures, source, options, (kept_line(one),)))
                found.append(CaptureStory(one, name, next(iter(selection.left_out), None)))
    return found


def kept_line(recorded: RecordedAttempt) -> CdxLine:
    """Return what the ledger says of a kept answer as an index line."""
    attempt, kept = recorded.attempt, recorded.attempt.kept
    assert kept is not None
    at = spell(attempt.started)
    stamp = at[:4] + at[5:7] + at[8:10] + at[11:13] + at[14:16] + at[17:19]
    status = OK if attempt.status == NOT_MODIFIED else attempt.status
    return CdxLine("", stamp, attempt.url, kept.mime, status, kept.digest, kept.place.length, kept.place.offset,
                   kept.place.warc)  # fmt: skip
