"""`windrow changes` lists the changes since a time; `windrow diff` compares two versions of a record."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.command import Console, command, escape_lines, option
from windrow.cli.options import Since, complete_sources
from windrow.errors import StoreError
from windrow.formats.text import shorten, show

if TYPE_CHECKING:
    from windrow.adapters.adapter import Comparison, SourceChange
    from windrow.app import Windrow


@command("changes", examples=["windrow changes --since last", "windrow changes --source blog --kind changed --as atom"])
@option(
    "--since",
    type=Since(),
    metavar="WHEN",
    help="Changes seen since then: a date or time (UTC), today, yesterday, a duration such as 24h or 7d, or last (your "
    "last look with this option). Without it, the changes of the last session.",
)
@option("--source", default="", metavar="NAME", shell_complete=complete_sources, help="Only changes at this source.")
@option("--kind", type=click.Choice(["new", "changed", "gone"]), help="Only changes of this kind.")
@option("--as", "form", type=click.Choice(["text", "atom", "html"]), default="text", help="text, atom or html.")
@option("--lines", is_flag=True, help="Also show the changed lines of long texts (not as atom or html).")
def changes_command(
    console: Console, *, since: datetime | str | None, source: str, kind: str | None, form: str, lines: bool
) -> None:
    """List new, changed and gone pages and records at the sources, each with a line on the difference.

    A page has changed if its text, title, description or language changed; other bytes do not count. It is gone
    after a 410, or the second 404 in a row. A session's changes are those it wrote, even if an earlier session fetched
    the page: the next run writes and lists the changes that a stopped or killed run had not written. `--since last`
    lists the changes of all sessions that ended since your last look, whoever ran them; each user has a last look for
    each choice of --source and --kind.
    """
    workspace = console.open()
    unreadable: dict[str, str] = {}
    options: dict[str, Any] = {"source": source, "kind": kind or "", "lines": lines}
    if form == "text":  # whoever reads a file with a feed or a page would not see the error
        options["unreadable"] = unreadable
    if isinstance(since, str):
        with workspace.unseen_changes(**options) as changes:
            _print_changes(console, workspace, changes, form, since, unreadable=unreadable)
            sys.stdout.flush()  # before they count as seen
    else:
        changes = workspace.changes(since, **options)
        _print_changes(console, workspace, changes, form, since, unreadable=unreadable)


def _print_changes(
    console: Console,
    workspace: Windrow,
    changes: list[SourceChange],
    form: str,
    since: datetime | str | None,
    *,
    unreadable: Mapping[str, str],
) -> None:
    """Print changes in the form `form` or, with `--json`, as JSON.

    The form `text` also says if the last session was killed, unless `since` is a time. Raise StoreError at the end if
    changes are left out, by collection in `unreadable`.
    """
    if console.json:
        for change in changes:
            console.message("source_change", change)
    elif form == "text":
        console.print(change_lines(changes, styled=console.styled) or ["nothing changed"])
        if not isinstance(since, datetime) and (session := workspace.killed_session()):
            console.inform(f"session {session} was killed before its end; the next run lists its changes")
    else:
        from windrow.app.changes import format_atom, format_html  # noqa: PLC0415 `--help` needs no feeds

        name = workspace.config.name
        if form == "atom":
            with workspace.open_ledger() as ledger:
                identity = ledger.sessions.identity()
            text = format_atom(changes, name, datetime.now(UTC), identity=identity)
        else:
            text = format_html(changes, name)
        console.print_raw(text)  # XML and HTML: escaping for the terminal would change the file
    if unreadable:
        left_out = "; ".join(f"{name}: {why}" for name, why in unreadable.items())
        raise StoreError(f"the changes of these are left out: {left_out}", hint="windrow check")


def change_lines(changes: list[SourceChange] | tuple[SourceChange, ...], *, styled: bool = False) -> list[str]:
    """Return a line for each change, followed by indented lines with the difference if it is known."""
    lines = []
    for change in changes:
        title = f"  {shorten(change.title)}" if change.title and change.title not in change.key else ""
        lines.append(
            escape_lines(f"{show(change.at)}  {change.kind:<7}  {change.source}  {shorten(change.key)}{title}")
        )
        lines += [escape_lines(f"    {shorten(change.difference)}")] if change.difference else []
        lines += [f"    {_diff_line(sign, text, styled)}" for sign, text in change.lines if sign != "@"]
    return lines


_SIGN_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[2m"}


@command(
    "diff",
    examples=[
        "windrow diff https://example.org/a/page",
        "windrow diff https://example.org/a/page --old 2026-01 --new 2026-06-15",
    ],
)
@click.argument("url", metavar="URL")
@option("--old", default="", metavar="DATE", help="Date of the old version (default: the one before the new).")
@option("--new", default="", metavar="DATE", help="Date of the new version (default: the latest).")
@option("--context", type=click.IntRange(0, 1000), default=2, metavar="N", help="Lines around changes (default: 2).")
def diff_command(console: Console, url: str, old: str, new: str, context: int) -> None:
    """Show the difference between two versions of a page: its title and other metadata, then the lines of its text.

    URL may also be the key of an event, an article or a paper. DATE is a day, a month, a year or a time
    (2026-11-21, 2026-11, 2026, 2026-11-21T10:00); the version that was current at the end of DATE is compared. If the
    page was gone at that time, it is compared as empty. Changes in menus, footers and the like are only counted.
    """
    comparison = console.open().diff(url, old, new, context=context)
    if console.json:
        console.message("diff", comparison)
    else:
        console.print_raw("\n".join(_diff_lines(comparison, console.styled)))
        console.inform(comparison.summary)


def _diff_lines(comparison: Comparison, styled: bool) -> list[str]:
    sides = (("---", comparison.old_seen, comparison.old_gone), ("+++", comparison.new_seen, comparison.new_gone))
    lines = [
        f"{sign} {escape_lines(comparison.url)}  {f'gone since {show(gone_since)}' if gone_since else show(seen_at)}"
        for sign, seen_at, gone_since in sides
    ]
    for change in comparison.changes:
        lines += [_diff_line("-", f"{change.field}: {change.before}", styled)] if change.before else []
        lines += [_diff_line("+", f"{change.field}: {change.after}", styled)] if change.after else []
    lines += [_diff_line(sign, text, styled) for sign, text in comparison.lines]
    return lines


def _diff_line(sign: str, text: str, styled: bool) -> str:  # sign: -, +, a blank, or @ before a new part
    line = f"@@ {text} @@" if sign == "@" else f"{sign}{escape_lines(' '.join(text.split()))}"
    return f"{_SIGN_COLOURS[sign]}{line}\x1b[0m" if styled and sign in _SIGN_COLOURS else line
