"""What changed between two versions of one thing, asked of the collections that keep versions."""

from __future__ import annotations

from typing import Any

from windrow.adapter import harvested_collections
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.registry import capable


def compare(workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Any:
    """Compare two versions of what is named; the first collection that knows it answers."""
    last: WindrowError = UsageError("no collection of this workspace compares versions", hint="windrow status")
    for one in capable("compare", harvested_collections(workspace)).values():
        try:
            return one.compare(workspace, name, since, until, context=context)
        except WindrowError as error:
            last = error
    raise last
