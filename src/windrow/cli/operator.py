"""`windrow retry`, `cancel`, `forget` and `check`: what a person decides and has looked after."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.options import reasons, sources
from windrow.cli.verb import Voice, option, verb
from windrow.errors import UsageError
from windrow.formats.text import counted, size, table

if TYPE_CHECKING:
    from windrow.adapters.adapter import TakedownEstimate

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
def retry_command(voice: Voice, names: tuple[str, ...], **narrowed: Any) -> int:
    """Put failed or cancelled work back: the next run fetches it again, or reads it where a reader failed.

    NAME is a file's name, `add/NAME` where it is offered for several actions, or the address of a page.
    Without names, what failed of a source or for a reason is meant. What was loaded before stays.
    """
    return _decide("retry", voice, names, **narrowed)


@verb("cancel", examples=["windrow cancel https://example.org/a/page", "windrow cancel --source blog --dry-run"])
@_options
def cancel_command(voice: Voice, names: tuple[str, ...], **narrowed: Any) -> int:
    """End work where it stands: it is not gone on with until `windrow retry`.

    NAME is a file's name, `add/NAME` where it is offered for several actions, or the address of a page.
    Without names, what still waits of a source or for a reason is meant. What was loaded before stays.
    """
    return _decide("cancel", voice, names, **narrowed)


@verb(
    "forget",
    examples=[
        "windrow forget https://example.org/a/page --reason 'asked by its author'",
        "windrow forget example.org --dry-run",
        "windrow forget https://example.org/a/page --lift",
    ],
)
@click.argument("names", nargs=-1, metavar="[X]...", shell_complete=sources)
@option("--reason", default="", metavar="TEXT", help="Why; it stays on record, and `windrow why` tells it.")
@option("--yes", is_flag=True, help="Do not ask whether that is meant.")
@option("--dry-run", "dry", is_flag=True, help="Only say what would go.")
@option("--lift", is_flag=True, help="Let it be asked for again; what is gone stays gone.")
def forget_command(voice: Voice, names: tuple[str, ...], **told: object) -> int:
    """Take pages and sites down: their bytes, texts, versions and entries of the index.

    X is the address of a page, a host, or a site of windrow.toml. Records are overwritten in the archive,
    others stay as they are; what other pages have of the same text stays theirs. What other collections made of
    the same captures goes too. A tombstone remains, with the time, the reason and who did it, and nothing of X is
    asked for again. Without X, what a killed
    `windrow forget` left undone is finished, and what another process that read a database kept from going.
    """
    workspace = voice.open()
    if told["lift"]:
        count = workspace.lift(names)
        if voice.json:
            voice.message("lifted", {"tombstones": count})
        voice.talk(f"{count} may be asked for again; next: windrow run" if count else "no tombstone stands there")
        return 0
    found = workspace.would_forget(names)
    if names and (told["dry"] or not told["yes"]):
        _tell(voice, found)
    if told["dry"]:
        return 0
    if names and not told["yes"]:  # what was left undone was meant when it was begun
        _ask(len(found))
    done = workspace.forget(names, str(told["reason"]))
    for one in done:
        if voice.json:
            voice.message("forgotten", one)
        else:
            told_of = f"{counted(one.captures, 'capture')} of {size(one.bytes)}, {counted(one.records, 'version')}"
            voice.data(f"{one.target}: {'gone' if one.done else 'taken out'} are {told_of}")
        for trouble in one.trouble:
            voice.talk(f"{one.target}: {trouble}")
    if not done:
        voice.talk("there was nothing left to do")
    return 1 if any(one.trouble for one in done) else 0


def _tell(voice: Voice, found: Sequence[TakedownEstimate]) -> None:
    if voice.json:
        for one in found:
            voice.message("would_forget", one)
        return
    head = ["what", "addresses", "visits", "captures", "size"]
    voice.data(table(head, [(*one[:4], size(one.bytes)) for one in found]))


def _ask(count: int) -> None:
    """Ask the person at the terminal; a script says so beforehand."""
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to be asked whether that is meant", hint="windrow forget --yes, or --dry-run")
    what = "this" if count == 1 else f"these {count}"
    click.confirm(f"Take {what} down for good?", abort=True, err=True)


@verb("check", examples=["windrow check", "windrow check --json", "windrow check ../articles"])
@click.argument("what", nargs=-1, metavar="[[COLLECTION] FOLDER]")
def check_command(voice: Voice, what: tuple[str, ...]) -> int:
    """Read every capture back, and compare ledger, archive and books.

    With a FOLDER: judge the files in it by the standard of a collection, whoever wrote them; no workspace is needed.
    Exit code 1 if anything does not agree; each disagreement is a line.
    """
    if what:
        return _tree(voice, what)
    done = voice.open().check()
    for fault in done.faults:
        if voice.json:
            voice.message("fault", fault)
        else:
            voice.data(f"{fault.where}: {fault.what}" + (f" ({fault.hint})" if fault.hint else ""))
    if voice.json:
        voice.message("check", {"captures": done.captures, "bytes": done.bytes, "faults": len(done.faults)})
    verdict = counted(len(done.faults), "fault") if done.faults else "all agree"
    voice.talk(f"{counted(done.captures, 'capture')} of {done.bytes:,} bytes read back: {verdict}")
    return 1 if done.faults else 0


def _tree(voice: Voice, what: tuple[str, ...]) -> int:
    """Judge the files of a folder, and tell what is wrong with each."""
    from windrow.app.check import check_tree  # noqa: PLC0415 `--help` needs no collection

    files = faults = size = 0
    for one in check_tree(what):
        if isinstance(one, int):
            files, size = files + 1, size + one
            continue
        faults += 1
        if voice.json:
            voice.message("fault", one)
        else:
            voice.data(f"{one.where}: {one.what}")
    if voice.json:
        voice.message("tree", {"files": files, "bytes": size, "faults": faults})
    verdict = counted(faults, "fault") if faults else "all follow the standard"
    voice.talk(f"{counted(files, 'file')} of {size:,} bytes: {verdict}")
    return 1 if faults else 0
