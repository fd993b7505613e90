"""`windrow status` shows the state of a workspace; the module also formats a session's summary as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.changes import change_lines
from windrow.cli.command import Console, command, shorten_lines
from windrow.formats.text import counted, prefix_name, show, spell_duration, spell_size, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.app.status import WorkspaceState
    from windrow.app.summary import SessionSummary
    from windrow.ledger.sessions import RuleCount

_PROBLEMS_SHOWN = 20
"""The maximum number of problems in the text of a summary or of the state."""

_CHANGES_SHOWN = 20
"""The maximum number of changes in the text of a session's summary."""


def summary_lines(summary: SessionSummary) -> list[str]:
    """Return a session's summary as lines and tables."""
    text = [_summary_head(summary), *(f"repaired: {line}" for line in summary.repairs)]
    if summary.sources:
        head = ["source", "offered", "new", "changed", "gone", "refused", "fetched", "same", "failed", "received"]
        page_columns = ["moved", "left", "same text"] if summary.outcomes else []
        page_columns += ["still gone"] if any(source.still_gone for source in summary.sources) else []
        rows = [
            (*source[:9], spell_size(source.received),
             *(source.redirected, source.waiting, source.same_text, source.still_gone)[: len(page_columns)])
            for source in summary.sources
        ]  # fmt: skip
        text.append(table([*head, *page_columns], rows, "  "))
    text += [f"  {prefix_name(source.source, source.error)}" for source in summary.sources if source.error]
    text += [f"  {line}" for line in summary.other_errors]
    text += [f"  {line}" for line in _problem_lines(summary.problems)]
    text += [f"  {line}" for line in summary.notes]
    if summary.outcomes:
        head = ["collection", "answer", "times"]
        first_column = 0 if len({outcome.collection for outcome in summary.outcomes}) > 1 else 1
        text.append(table(head[first_column:], [outcome[first_column:] for outcome in summary.outcomes], "  "))
    text += left_out_table(summary.left_out)
    if summary.phases:
        head = ["item", "phase", "done", "cancelled", "failed"]
        text.append(table(head, [phase[1:] for phase in summary.phases], "  "))
    if summary.reasons:
        text.append(table(["reason", "items", "meaning"], summary.reasons, "  "))
    if summary.changes:
        change_rows = change_lines(summary.changes[:_CHANGES_SHOWN])
        has_more = len(summary.changes) > _CHANGES_SHOWN or summary.changes_left_out
        text += ["changes:", *(f"  {line}" for line in change_rows)]
        text += ["  and more: windrow changes"] if has_more else []
    if summary.findings:
        text.append(table(["finding", "level", "times"], summary.findings, "  "))
    if summary.differing:
        text.append("to take the other content: the commands in windrow status")
    if summary.still_open:
        open_documents = f"{summary.still_open:,} failed, not fetched or not read"
        text.append(f"still open: {open_documents}, including earlier runs (windrow status)")
    if not summary.kept_all:
        text.append("try: windrow why NAME for the history of an item or source; windrow status for all")
    return shorten_lines(text)


def _summary_head(summary: SessionSummary) -> str:
    from windrow.app.summary import describe_end  # noqa: PLC0415 `windrow --help` imports this module

    if summary.ended is None or summary.exit_code is None:
        return f"session {summary.session} began {summary.began:%Y-%m-%d %H:%M:%S} and has not ended"
    duration = spell_duration((summary.ended - summary.began).total_seconds())
    return f"session {summary.session} took {duration}: {describe_end(summary)}"


def _problem_lines(problems: Sequence[str]) -> list[str]:
    lines, more = [*problems[:_PROBLEMS_SHOWN]], len(problems) - _PROBLEMS_SHOWN
    return [*lines, f"and {counted(more, 'problem')} more: windrow status --json"] if more > 0 else lines


def left_out_table(rules: Sequence[RuleCount]) -> list[str]:
    """Return a list with a table of what each rule or cap left out and what was damaged, or [] if `rules` is empty."""
    rows = [(count.source, count.addresses, count.rule, count.example) for count in rules]
    return [table(["source", "left out", "rule", "such as"], rows, "  ")] if rows else []


_FILES_SHOWN = 20
"""The maximum number of files in the lists of files that will be requested again later, and of those that differ."""


@command("status", examples=["windrow status", "windrow status --json"])
def status_command(console: Console) -> int:
    """Show a row for each source, and the items in each phase and status, with reasons.

    `items` are the files that a source offers, its pages or its records. The other counts are those of the last session
    that requested something from the source, but `failed` counts the items failed now. Works during a run too.
    """
    state = console.open().status()
    if console.json:
        console.message("status", state)
        return 0
    console.inform(_status_head(state))
    console.print(_status_lines(state))
    if state.undeclared:
        names = ", ".join(state.undeclared)
        console.inform(f"not declared: {names}; what was kept of them stays until: windrow forget NAME")
    if failing := [source.source for source in state.sources if source.failed or source.error]:
        console.inform(f"try: windrow why NAME ({', '.join(failing)}) for the errors at these sources")
    return 0


def _status_head(state: WorkspaceState) -> str:
    from windrow.app.summary import describe_end  # noqa: PLC0415 as above

    text = f"workspace {state.workspace} in {state.folder}"
    session = state.last
    if state.holder:
        text += f"; running now: {state.holder}"
    elif session is None:
        text += "; no run so far"
    elif session.ended is None:
        text += f"; session {session.session} was interrupted; the next run continues from there"
    else:
        text += f"; session {session.session} ended {show(session.ended)} UTC: {describe_end(session)}"
    return text


def _unread_rows(state: WorkspaceState) -> list[tuple[object, ...]]:
    return [
        (*count[:4], count.due or f"a corrected version; windrow retry --reason {count.reason}")
        for count in state.unread
    ]


def _source_notes(state: WorkspaceState) -> Iterator[str]:
    for source in state.sources:
        if source.waiting:
            count = counted(source.waiting, "address")
            yield prefix_name(source.source, f"{count} due now")
        if source.error:
            yield prefix_name(source.source, source.error)


def _error_lines(state: WorkspaceState) -> list[str]:
    last_errors = state.last.other_errors if state.last else []
    not_counted = (f"not counted: {line}" for line in state.not_counted)
    return [*state.errors, *last_errors, *_problem_lines(state.problems), *not_counted]


def _status_lines(state: WorkspaceState) -> list[str]:
    head = ["source", "owner", "state", "last good", "items", "new", "changed", "same", "gone", "failed", "next due"]
    rows = [
        (source.source, source.owner, source.state, source.last_good, source.items,
         source.new, source.changed, source.same, source.gone, source.failed, source.next_due)
        for source in state.sources
    ]  # fmt: skip
    lines: list[str] = [
        table(head, rows) if rows else "no sources; try: windrow new source NAME URL --collection COLLECTION"
    ]
    if notes := [*_source_notes(state)]:
        lines += ["", *notes]
    if errors := _error_lines(state):
        lines += ["", *errors]
    if state.waits:
        lines += ["", *(f"{wait.collection}: {wait.describe()}" for wait in state.waits)]
    if state.left_out:
        lines += ["", *left_out_table(state.left_out)]
    if state.states:
        lines += ["", table(["collection", "item", "phase", "status", "items"], state.states)]
    if state.reasons:
        lines += ["", table(["reason", "items", "meaning"], state.reasons)]
    if state.unread:
        lines += ["", table(["collection", "phase", "not read", "documents", "read again after"], _unread_rows(state))]
    if state.differing:
        lines += ["", "files with other content at a source than was fetched:"]
        lines += [f"  {file.key}: {file.message}" for file in state.differing[:_FILES_SHOWN]]
        lines += _more(state.differing)
    if state.resting:
        files = state.resting[:_FILES_SHOWN]
        resting = [(file.key, file.sessions, file.until, f"windrow retry {file.key}") for file in files]
        lines += ["", table(["file", "failed in sessions", "requested again after", "or now, with"], resting)]
        lines += _more(state.resting)
    return lines


def _more(files: Sequence[object]) -> list[str]:
    return [f"and {len(files) - _FILES_SHOWN:,} more"] if len(files) > _FILES_SHOWN else []
