"""What the steps and rules of the drops are told of names: the centres, the patterns, the day."""

from __future__ import annotations

from windrow.collections.drops.database.declared import Declared
from windrow.collections.drops.database.seed import CENTRES
from windrow.collections.drops.discover import FOLDERS, plan
from windrow.collections.drops.settings import drops_of
from windrow.config import Workspace
from windrow.engine.clock import now
from windrow.model import ListingEntry, Site, Source


def options(workspace: Workspace | None, name: str = "") -> dict[str, str]:
    """Return a workspace's options.

    Without a workspace nobody declares centres: those of the standard's seed are taken, and the one
    that `name`, the file in question, begins with.
    """
    today = now().date().isoformat()
    if workspace is None:
        centres = ",".join(dict.fromkeys([*CENTRES, name.partition(".")[0].replace(",", "")]))
        return {"centres": centres, "zip_name": "", "xml_name": "", "today": today}
    drops = drops_of(workspace.sections)
    centres = ",".join(Declared(now(), drops.centres).names)
    return {"centres": centres, "zip_name": drops.zip_name, "xml_name": drops.xml_name, "today": today}


def clue(workspace: Workspace, what: str) -> str:
    """Say what would become of a file of this name, by running the rules on it; empty if nothing can be told."""
    folder, _, name = what.rpartition("/")
    folder = folder.rpartition("/")[2]
    inside = folder in FOLDERS
    entry = ListingEntry(folder if inside else FOLDERS[0], name or what)
    offers = plan(Source("", "drops", Site("")), [entry], options(workspace))
    if offers and offers[0].reason:
        return f"; a file of this name would be refused: {offers[0].reason.meaning}"
    if offers:
        return "; its name is good, but no source has offered it so far"
    if inside or "." in name:
        return "; sources of drops leave files of this name out, by rule and without a row"
    return ""
