"""`windrow export` writes records for other programs; `windrow extract` prints the main content of a page.

`windrow config` shows every setting and its origin.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from windrow.cli.command import Command, Console, OutputFailed, command, command_group, escape_unencodable, option
from windrow.cli.options import complete_exports, complete_sources
from windrow.errors import ConfigError, NotAWorkspace, UsageError
from windrow.formats.text import counted, table

if TYPE_CHECKING:
    from windrow.content import Extract


class ExportCommand(Command):
    """The command `export`; its help lists the exports of the archive and of the installed collections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of exports with their forms, then the options."""
        from windrow.app.export import exports_by_name  # noqa: PLC0415 loads the collections

        with formatter.section("Exports"):
            exports = exports_by_name().values()
            names = [f"{export.name}, as {', '.join(export.forms)}" for export in exports]
            helps = [f"{export.help[:1].upper()}{export.help[1:]}." for export in exports]
            formatter.write_dl([*zip(names, helps, strict=True)])
        super().format_options(ctx, formatter)


@command(
    "export",
    shape=ExportCommand,
    examples=[
        "windrow export captures --as cdxj > index.cdxj",
        "windrow export captures --as cdxj | gzip > index.cdxj.gz",
        "windrow export captures --as wacz > archive.wacz",
    ],
    declared=True,
)
@click.argument("name", metavar="WHAT", shell_complete=complete_exports)
@option("--as", "form", required=True, metavar="FORM", help="One of the forms that are listed for WHAT.")
@option("--start", default="", metavar="DATE", help="Only events from this day, month or year on.")
@option("--end", default="", metavar="DATE", help="Only events before this day, month or year.")
@option("--only", multiple=True, metavar="NAME=VALUE", help="Only events with this value; may be given several times.")
def export_command(console: Console, name: str, form: str, *, start: str, end: str, only: tuple[str, ...]) -> int:
    """Write records, changes or captures of the workspace to standard output, in a standard form.

    WHAT is one of the exports below, which are those of the archive and of the installed collections.
    """
    from windrow.adapters.selection import ExportSelection  # noqa: PLC0415 `--help` needs no database
    from windrow.app.export import write_export  # noqa: PLC0415 as above

    pairs = [pair.partition("=") for pair in only]
    if wrong := next((pair for pair, (_, sign, _) in zip(only, pairs, strict=True) if not sign), ""):
        raise UsageError(f"{wrong!r} is not NAME=VALUE, such as branch=Judicial")
    selection = ExportSelection(start, end, tuple((field, value) for field, _, value in pairs))
    workspace = console.open()
    escape_unencodable(sys.stdout, "utf-8")  # whatever the terminal's encoding: files of these forms are UTF-8
    try:
        counts = write_export(workspace.config, name, form, sys.stdout, selection)
    except BrokenPipeError:
        return 0  # the program that reads the output, such as head, has read enough
    except OSError as error:
        raise OutputFailed(f"standard output cannot be written: {error.strerror}") from error
    unit = counts.unit.removesuffix("s")
    console.inform(f"{counted(counts.written, unit)} written")
    if counts.unselected:
        console.inform(f"left out by --start, --end or --only: {counted(counts.unselected, unit)}")
    for cap, excess in counts.excess:
        console.inform(f"left out: {counted(excess, unit)}, {cap.rule}; the setting {cap.setting} allows more")
    if counts.invalid:
        number = counted(counts.invalid, unit)
        console.inform(f"left out, because they are not valid or not there: {number}; {counts.invalid_help}")
    return 0


@command_group("config", examples=["windrow config", "windrow config --json"], is_command=True)
def config_command(ctx: click.Context) -> int:
    """Show every setting, its value, and where it came from.

    Flags override the environment (WINDROW_...), which overrides the files, which override the defaults. For a secret,
    only the place it is read from is shown.
    """
    if ctx.invoked_subcommand is not None:
        return 0
    console: Console = ctx.obj
    from windrow.contract.registry import unusable  # noqa: PLC0415 it loads the collections

    config = console.open().config
    rows = [(setting.name, setting.shown, setting.origin) for setting in config.values]
    if console.json:
        for name, shown, origin in rows:
            console.message("setting", {"name": name, "value": shown, "origin": origin})
        return 0
    console.inform(f"workspace {config.name} in {config.root}")
    console.print(table(["setting", "value", "from"], rows))
    problems = [f"source {source.name}: {source.unusable}" for source in config.sources if source.unusable]
    known = {source.collection for source in config.sources}
    if remarks := [*problems, *(reason for name, reason in unusable().items() if name not in known)]:
        console.inform(remarks)
    return ConfigError.exit_code if problems else 0


@command(
    "trust",
    examples=[
        "windrow config trust archive SHA256:dLXaMBaGYlLYWXcXG1kOVkZ5eKHGWoPPLlzPCBQ6cTo",
        "windrow config trust archive SHA256:dLXaMBaGYlLYWXcXG1kOVkZ5eKHGWoPPLlzPCBQ6cTo --json",
    ],
)
@click.argument("source", metavar="SOURCE", shell_complete=complete_sources)
@click.argument("fingerprint", metavar="FINGERPRINT")
def trust(console: Console, source: str, fingerprint: str) -> int:
    """Pin the host key of an SFTP server.

    FINGERPRINT is what ssh prints (SHA256:...), or a public key; compare it with the one that the server's operator
    gives you. It is written to host_keys.toml.
    """
    is_new = console.open().trust(source, fingerprint)
    if console.json:
        console.message("trust", {"source": source, "fingerprint": fingerprint, "new": is_new})
    else:
        console.inform(f"{source}: {'pinned' if is_new else 'was pinned already'}: {fingerprint}")
    pinned = console.open().config.source(source)
    if pinned and (others := [key for key in pinned.site.host_keys if key != fingerprint]):
        console.inform(
            f"{source}: still trusted too: {', '.join(others)}; if the server has replaced a key, delete the old one"
            " from host_keys.toml, or from `host_keys` of the source"
        )
    return 0


config_command.add_command(trust)


@command(
    "extract",
    examples=[
        "windrow extract page.html",
        "windrow extract https://example.org/a/page --as markdown",
        "curl -s https://example.org/a/page | windrow extract - --url https://example.org/a/page --json",
    ],
)
@click.argument("page", metavar="FILE|URL|-")
@option("--as", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
        help="What to print; json has everything, and why each block was kept or dropped.")  # fmt: skip
@option("--url", default="", metavar="URL", help="The address of FILE, against which its links are resolved.")
def extract_command(console: Console, page: str, form: str, url: str) -> int:
    """Print the main content of a page: without menus, teasers, comments and advertisements.

    FILE is HTML in any encoding, - is standard input; URL is fetched with the workspace's contact, and redirects
    are followed. Nothing is kept, and a FILE needs no workspace.
    """
    extract = _extract_page(console, page, url)
    if console.json or form == "json":
        console.message("extract", {
            "url": extract.url, "title": extract.title, "authors": extract.authors, "site": extract.site,
            "published": extract.published, "modified": extract.modified, "description": extract.description,
            "keywords": extract.keywords, "language": extract.language, "image": extract.image,
            "canonical": extract.canonical, "encoding": extract.encoding, "text": extract.text,
            "markdown": extract.markdown, "links": extract.links, "images": extract.images, "blocks": extract.blocks,
            "left_out": extract.left_out, "is_cut": extract.is_cut,
        })  # fmt: skip
    else:
        console.print((extract.markdown if form == "markdown" else extract.text).split("\n"))
    if extract.is_cut:
        from windrow.formats.http import CUT_BODY  # noqa: PLC0415 seldom used

        console.inform(CUT_BODY)
    if not extract.text:
        console.inform("no main content was found; --as json gives the reason for each block")
    return 0 if extract.text else 1


def _extract_page(console: Console, page: str, url: str) -> Extract:
    """Extract a page from a file, an address or standard input ("-"); for an address, use the workspace, if any."""
    from windrow.app.extract import MAX_PAGE_SIZE, extract_page  # noqa: PLC0415

    if page == "-":
        return extract_page(None, sys.stdin.buffer.read(MAX_PAGE_SIZE + 1), url)
    workspace = None
    if "://" in page:
        try:
            workspace = console.open().config
        except NotAWorkspace:
            if console.workspace:
                raise
    return extract_page(workspace, page, url)
