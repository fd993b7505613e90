"""`windrow completion`: let the shell complete commands, options and the names of sources."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from windrow.cli.verb import verb
from windrow.cli.voice import Voice
from windrow.errors import UsageError

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
def command(ctx: click.Context, voice: Voice, shell: str) -> int:
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
