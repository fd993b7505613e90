"""`windrow check`: whether digests, tables and books agree."""

from __future__ import annotations

import click

from windrow.cli.verb import verb
from windrow.cli.voice import Voice
from windrow.display import counted


@verb("check", examples=["windrow check", "windrow check --json", "windrow check ../articles"])
@click.argument("what", nargs=-1, metavar="[[COLLECTION] FOLDER]")
def command(voice: Voice, what: tuple[str, ...]) -> int:
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
    from windrow.app.checkup import check_tree  # noqa: PLC0415 `--help` needs no collection

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
