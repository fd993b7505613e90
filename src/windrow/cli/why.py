"""`windrow why` shows the history of an item, page, source or session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from windrow.cli.command import Console, command, option, shorten_lines
from windrow.cli.options import complete_sources
from windrow.formats.text import Table, show, table
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.app.lookup import Meaning
    from windrow.app.story import Story


@command(
    "why",
    examples=["windrow why https://example.org/a/page", "windrow why blog", "windrow why 1234 --json"],
    declared=True,
)
@click.argument("name", metavar="X", shell_complete=complete_sources)
@option("--limit", type=click.IntRange(1), metavar="N",
        help="Items, refused entries or failed documents to list (default: 50).")  # fmt: skip
def why_command(console: Console, name: str, limit: int | None) -> int:
    """Show all that happened to X, in order.

    X is an address, the name of a file or of a document in it, with or without its folder (FOLDER/NAME), a page,
    a host, the owner of files, a source, a session, or any number that another command printed. If X may mean
    several of these, they are listed. Items that were refused have a history too, as do documents that a rule left out
    of a zip.
    """
    answer = console.open().why(name, limit=limit)
    if answer.session is not None:
        from windrow.cli.status import summary_lines  # noqa: PLC0415

        if console.json:
            console.message("summary", answer.session)
        else:
            console.print(summary_lines(answer.session))
    for explanation in answer.explained:
        if console.json:
            for message in explanation.messages:
                console.message(*message[:2], omit_empty=message.omit_empty)
        else:
            console.print(shorten_lines(explanation.lines))
    if answer.story is not None:
        if console.json:
            _print_messages(console, answer.story)
        else:
            console.print(shorten_lines(_story_lines(answer.story)))
    elif answer.candidates:
        _print_candidates(console, answer.candidates, answer.more, name)
    for line in answer.unreadable:
        console.inform(f"not asked: {line}")
    return 0


def _print_messages(console: Console, story: Story) -> None:
    head = story._asdict()
    events, members = head.pop("events"), head.pop("members")
    console.message("story", head)
    for event in events:
        console.message("event", event, omit_empty=True)
    for member in members:
        console.message("member", member)


def _print_candidates(console: Console, candidates: tuple[Meaning, ...], more: int, name: str) -> None:
    """Print the items with this name; `more` is the number of items that are not listed."""
    if console.json:
        for candidate in candidates:
            console.message("candidate", candidate)
        return
    console.print(_candidate_table(candidates))
    earlier = f", and {more:,} earlier (see --limit)" if more else ""
    console.inform(f"{name} may mean any of these{earlier}; try: windrow why NUMBER")


def _candidate_table(candidates: tuple[Meaning, ...]) -> Table:
    head = ["number", "kind", "name", "owner", "state", "reason"]
    rows = [
        (str(item.number or ""), item.kind, item.key, item.owner, f"{item.phase}: {item.status}", item.reason)
        for item in candidates
    ]
    return table(head, rows)


def _story_lines(story: Story) -> list[str]:
    kind = " ".join(filter(None, (story.collection, story.kind)))
    lines = [" ".join(filter(None, [story.key, f"({kind}{_number_suffix(story)}"]))]
    state = ": ".join(filter(None, [story.phase, story.status]))
    if state:
        meaning = f", {Reason(story.reason).meaning}" if story.reason else ""
        lines.append(f"  {'is at' if story.phase else 'state:'} {state}{meaning}")
    for label, text in (
        ("made by", story.owner),
        ("contained in", story.within),
        ("offered by", ", ".join(story.offered_by)),
    ):
        lines += [f"  {label} {text}"] if text else []
    if story.others:
        lines.append(f"  its numbers in other fetches of the zip: {', '.join(map(str, story.others))}")
    lines.append("")
    lines += [f"{show(event.at)}  {event.event:<8} {event.message}" for event in story.events]
    if story.members:
        lines += ["", *(["failed now:"] if story.kind == "source" else []), _candidate_table(story.members)]
        lines += [f"and {story.more:,} more; see --limit"] if story.more else []
    return lines


def _number_suffix(story: Story) -> str:
    return f", number {story.number})" if story.number else ")"
