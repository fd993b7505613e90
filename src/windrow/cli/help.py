"""`windrow help` shows the manual; `windrow completion` lets the shell complete commands and names."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from windrow.cli.command import Console, command
from windrow.errors import UsageError, WindrowError
from windrow.formats.text import table


def _complete_topics(_ctx: click.Context, _param: click.Parameter, prefix: str) -> list[CompletionItem]:
    from windrow.app.manual import manual_pages  # noqa: PLC0415 `--help` needs no manual

    try:
        return [CompletionItem(name) for name in manual_pages() if name.startswith(prefix)]
    except WindrowError:
        return []


@command(
    "help", examples=["windrow help", "windrow help run", "windrow help first-crawl", "windrow help reference/search"]
)
@click.argument("topic", metavar="[TOPIC]", required=False, shell_complete=_complete_topics)
@click.pass_context
def help_command(ctx: click.Context, console: Console, topic: str | None) -> None:
    """Show a page of the manual, or the help of a command.

    TOPIC is the name of a command or of a page; the last part of a page's name is enough unless a command has
    that name. Without TOPIC, the pages are listed. Pages are printed as Markdown, as in docs/.
    """
    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    if topic and (subcommand := root.command.get_command(root, topic)):
        _print_page(console, topic, subcommand.get_help(click.Context(subcommand, root, topic)))
        return
    from windrow.app.manual import manual_pages, read_page  # noqa: PLC0415 as above

    pages = manual_pages()
    if not topic:
        _print_topics(console, pages)
        return
    names = [name for name in pages if topic.removesuffix(".md").removeprefix("docs/") in {name, Path(name).name}]
    if not names:
        raise UsageError(f"no command or page of the manual is named {topic!r}", hint="windrow help")
    _print_page(console, names[0], read_page(pages[names[0]]))


def _print_page(console: Console, name: str, text: str) -> None:
    if console.json:
        console.message("manual_page", {"name": name, "text": text})
    else:
        console.print_raw(text.rstrip("\n"))


def _print_topics(console: Console, pages: dict[str, Path]) -> None:
    from windrow.app.manual import read_title  # noqa: PLC0415 as above

    rows = [(name, read_title(path)) for name, path in pages.items()]
    if console.json:
        for name, title in rows:
            console.message("topic", {"name": name, "title": title})
        return
    console.print(table(["page", "title"], rows))
    console.inform("to read a page: windrow help PAGE")


COMPLETION_VARIABLE = "_WINDROW_COMPLETE"
"""The name of the environment variable with which the shell's script asks for completions."""


@command(
    "completion",
    examples=['eval "$(windrow completion bash)"', "windrow completion fish > ~/.config/fish/completions/windrow.fish"],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, console: Console, shell: str) -> int:
    """Print a script that makes a shell complete windrow's commands.

    Your shell must read the script when it starts. The script completes commands, options, phases, and the names of the
    workspace's sources.
    """
    shell_class = get_completion_class(shell)
    if shell_class is None:
        raise UsageError(f"completion is not available for {shell}")
    script = shell_class(ctx.find_root().command, {}, "windrow", COMPLETION_VARIABLE).source()
    if console.json:
        console.message("completion", {"shell": shell, "script": script})
    else:
        click.echo(script)
    return 0
