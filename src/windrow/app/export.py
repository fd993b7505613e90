"""What a workspace holds, in the forms of its standards: the archive's index, and what each collection can write."""

from __future__ import annotations

from collections.abc import Container
from typing import TextIO

from windrow.adapters.adapter import Export, Exports, harvested_collections
from windrow.config import Workspace
from windrow.contract.registry import capable
from windrow.engine.check import lines
from windrow.errors import UsageError
from windrow.ledger import Ledger


def captures(workspace: Workspace, form: str, out: TextIO) -> int:
    """Write an index line for every capture, sorted as CDXJ asks; return how many.

    File names are relative to the archive's folder.
    """
    del form
    count = 0
    if not workspace.ledger.exists():
        return count
    ledger = Ledger(workspace.ledger)
    try:
        for line in lines(ledger, *ledger.captures.sessions()):
            out.write(f"{line}\n")
            count += 1
    finally:
        ledger.close()
    return count


def forms(among: Container[str] | None = None) -> dict[str, Export]:
    """Return all that can be exported, or what some collections can, by its name."""
    found = {"captures": Export("captures", ("cdxj",), "an index of the archive", captures)}
    return found | {one.what: one for made in capable(Exports, among).values() for one in made.EXPORTS}


def export(workspace: Workspace, what: str, form: str, out: TextIO) -> tuple[int, str]:
    """Write what is named to a UTF-8 stream; return how much, and of what unit."""
    known = forms(harvested_collections(workspace))
    if what not in known:
        known = forms()  # of what was never harvested there is an export without a row
    if what not in known:
        raise UsageError(f"there is no {what!r} to export; there is {', '.join(sorted(known))}")
    chosen = known[what]
    if form not in chosen.forms:
        raise UsageError(f"{what} cannot be written as {form!r}; there is {', '.join(chosen.forms)}")
    return chosen.write(workspace, form, out), chosen.unit
