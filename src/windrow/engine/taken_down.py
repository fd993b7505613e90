"""Which addresses were taken down, held in memory while others come in by the thousand."""

from __future__ import annotations

from windrow.digest import number
from windrow.engine.ledger import Ledger
from windrow.formats.url import normalise, parts


class TakenDownAddresses:
    """The addresses and origins of which nothing may be kept."""

    def __init__(self, ledger: Ledger) -> None:
        """Read the tombstones that stand now."""
        taken_down = ledger.takedowns.standing()
        self._addresses = {one.address for one in taken_down if one.origin is None}
        self._origins = {one.origin for one in taken_down if one.origin is not None}

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._addresses or self._origins)

    def hold(self, uri: str) -> bool:
        """Tell whether an address, however it is written, was taken down."""
        url = normalise(uri).url
        return bool(url) and (number(url) in self._addresses or parts(url).origin in self._origins)
