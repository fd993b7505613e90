"""`windrow retry` and `windrow cancel`: what an operator decides about items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from windrow.cli.kind import reasons, sources
from windrow.cli.verb import option, verb
from windrow.cli.voice import Voice

_SAID = {"retry": ("put back to be fetched or read again", "windrow run"), "cancel": ("ended", "windrow status")}


def _decide(act: str, voice: Voice, names: tuple[str, ...], **narrowed: Any) -> int:
    opened = voice.open()
    found = (opened.retry if act == "retry" else opened.cancel)(names, **narrowed)
    for one in found:
        if voice.json:
            voice.message(act, {"key": one.key, "phase": one.state[0], "status": one.state[1].name.lower()})
        else:
            voice.data(one.key)
    done, following = _SAID[act]
    done = f"would be {done}" if narrowed["dry_run"] else done
    voice.talk(f"{len(found)} {done}; next: {following}")
    return 0


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorator in (
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        option("--source", default="", metavar="SOURCE", shell_complete=sources, section="Which",
               help="Those that this source offers."),
        option("--reason", default="", metavar="WORD", shell_complete=reasons, section="Which",
               help="Those that stand so for this reason."),
        option("--dry-run", is_flag=True, help="Only say which."),
    ):  # fmt: skip
        function = decorator(function)
    return function


@verb("retry", examples=["windrow retry https://example.org/a/page", "windrow retry --reason timeout --dry-run"])
@_options
def retry(voice: Voice, names: tuple[str, ...], **narrowed: Any) -> int:
    """Put failed or cancelled work back: the next run fetches it again, or reads it where a reader failed.

    NAME is a file's name, `add/NAME` where it is offered for several actions, or the address of a page.
    Without names, what failed of a source or for a reason is meant. What was loaded before stays.
    """
    return _decide("retry", voice, names, **narrowed)


@verb("cancel", examples=["windrow cancel https://example.org/a/page", "windrow cancel --source blog --dry-run"])
@_options
def cancel(voice: Voice, names: tuple[str, ...], **narrowed: Any) -> int:
    """End work where it stands: it is not gone on with until `windrow retry`.

    NAME is a file's name, `add/NAME` where it is offered for several actions, or the address of a page.
    Without names, what still waits of a source or for a reason is meant. What was loaded before stays.
    """
    return _decide("cancel", voice, names, **narrowed)
