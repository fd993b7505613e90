"""HTTP and HTTPS: aiohttp is imported only where a source needs it, since that takes longer than all else."""

from __future__ import annotations

from typing import ClassVar

from windrow.model import Site
from windrow.transports.contract import Connection


class Web:
    """HTTP and HTTPS; redirects are not followed, and bodies are kept as they came."""

    schemes: ClassVar[frozenset[str]] = frozenset({"http", "https"})
    blocking: ClassVar[bool] = False
    parallel: ClassVar[int] = 32

    async def connect(self, site: Site) -> Connection:
        """Return a session; the first request opens the line."""
        from windrow.transports.web_session import WebConnection  # noqa: PLC0415 for those who need it

        return WebConnection(site)
