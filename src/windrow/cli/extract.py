"""`windrow extract`: the main content of a page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from windrow.cli.command import Console, command, option
from windrow.errors import NotAWorkspace

if TYPE_CHECKING:
    from windrow.content import Extract


@command(
    "extract",
    examples=[
        "windrow extract page.html",
        "windrow extract https://example.org/a/page --as markdown",
        "curl -s https://example.org/a/page | windrow extract - --url https://example.org/a/page --json",
    ],
)
@click.argument("place", metavar="FILE|URL|-")
@option("--as", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
        help="What is printed; json has all of it, and why each block was kept or dropped.")  # fmt: skip
@option(
    "--url", default="", metavar="URL", help="The address of a FILE, which its relative links are resolved against."
)
def extract_command(console: Console, place: str, form: str, url: str) -> int:
    """Print the main content of a page: without menus, teasers, comments and advertisements.

    FILE is HTML in any encoding, - is standard input; URL is fetched with the workspace's contact, and redirects
    are followed. Nothing is kept, and a FILE needs no workspace.
    """
    extract = _extract(console, place, url)
    if console.json or form == "json":
        console.message("extract", {
            "url": extract.url, "title": extract.title, "authors": extract.authors, "site": extract.site,
            "published": extract.published, "modified": extract.modified, "description": extract.description,
            "keywords": extract.keywords, "language": extract.language, "image": extract.image,
            "canonical": extract.canonical, "encoding": extract.encoding, "text": extract.text,
            "markdown": extract.markdown, "links": extract.links, "images": extract.images, "blocks": extract.blocks,
        })  # fmt: skip
    else:
        console.print((extract.markdown if form == "markdown" else extract.text).split("\n"))
    if not extract.text:
        console.inform("no main content was found; --as json gives the reason for each block")
    return 0 if extract.text else 1


def _extract(console: Console, place: str, url: str) -> Extract:
    from windrow.app.extract import LARGEST, extract_page  # noqa: PLC0415

    if place == "-":
        return extract_page(None, sys.stdin.buffer.read(LARGEST + 1), url)
    workspace = None
    if "://" in place:
        try:
            workspace = console.open().config
        except NotAWorkspace:
            if console.workspace:
                raise
    return extract_page(workspace, place, url)
