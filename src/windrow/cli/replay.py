"""`windrow replay`: read kept captures again with today's readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.verb import verb
from windrow.cli.voice import Voice

if TYPE_CHECKING:
    from windrow.adapter import Replayed


@verb("replay", examples=["windrow replay", "windrow replay --json"])
def command(voice: Voice) -> int:
    """Read every kept capture again with today's readers, schemas and lists; fetch nothing.

    The loaded records and the Summary Database are rebuilt beside the old ones, in the order in which the
    captures came, and then take their place. Documents that end elsewhere than before are listed, versions of
    pages that say something else are counted.
    """
    from windrow.engine.progress import Progress  # noqa: PLC0415 `--help` needs no engine

    replayed = voice.open().replay(Progress(quiet=voice.quiet or voice.json))
    for kind, done in replayed.items():
        _tell(voice, done, kind)
    if not replayed:
        voice.talk("nothing is summarised so far, so there is nothing to read again; next: windrow run")
    return 0


def _tell(voice: Voice, done: Replayed, kind: str) -> None:
    """Tell what came out differently."""
    from windrow.registry import phases  # noqa: PLC0415

    if (made := done.versions) is not None:
        if voice.json:
            voice.message("reread", made)
        voice.talk(
            f"session {done.session}: {made.after:,} versions of {kind}, {made.before:,} before; "
            f"{made.changed:,} say something else than before"
        )
        return
    names = dict(enumerate(phases()[kind], 1))
    for change in done.changes:
        before = f"{names[change.before[0]]} {change.before[1].name.lower()}" if change.before else "not there"
        after = f"{names[change.after[0]]} {change.after[1].name.lower()}"
        if voice.json:
            voice.message("change", {"key": change.key, "before": before, "after": after})
        else:
            voice.data(f"{change.key}: {before} -> {after}")
    voice.talk(f"session {done.session}: {len(done.changes)} documents end elsewhere than before")
