"""`windrow replay`: read kept captures again with today's readers."""

from __future__ import annotations

from windrow.cli.verb import verb
from windrow.cli.voice import Voice


@verb("replay", examples=["windrow replay", "windrow replay --json"])
def command(voice: Voice) -> int:
    """Read every kept capture again with today's readers, schemas and lists; fetch nothing.

    The loaded records are rebuilt beside the old ones, in the order in which the captures came, and
    then take their place. Documents that end elsewhere than before are listed.
    """
    from windrow.app.kind import phases as known  # noqa: PLC0415 `--help` needs no engine
    from windrow.app.replay import replay  # noqa: PLC0415
    from windrow.engine.progress import Progress  # noqa: PLC0415

    workspace = voice.open()
    done = replay(workspace.config, workspace.setup, Progress(quiet=voice.quiet or voice.json))
    phases = dict(enumerate(known()["drops"], 1))
    for change in done.changes:
        before = f"{phases[change.before[0]]} {change.before[1].name.lower()}" if change.before else "not there"
        after = f"{phases[change.after[0]]} {change.after[1].name.lower()}"
        if voice.json:
            voice.message("change", {"key": change.key, "before": before, "after": after})
        else:
            voice.data(f"{change.key}: {before} -> {after}")
    voice.talk(f"session {done.session}: {len(done.changes)} documents end elsewhere than before")
    return 0
