"""`windrow why`: the whole story of one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from windrow.cli.options import sources
from windrow.cli.verb import Voice, verb
from windrow.formats.text import Table, show, table
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.app.question import Meaning
    from windrow.app.story import Event, Story


@verb(
    "why",
    examples=[
        "windrow why https://example.org/a/page",
        "windrow why blog",
        "windrow why 1234 --json",
    ],
    declared=True,
)
@click.argument("what", metavar="X", shell_complete=sources)
def why_command(voice: Voice, what: str) -> int:
    """Tell the whole story of X, in the order in which it happened.

    X is an address, the name of a file or of a document in it, with its folder or without (FOLDER/NAME), a page,
    a host, the owner of files, a source, a session, or any number that another command printed. Where X may mean
    several things, they are listed. What was refused has a story too, and so has what a rule left out of an archive.
    """
    found = voice.open().why(what)
    if found.session is not None:
        from windrow.cli.status import summary_lines  # noqa: PLC0415

        if voice.json:
            voice.message("summary", found.session)
        else:
            voice.data(summary_lines(found.session))
    for one in found.explained:
        if voice.json:
            for message in one.messages:
                voice.message(*message[:2], omit_empty=message.omit_empty)
        else:
            voice.data(one.lines)
    if found.story is not None:
        if voice.json:
            _stream(voice, found.story)
        else:
            voice.data(_text(found.story))
    elif found.candidates:
        _list(voice, found.candidates, found.more, what)
    return 0


def _stream(voice: Voice, story: Story) -> None:
    told = story._asdict()
    events, members = told.pop("events"), told.pop("members")
    voice.message("story", told)
    for event in events:
        voice.message("event", event, omit_empty=True)
    for member in members:
        voice.message("member", member)


def _list(voice: Voice, candidates: tuple[Meaning, ...], more: int, what: str) -> None:
    if voice.json:
        for candidate in candidates:
            voice.message("candidate", candidate)
        return
    voice.data(_candidates(candidates))
    voice.talk(f"{what} may mean any of these{f', and {more:,} more' if more else ''}; try: windrow why NUMBER")


def _candidates(rows: tuple[Meaning, ...]) -> Table:
    head = ["number", "what", "name", "owner", "stands at", "reason"]
    return table(head, [(str(n), kind, key, who, f"{p}: {s}", why) for n, kind, key, who, p, s, why in rows])


def _text(story: Story) -> list[str]:
    kind = " ".join(filter(None, (story.collection, story.kind)))
    lines = [" ".join(filter(None, [story.key, f"({kind}{_number(story)}"]))]
    state = ": ".join(filter(None, [story.phase, story.status]))
    if state:
        meaning = f", {Reason(story.reason).meaning}" if story.reason else ""
        lines.append(f"  stands at {state}{meaning}")
    for name, value in (
        ("made by", story.owner),
        ("lies in", story.within),
        ("offered by", ", ".join(story.offered_by)),
    ):
        lines += [f"  {name} {value}"] if value else []
    if story.others:
        lines.append(f"  read before as {', '.join(map(str, story.others))}")
    lines.append("")
    lines += [_line(event) for event in story.events]
    if story.members:
        lines += ["", _candidates(story.members)]
    return lines


def _number(story: Story) -> str:
    return f", number {story.number})" if story.number else ")"


def _line(event: Event) -> str:
    return f"{show(event.at)}  {event.what:<8} {event.told}"
