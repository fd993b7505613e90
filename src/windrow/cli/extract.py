"""`windrow extract`: the main content of a page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from windrow.cli.verb import Voice, option, verb
from windrow.errors import NotAWorkspace

if TYPE_CHECKING:
    from windrow.content import Extract


@verb(
    "extract",
    examples=[
        "windrow extract page.html",
        "windrow extract https://example.org/a/page --as markdown",
        "curl -s https://example.org/a/page | windrow extract - --url https://example.org/a/page --json",
    ],
)
@click.argument("what", metavar="FILE|URL|-")
@option("--as", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True,
        help="What is printed; json has all of it, and why each block was chosen or not.")  # fmt: skip
@option("--url", default="", metavar="URL", help="The address of a FILE, which its relative links start from.")
def extract_command(voice: Voice, what: str, form: str, url: str) -> int:
    """Print the main content of a page: without menus, teasers, comments and advertisements.

    FILE is HTML in any encoding, - is standard input; URL is asked for as the workspace's contact, and
    redirects are followed. Nothing is kept, and a FILE needs no workspace.
    """
    found = _found(voice, what, url)
    if voice.json or form == "json":
        voice.message("extract", {
            "url": found.url, "title": found.title, "authors": found.authors, "site": found.site,
            "published": found.published, "modified": found.modified, "description": found.description,
            "keywords": found.keywords, "language": found.language, "image": found.image,
            "canonical": found.canonical, "encoding": found.encoding, "text": found.text, "markdown": found.markdown,
            "links": found.links, "images": found.images, "blocks": found.blocks,
        })  # fmt: skip
    else:
        voice.data((found.markdown if form == "markdown" else found.text).split("\n"))
    if not found.text:
        voice.talk("no main content was found; --as json tells of each block why")
    return 0 if found.text else 1


def _found(voice: Voice, what: str, url: str) -> Extract:
    from windrow.app.extract import LARGEST, extract_page  # noqa: PLC0415

    if what == "-":
        return extract_page(None, sys.stdin.buffer.read(LARGEST + 1), url)
    workspace = None
    if "://" in what:
        try:
            workspace = voice.open().config
        except NotAWorkspace:
            if voice.workspace:
                raise
    return extract_page(workspace, what, url)
