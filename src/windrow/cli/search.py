"""`windrow search`: what was harvested, of all collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from windrow.cli.options import kind_names, kinds
from windrow.cli.verb import Verb, Voice, clean, option, verb
from windrow.formats.text import plain

if TYPE_CHECKING:
    from windrow.adapters.adapter import SearchAnswer, SearchResult


class Words(Verb):
    """A command whose words may begin with a dash: `foo -bar` is a query, and a mistyped option still an error."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse what looks like an option and is none; all else that begins with a dash is left in its place."""
        known = {name for param in self.get_params(ctx) if isinstance(param, click.Option) for name in param.opts}
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
        "windrow search tea after:2026-06-01 --page 2 --json",
    ],
    shape=Words,
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...", type=click.UNPROCESSED)
@option("--limit", type=click.IntRange(1, 1000), default=10, metavar="N", help="Results on a page (10).")
@option("--page", type=click.IntRange(1), default=1, metavar="N", help="Which page of them (1).")
@option("--collection", metavar="KIND", multiple=True, shell_complete=kinds, values=kind_names,
        help="Search only this, and others so named.")  # fmt: skip
@option("--explain", is_flag=True, help="Say what each score is made of.")
def search_command(
    voice: Voice, *, words: tuple[str, ...], collection: tuple[str, ...], limit: int, page: int, explain: bool
) -> None:
    """Search what was harvested, in all collections.

    Any text is a query: words, "phrases", -words to leave out, OR, parentheses and filters such as
    site:, lang:, type:, before:, after: and as-of:, which searches the pages as they were on a day.
    All of them are in docs/reference/search.md. A query with quotes goes in one argument; one that
    begins with two dashes goes behind a `--`.
    """
    start = (page - 1) * limit
    answer = voice.open().search(" ".join(words), collection=collection, offset=start, limit=limit, explain=explain)
    if voice.json:
        for rank, result in enumerate(answer.results, start + 1):
            voice.message(result.type, {"rank": rank, **plain(result.details)})
        voice.message("answer", {
            "query": answer.query, "offset": answer.offset, "results": len(answer.results),
            "further": answer.further, "relaxed": answer.relaxed, "notes": answer.notes,
        })  # fmt: skip
        return
    for number, found in enumerate(answer.results, start + 1):
        voice.drawn(_text(number, found, voice.lively))
    for note in answer.notes:
        voice.talk(note)
    voice.talk(_told(answer, start, limit))


def _text(number: int, one: SearchResult, lively: bool) -> str:
    head = f"{number:>3}. {_drawn(one.title, lively)}"
    lines = [head, f"     {clean(one.url)}" + (f"  ({clean(one.about)})" if one.about else "")]
    if snippet := _drawn(one.snippet, lively):
        lines.append(f"     {snippet}")
    lines += [f"     {clean(remark)}" for remark in one.remarks]
    return "\n".join(lines) + "\n"


def _drawn(pieces: Sequence[tuple[str, bool]], lively: bool) -> str:
    """Return a text in one line, its hits bold where a person reads it."""
    found = []
    for piece, hit in pieces:
        text = clean(" ".join(f".{piece}.".split())[1:-1])
        found.append(f"\x1b[1m{text}\x1b[0m" if hit and lively else text)
    return "".join(found).strip()


def _told(answer: SearchAnswer, start: int, limit: int) -> str:
    if not answer.results:
        return "nothing more is found" if start else "nothing is found"
    last = start + len(answer.results)
    said = f"{start + 1} to {last}" + (", and there is more" if answer.further else ", and that is all")
    said += "; nothing has all these words, so those with most of them are shown" if answer.relaxed else ""
    return f"{said}; the next: --page {last // limit + 1}" if answer.further else said
