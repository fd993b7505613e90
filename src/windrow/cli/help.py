"""`windrow help` shows the manual; `windrow completion` lets the shell complete commands and names."""

from __future__ import annotations

import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

import windrow
from windrow.cli.verb import Voice, verb
from windrow.errors import UsageError, WindrowError
from windrow.formats.text import table

_COMMENT = re.compile(r"^<!--.*?-->\n+", re.MULTILINE)
"""Lines that a reader of the manual in a browser does not see: what its generated parts are made by."""


def manual() -> dict[str, Path]:
    """Return the pages of the manual by name, such as `howto/export`: those in the package, else the checkout's."""
    package = Path(windrow.__file__).parent
    for folder in (package / "manual", package.parent.parent / "docs"):
        if (folder / "glossary.md").is_file():
            found = sorted(folder.rglob("*.md"))
            return {str(path.relative_to(folder).with_suffix("")): path for path in found if path.stem != "README"}
    raise WindrowError("the manual did not come with this installation", hint="windrow --help")


def _topics(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    try:
        return [CompletionItem(name) for name in manual() if name.startswith(begun)]
    except WindrowError:
        return []


@verb(
    "help", examples=["windrow help", "windrow help run", "windrow help first-crawl", "windrow help reference/search"]
)
@click.argument("topic", metavar="[TOPIC]", required=False, shell_complete=_topics)
@click.pass_context
def help_command(ctx: click.Context, voice: Voice, topic: str | None) -> None:
    """Show a page of the manual, or the help of a command.

    TOPIC is the name of a command or of a page; the last part of a page's name will do where no command is
    called so. Without TOPIC, the pages are listed. Pages are Markdown, as they stand in docs/.
    """
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    if topic and (found := root.command.get_command(root, topic)):
        _print(voice, topic, found.get_help(click.Context(found, root, topic)))
        return
    pages = manual()
    if not topic:
        _list(voice, pages)
        return
    meant = [name for name in pages if topic.removesuffix(".md").removeprefix("docs/") in {name, Path(name).name}]
    if not meant:
        raise UsageError(f"the manual has no page {topic!r}, and there is no such command", hint="windrow help")
    _print(voice, meant[0], _COMMENT.sub("", pages[meant[0]].read_text(encoding="utf-8")))


def _print(voice: Voice, name: str, text: str) -> None:
    if voice.json:
        voice.message("manual_page", {"name": name, "text": text})
    else:
        voice.drawn(text.rstrip("\n"))


def _list(voice: Voice, pages: dict[str, Path]) -> None:
    rows = []
    for name, path in pages.items():
        with path.open(encoding="utf-8") as file:
            rows.append((name, file.readline().lstrip("# ").strip()))
    if voice.json:
        for name, title in rows:
            voice.message("topic", {"name": name, "title": title})
        return
    voice.data(table(["page", "title"], rows))
    voice.talk("read one with: windrow help PAGE")


VARIABLE = "_WINDROW_COMPLETE"


@verb(
    "completion",
    examples=[
        'eval "$(windrow completion bash)"',
        "windrow completion fish > ~/.config/fish/completions/windrow.fish",
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, voice: Voice, shell: str) -> int:
    """Print what makes a shell complete windrow's words.

    Put it where the shell reads it at its start. Commands, options, phases, and the names of the
    sources of the workspace are completed.
    """
    made = get_completion_class(shell)
    if made is None:
        raise UsageError(f"no completion for {shell}")
    script = made(ctx.find_root().command, {}, "windrow", VARIABLE).source()
    if voice.json:
        voice.message("completion", {"shell": shell, "script": script})
    else:
        click.echo(script)
    return 0
