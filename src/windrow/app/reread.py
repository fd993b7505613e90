"""What came of reading again what is kept."""

from __future__ import annotations

from typing import NamedTuple

from windrow.engine.replay import Change


class Reread(NamedTuple):
    """How many versions of pages there were before, are now, and say something else than any did before."""

    session: int
    before: int
    after: int
    changed: int


class Replayed(NamedTuple):
    """What a replay did: the session it is on record as, and what came out differently."""

    session: int
    changes: tuple[Change, ...] = ()
    versions: Reread | None = None
