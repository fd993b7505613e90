"""Write the reference of the Python API: cog calls this from the page."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import windrow
from windrow import content, errors, model
from windrow.adapters import adapter
from windrow.adapters.record_story import RecordHit
from windrow.app import begin, question, status, story, summary
from windrow.app.check import Checkup
from windrow.collections.pages.adapter.search import PageHit
from windrow.config import Workspace
from windrow.engine import check, frontier, preview, replay, source_counts, takedown
from windrow.engine.listed import rest
from windrow.settings.setting import Value

RESULTS: tuple[type, ...] = (
    summary.SessionSummary, summary.SourceCount, summary.PhaseCount, summary.ReasonCount, summary.FindingCount,
    source_counts.OutcomeCount, adapter.SourceChange, status.WorkspaceState, status.SourceState, status.StateCount,
    rest.RestingItem,
    story.StoryAnswer, story.Story, story.Event, question.Meaning, adapter.Explanation, adapter.Message,
    preview.Preview, preview.PlannedSource, preview.Waiting, preview.Reads,
    adapter.SearchAnswer, adapter.SearchResult, PageHit, RecordHit, adapter.SnippetMark,
    adapter.Comparison, model.TextChange, model.DiffLine,
    adapter.FetchedBytes, adapter.DocumentReport, adapter.RecordPreview, adapter.DocumentFinding,
    content.Extract, content.JudgedBlock, content.ContentLink, content.ContentImage, frontier.Chosen,
    adapter.ReplayResult, adapter.VersionCounts, replay.ReplayChange, Checkup, check.Fault,
    adapter.TakedownEstimate, takedown.TakedownResult, begin.Prepared, begin.NewCollection, Workspace,
    Value,
)  # fmt: skip
"""What the methods return and what lies in that, in the order of the page."""


def methods() -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a workspace, in the order of the code.

    >>> [name for name, _ in methods()][:3]
    ['init', 'prepare', 'new_source']
    """
    for name, found in vars(windrow.Windrow).items():
        if not name.startswith("_") and name != "ledger" and not isinstance(found, property):
            yield name, getattr(windrow.Windrow, name)


def api() -> str:
    """Write the signature and the docstring of every method."""
    lines = []
    for name, found in methods():
        lines += [f"\n### {name}\n", f"```python\n{_signature(name, found)}\n```\n", inspect.getdoc(found) or ""]
    return "\n".join(lines) + "\n"


def _signature(name: str, found: Any) -> str:
    """Spell a signature in a line, or with an argument on each where that is too long."""
    asked = inspect.signature(found)
    parts, last = [], None
    for one in asked.parameters.values():
        if one.kind is one.KEYWORD_ONLY and last is not one.KEYWORD_ONLY:
            parts.append("*")
        last = one.kind
        if one.name != "self":
            default = "" if one.default is one.empty else f" = {one.default!r}"
            parts.append(f"{'**' if one.kind is one.VAR_KEYWORD else ''}{one.name}: {one.annotation}{default}")
    line = f"{name}({', '.join(parts)}) -> {asked.return_annotation}"
    if len(line) <= 110:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {asked.return_annotation}"])


def results() -> str:
    """Write the fields of everything that the methods return."""
    lines = []
    for one in RESULTS:
        about = " ".join((inspect.getdoc(one) or "").split("\n\n")[0].split())
        lines += [f"\n### {_title(one)}\n", f"`{one.__module__}.{one.__qualname__}`. {about}\n"]
        lines += ["| field | type |\n| --- | --- |", *(f"| `{name}` | `{kind}` |" for name, kind in _fields(one))]
    return "\n".join(lines) + "\n"


def _title(one: type) -> str:
    same = [each for each in RESULTS if each.__name__ == one.__name__]
    return one.__name__ if len(same) == 1 else f"{one.__name__} ({one.__module__.rpartition('.')[2]})"


def _fields(one: type) -> Iterator[tuple[str, str]]:
    localns = {each.__name__: each for each in RESULTS}
    hints = typing.get_type_hints(one, localns=localns)
    names = [each.name for each in fields(one)] if is_dataclass(one) else one._fields  # type: ignore[attr-defined]
    for name in names:
        yield name, _kind(hints[name]).replace("|", "\\|")
    for name, found in vars(one).items():
        asked = found.fget if isinstance(found, property) else getattr(found, "func", None)
        if asked is not None and not name.startswith("_"):
            yield name, _kind(typing.get_type_hints(asked, localns=localns)["return"]).replace("|", "\\|")


def _kind(hint: Any) -> str:
    """Spell a type without the modules in which it lies.

    >>> _kind(tuple[str, ...])
    'tuple[str, ...]'
    """
    spelled = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", spelled).replace("NoneType", "None")


def tree() -> str:
    """List the errors and what they mean, those below another one indented."""
    found: list[type[errors.WindrowError]] = [
        one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.WindrowError)
    ]
    return "\n" + "".join(
        f"{'  ' * (len(one.__mro__) - 4)}- `windrow.{one.__name__}`: {(one.__doc__ or '').splitlines()[0]}\n"
        for one in found
    )
