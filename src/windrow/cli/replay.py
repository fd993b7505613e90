"""`windrow replay`: read kept captures again with today's readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.cli.verb import verb
from windrow.cli.voice import Voice

if TYPE_CHECKING:
    from windrow.app.replay import Replayed


@verb("replay", examples=["windrow replay", "windrow replay --json"])
def command(voice: Voice) -> int:
    """Read every kept capture again with today's readers, schemas and lists; fetch nothing.

    The loaded records and the Summary Database are rebuilt beside the old ones, in the order in which the
    captures came, and then take their place. Documents that end elsewhere than before are listed, versions of
    pages that say something else are counted.
    """
    from windrow.app.kind import phases as known  # noqa: PLC0415 `--help` needs no engine
    from windrow.app.pages.replay import replay as replay_pages  # noqa: PLC0415
    from windrow.app.replay import replay  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    workspace = voice.open()
    progress = Progress(quiet=voice.quiet or voice.json)
    told = workspace.config
    if any(source.collection == "drops" for source in told.sources) or not told.pages.summary.is_file():
        _drops(voice, replay(told, workspace.setup, progress), known()["drops"])
    if done := replay_pages(told, workspace.setup, progress):
        if voice.json:
            voice.message("reread", done)
        voice.talk(
            f"session {done.session}: {done.after:,} versions of pages, {done.before:,} before; "
            f"{done.changed:,} say something else than before"
        )
    return 0


def _drops(voice: Voice, done: Replayed, names: Sequence[str]) -> None:
    phases = dict(enumerate(names, 1))
    for change in done.changes:
        before = f"{phases[change.before[0]]} {change.before[1].name.lower()}" if change.before else "not there"
        after = f"{phases[change.after[0]]} {change.after[1].name.lower()}"
        if voice.json:
            voice.message("change", {"key": change.key, "before": before, "after": after})
        else:
            voice.data(f"{change.key}: {before} -> {after}")
    voice.talk(f"session {done.session}: {len(done.changes)} documents end elsewhere than before")
