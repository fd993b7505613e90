"""Adopt zips that are held already: a folder becomes a source of its own, for one run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from windrow.collections.drops.adapter.tracker_books import declared
from windrow.collections.drops.discover import FOLDERS
from windrow.collections.drops.name import ZipName, read_zip_name
from windrow.config import Workspace
from windrow.errors import UsageError
from windrow.model import Site, Source

NAME = "adopted"
ADOPTED_AT = "unzip"
ADOPTS = f"a folder of zips that are held already, with {', '.join(FOLDERS[:-1])} or {FOLDERS[-1]} in it"


def adopt(workspace: Workspace, folder: Path) -> Source:
    """Return a source over a folder that holds `add`, `edit` or `delete`, or is one of them.

    The zips are copied into the archive and go on from there as if they had been fetched; the
    folder is only read. The source belongs to the centre that made most of the zips.
    """
    base = folder.resolve()
    if base.name in FOLDERS:
        base = base.parent
    there = [base / name for name in FOLDERS if (base / name).is_dir()]
    if not there:
        raise UsageError(
            f"{folder} has no folder {', '.join(FOLDERS)}: what is to be done with its zips is not said",
            hint=f"mkdir {folder}/add && mv {folder}/*.zip {folder}/add/",
        )
    said = declared(workspace, workspace.sources)
    makers: Counter[str] = Counter()
    for path in (path for one in there for path in one.glob("*.zip")):
        found = read_zip_name(path.name, said.names, said.zip_name)
        if isinstance(found, ZipName):
            makers[found.centre] += 1
    if not makers:
        raise UsageError(f"{folder} holds no zip whose name follows the convention", hint="windrow try ZIP --as drops")
    owner = makers.most_common(1)[0][0]
    return Source(NAME, "drops", Site("file", base=str(base)), owner=owner, connections=4)
