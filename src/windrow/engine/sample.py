"""One file or page, fetched to be looked at: into an archive of its own, which goes with its folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from windrow.engine.lane import fetch
from windrow.engine.message import TransferBatch
from windrow.errors import TerminalFailure
from windrow.model import Fetched, FetchRequest, KeptResponse, Limits, Site
from windrow.reasons import Reason
from windrow.stores.archive import ArchiveWriter
from windrow.transports.registry import transport_for

ROTATE = 1 << 40
"""Bytes after which a WARC file is closed: never, for one capture."""


def sample(folder: Path, site: Site, path: str, where: str, limits: Limits) -> tuple[KeptResponse, float]:
    """Fetch what lies at a path of a site; return its capture and the seconds that it took.

    What cannot be had is a TerminalFailure with its reason; `where` names it there.
    """
    keeper = ArchiveWriter(folder, "try", limits, ROTATE, site.agent)

    async def go() -> Fetched:
        async with await transport_for(site.scheme).connect(site) as connection:
            order = FetchRequest(1, path, part="try")
            return await fetch(order, TransferBatch(1, site, (order,)), connection, keeper, lambda _event: None)

    try:
        got = asyncio.run(go())
    finally:
        keeper.close()
    if got.kept is None:
        told = got.message if got.message.startswith(where) else f"{where}: {got.message}"
        raise TerminalFailure(told, got.reason or Reason.PROTOCOL_ERROR)
    return got.kept, got.seconds
