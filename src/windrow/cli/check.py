"""`windrow check`: whether digests, tables and books agree."""

from __future__ import annotations

from windrow.cli.verb import verb
from windrow.cli.voice import Voice
from windrow.display import counted


@verb("check", examples=["windrow check", "windrow check --json"])
def command(voice: Voice) -> int:
    """Read every capture back, and compare ledger, archive and books.

    Exit code 1 if anything does not agree; each disagreement is a line.
    """
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
