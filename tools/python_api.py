"""Write the reference of the Python API: cog calls these functions from the page."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import windrow
from windrow import caps, content, errors, model
from windrow.adapters import adapter, home, search_answer, trial
from windrow.adapters.record_search import RecordHit
from windrow.app import begin, captures, item_states, lookup, session_details, session_progress, status, story, summary
from windrow.app.check import Checkup
from windrow.collections.pages.adapter.search import PageHit
from windrow.collections.pages.search.rank import ScorePart
from windrow.config import Workspace
from windrow.engine import check, frontier, replay, source_counts, takedown
from windrow.engine.listed import rest
from windrow.engine.requests import waiting
from windrow.engine.steps import unread
from windrow.ledger import sessions
from windrow.ledger.typed import items
from windrow.query import clause, likeness, spelling
from windrow.settings.setting import Value

RESULTS: tuple[type, ...] = (
    summary.SessionSummary, summary.SourceCount, summary.PhaseCount, summary.ReasonCount, summary.FindingCount,
    source_counts.OutcomeCount, adapter.SourceChange, status.WorkspaceState, status.SourceState, item_states.StateCount,
    rest.RestingFile, unread.UnreadCount, waiting.ServiceWait, sessions.RuleCount, items.DifferingFile,
    captures.SessionEntry, captures.KeptCapture,
    session_details.SessionDetails, session_details.SessionTask, session_progress.SessionProgress,
    session_details.SourceRun,
    story.StoryAnswer, story.Story, story.Event, lookup.Meaning, adapter.Explanation, adapter.Message,
    frontier.Preview, frontier.PlannedSource, frontier.Waiting, frontier.Reads,
    search_answer.SearchAnswer, search_answer.SearchResult, likeness.Piece, PageHit, ScorePart, RecordHit,
    search_answer.SnippetMark, spelling.Suggestion, clause.FacetCounts,
    home.Home, home.HomeView, home.HomeLink, home.Facts, home.Fact, home.HomeTable, home.HomeList, home.HomeEntry,
    home.Agenda, home.AgendaEntry, home.Matrix, home.MatrixRow, home.MatrixCount, home.Series, home.Point,
    home.HomeText, home.Picture, home.HomeTimeline, home.HomeMoment, home.Group, home.HomeFeed,
    adapter.RecordList, adapter.ListedRecord, adapter.Comparison, model.TextChange, model.DiffLine,
    trial.FetchedBytes, trial.DocumentReport, trial.RecordPreview, trial.DocumentFinding,
    content.Extract, content.JudgedBlock, content.ContentLink, content.ContentImage, content.ContentOmission,
    caps.Excess, caps.Cap,
    frontier.Chosen,
    adapter.ReplayResult, adapter.VersionCounts, replay.ReplayChange, Checkup, check.Fault,
    adapter.TakedownEstimate, takedown.TakedownResult, begin.Prepared, begin.NewCollection, Workspace,
    Value,
)  # fmt: skip
"""The classes of objects that the methods return, and of the objects in these, in the order of the page."""


def methods() -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a workspace, in the order of the code.

    >>> [name for name, _ in methods()][:3]
    ['init', 'prepare', 'new_source']
    """
    for name, member in vars(windrow.Windrow).items():
        if not name.startswith("_") and name != "ledger" and not isinstance(member, property):
            yield name, getattr(windrow.Windrow, name)


def api() -> str:
    """Return the signature and the docstring of every method, as Markdown."""
    lines = []
    for name, method in methods():
        lines += [f"\n### {name}\n", f"```python\n{_signature(name, method)}\n```\n", inspect.getdoc(method) or ""]
    return "\n".join(lines) + "\n"


def _signature(name: str, method: Any) -> str:
    """Return a signature in one line or, if that is too long, with each parameter in a line."""
    signature = inspect.signature(method)
    parts, last = [], None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and last is not parameter.KEYWORD_ONLY:
            parts.append("*")
        last = parameter.kind
        if parameter.name != "self":
            default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
            stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
            parts.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    line = f"{name}({', '.join(parts)}) -> {signature.return_annotation}"
    if len(line) <= 110:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {signature.return_annotation}"])


def results() -> str:
    """Return a table of the fields of each class in RESULTS, as Markdown."""
    lines = []
    for kind in RESULTS:
        paragraphs = (inspect.getdoc(kind) or "").split("\n\n")
        about = "\n\n".join(" ".join(text.split()) for text in paragraphs if not text.startswith(">>>"))
        lines += [f"\n### {_title(kind)}\n", f"`{kind.__module__}.{kind.__qualname__}`. {about}\n"]
        lines += ["| field | type |\n| --- | --- |", *(f"| `{name}` | `{kind}` |" for name, kind in _fields(kind))]
    return "\n".join(lines) + "\n"


def _title(kind: type) -> str:
    same = [each for each in RESULTS if each.__name__ == kind.__name__]
    return kind.__name__ if len(same) == 1 else f"{kind.__name__} ({kind.__module__.rpartition('.')[2]})"


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    localns = {each.__name__: each for each in RESULTS}
    hints = typing.get_type_hints(kind, localns=localns)
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    for name in names:
        yield name, _kind(hints[name]).replace("|", "\\|")
    for name, member in vars(kind).items():
        getter = member.fget if isinstance(member, property) else getattr(member, "func", None)
        if getter is not None and not name.startswith("_"):
            yield name, _kind(typing.get_type_hints(getter, localns=localns)["return"]).replace("|", "\\|")


def _kind(hint: Any) -> str:
    """Return a type as a text, without the names of modules.

    >>> _kind(tuple[str, ...])
    'tuple[str, ...]'
    """
    spelled = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", spelled).replace("NoneType", "None")


def tree() -> str:
    """Return a list of all errors with their meanings, in which subclasses are indented."""
    classes: list[type[errors.WindrowError]] = [
        var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, errors.WindrowError)
    ]
    return "\n" + "".join(
        f"{'  ' * (len(error.__mro__) - 4)}- `windrow.{error.__name__}`: {(error.__doc__ or '').splitlines()[0]}\n"
        for error in classes
    )
