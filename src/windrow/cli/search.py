"""`windrow search` searches the harvested records of all collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from windrow.cli.command import Command, Console, command, escape_lines, option
from windrow.cli.options import complete_collections, list_collections
from windrow.formats.text import shorten, to_json_value

if TYPE_CHECKING:
    from windrow.adapters.search_answer import SearchAnswer, SearchResult


class SearchCommand(Command):
    """A command whose arguments may begin with a dash: `foo -bar` is a query, but `--lmit` is an error."""

    ignore_unknown_options = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse unknown options that begin with two dashes; leave other words with a dash in their place."""
        options = {name for param in self.get_params(ctx) if isinstance(param, click.Option) for name in param.opts}
        for word in args:
            name = word.partition("=")[0]
            if word == "--":
                break
            if word.startswith("--") and name not in options and not any(letter.isspace() for letter in word):
                raise click.NoSuchOption(name, possibilities=sorted(options), ctx=ctx)
        return super().parse_args(ctx, args)


@command(
    "search",
    examples=[
        "windrow search green tea -black",
        "windrow search '\"green tea\" site:example.org after:2026-01'",
        "windrow search tea after:2026-06-01 --page 2 --json",
        "windrow search date:2026-12-01..2026-12-31 source:council",
    ],
    shape=SearchCommand,
)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...", type=click.UNPROCESSED)
@option("--limit", type=click.IntRange(1, 1000), default=10, metavar="N", help="Results per page (default: 10).")
@option("--page", type=click.IntRange(1), default=1, metavar="N", help="Number of the page to show (default: 1).")
@option("--collection", metavar="COLLECTION", multiple=True, shell_complete=complete_collections,
        choices=list_collections, help="Search only this collection; may be repeated.")  # fmt: skip
@option("--facets", is_flag=True, help="Also count all results by collection, source, language, type and year.")
@option("--explain", is_flag=True, help="Show how each score was calculated.")
def search_command(
    console: Console, *, words: tuple[str, ...], collection: tuple[str, ...], limit: int, page: int, facets: bool,
    explain: bool,
) -> None:  # fmt: skip
    """Search the harvested records of all collections.

    Any text is a query: words, "phrases", -words to leave out, OR, parentheses and filters such as
    site:, source:, lang:, type:, author:, year:, date:, before:, after: and as-of:, which searches the
    pages as they were on a day.
    docs/reference/search.md describes all of them. Give a query with quotes as one argument; put `--` before a query
    that begins with two dashes.
    """
    offset = (page - 1) * limit
    workspace, text = console.open(), " ".join(words)
    answer = workspace.search(text, collection=collection, offset=offset, limit=limit, explain=explain, facets=facets)
    counts = answer.counts.facets
    if console.json:
        for number, result in enumerate(answer.results, offset + 1):
            console.message(result.type, {"rank": number, **to_json_value(result.details)})
        console.message("search", {
            "query": answer.query, "offset": answer.offset, "results": len(answer.results),
            "further": answer.further, "relaxed": answer.relaxed, "notes": answer.notes,
            "did_you_mean": answer.did_you_mean,
        })  # fmt: skip
        if facets:
            console.message("facets", {"counts": counts})
        return
    for number, result in enumerate(answer.results, offset + 1):
        console.print_raw(_format_result(number, result, console.styled))
    for name, numbers in counts.items():
        console.print(_format_facet(name, numbers))
    for note in answer.notes:
        console.inform(note)
    if answer.did_you_mean:
        console.inform(f"did you mean: {answer.did_you_mean}")
    console.inform(_describe_page(answer, offset, limit))


def _format_result(number: int, result: SearchResult, styled: bool) -> str:
    head = f"{number:>3}. {_highlight(result.title, styled)}"
    about = f"  ({escape_lines(shorten(result.about))})" if result.about else ""
    lines = [head, f"     {escape_lines(shorten(result.url))}{about}"]
    if snippet := _highlight(result.snippet, styled):
        lines.append(f"     {snippet}")
    lines += [f"     {escape_lines(shorten(remark))}" for remark in result.remarks]
    return "\n".join(lines) + "\n"


def _format_facet(name: str, numbers: Mapping[str, int]) -> str:
    values = [f"{escape_lines(shorten(value))} {number:,}" for value, number in numbers.items()]
    hidden_count = len(values) - _SHOWN_VALUES
    values[_SHOWN_VALUES:] = [f"and {hidden_count} more (--json has all)"] if hidden_count > 0 else []
    return f"{name:<10}  {', '.join(values) or 'none'}"


_SHOWN_VALUES = 12  # the maximum number of values of a facet that are shown


def _highlight(pieces: Sequence[tuple[str, bool]], styled: bool) -> str:
    """Join pieces, which are pairs (text, whether it is a match), into one line; matches are bold if `styled`."""
    texts = []
    for piece, is_match in pieces:
        text = escape_lines(shorten(" ".join(f".{piece}.".split())[1:-1]))  # the dots protect blanks at the ends
        texts.append(f"\x1b[1m{text}\x1b[0m" if is_match and styled else text)
    return "".join(texts).strip()


def _describe_page(answer: SearchAnswer, offset: int, limit: int) -> str:
    if not answer.results:
        return "no more results" if offset else "no results"
    last_number = offset + len(answer.results)
    line = f"{offset + 1} to {last_number}" + (", and there are more" if answer.further else ", and that is all")
    line += "; no document has all these words, so documents with most of them are shown" if answer.relaxed else ""
    return f"{line}; next page: --page {last_number // limit + 1}" if answer.further else line
