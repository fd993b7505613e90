"""`windrow search`: the pages that were harvested, as they are now and as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from windrow.cli.verb import Verb, option, verb
from windrow.cli.voice import Voice, clean

if TYPE_CHECKING:
    from windrow.collections.pages.search.result import Answer, Piece, Result


class Words(Verb):
    """A command whose words may begin with a dash: `foo -bar` is a query, and a mistyped option still an error."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what looks like an option and is none; all else that begins with a dash is left in its place."""
        known = {name for one in self.get_params(ctx) if isinstance(one, click.Option) for name in one.opts}
        for word in args:
            name = word.partition("=")[0]
            if word == "--":
                break
            if word.startswith("--") and name not in known and not any(letter.isspace() for letter in word):
                raise click.NoSuchOption(name, possibilities=sorted(known), ctx=ctx)
        return super().parse_args(ctx, args)


@verb(
    "search",
    examples=[
        "windrow search green tea -black",
        "windrow search '\"green tea\" site:example.org after:2026-01'",
        "windrow search tea as-of:2026-06-01 --page 2 --json",
    ],
    shape=Words,
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...", type=click.UNPROCESSED)
@option("--limit", type=click.IntRange(1, 1000), default=10, metavar="N", help="Results on a page (10).")
@option("--page", type=click.IntRange(1), default=1, metavar="N", help="Which page of them (1).")
@option("--explain", is_flag=True, help="Say what each score is made of.")
def command(voice: Voice, words: tuple[str, ...], limit: int, page: int, explain: bool) -> None:
    """Search the pages that were harvested.

    Any text is a query: words, "phrases", -words to leave out, OR, parentheses and filters such as
    site:, lang:, type:, before:, after: and as-of:, which searches the pages as they were on a day.
    All of them are in docs/reference/search.md. A query with quotes goes in one argument; one that
    begins with two dashes goes behind a `--`.
    """
    # `--help` needs no database
    from windrow.collections.pages.adapter.lookup import BARE, bare, hits, look, told  # noqa: PLC0415

    text = " ".join(words)
    start = (page - 1) * limit
    answer = look(voice.open().config, text, offset=start, limit=limit)
    if voice.json:
        for one in hits(answer, explain=explain):
            voice.message("result", one)
        voice.message("answer", told(text, answer))
        return
    for number, found in enumerate(answer.results, start + 1):
        voice.drawn(_text(number, found, voice.lively, explain=explain))
    for note in answer.notes:
        voice.talk(note)
    if explain and bare():
        voice.talk(BARE)
    voice.talk(_told(answer, limit))


def _text(number: int, one: Result, lively: bool, *, explain: bool) -> str:
    head = f"{number:>3}. {_drawn(one.title, lively)}"
    about = " ".join(filter(None, [_date(one), one.language or ""]))
    lines = [head, f"     {clean(one.url)}" + (f"  ({clean(about)})" if about else "")]
    if snippet := _drawn(one.snippet, lively):
        lines.append(f"     {snippet}")
    if one.uncertain:
        lines.append("     not sure: it was seen before that time, and found changed or gone after it")
    if one.more:
        lines.append(f"     and {one.more:,} more with the same text{_nearly(one)}")
    if explain:
        parts = "  ".join(f"{part.name} {part.value:.2f} x {part.weight:g}" for part in one.parts)
        lines.append(f"     score {one.score:.3f} = {parts}")
    return "\n".join(lines) + "\n"


def _nearly(one: Result) -> str:
    """Say of how many that is nearly so, and which page stands for all of them."""
    near = " or nearly" if 0 < one.near < one.more else ", nearly" if one.near else ""
    return near + (f", foremost {clean(one.standing)}" if one.standing else "")


def _date(one: Result) -> str:
    from windrow.collections.pages.adapter.lookup import when  # noqa: PLC0415

    said = next((name for name in ("updated", "published") if getattr(one, name) is not None), "")
    at = when(getattr(one, said) if said else one.first_seen)
    told = f"{said or 'seen'} {at:%Y-%m-%d}" if at else ""
    end = when(one.end)
    return f"{told}, until {end:%Y-%m-%d}" if end else told


def _drawn(pieces: Sequence[Piece], lively: bool) -> str:
    """Return a text in one line, its hits bold where a person reads it."""
    found = []
    for piece in pieces:
        text = clean(" ".join(f".{piece.text}.".split())[1:-1])
        found.append(f"\x1b[1m{text}\x1b[0m" if piece.hit and lively else text)
    return "".join(found).strip()


def _told(answer: Answer, limit: int) -> str:
    if not answer.results:
        return "nothing more is found" if answer.offset else "nothing is found"
    last = answer.offset + len(answer.results)
    said = f"{answer.offset + 1} to {last}" + (", and there is more" if answer.further else ", and that is all")
    said += "; no page has all these words, so those with most of them are shown" if answer.relaxed else ""
    return f"{said}; the next: --page {last // limit + 1}" if answer.further else said
