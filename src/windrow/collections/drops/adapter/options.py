"""What the steps and rules of the drops are told of names: the centres, the patterns, the day."""

from __future__ import annotations

from windrow.collections.drops.declared import Declared
from windrow.collections.drops.seed import CENTRES
from windrow.collections.drops.settings import drops_of
from windrow.config import Workspace
from windrow.engine.ledger.moment import now


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
