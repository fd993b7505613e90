"""The parts into which all hosts are divided if several machines share a crawl."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit


class HostPart(NamedTuple):
    """One of `total` parts into which all hosts are divided; `number` counts from 1. Each part has its own machine."""

    number: int = 1
    total: int = 1

    def has_origin(self, origin: str) -> bool:
        """Return whether the host of an origin (`https://example.org:8080`) belongs to this part.

        The empty origin, as of a folder of this machine, belongs to every part.
        """
        return not origin or self.total == 1 or self.owner_of(origin) == self.number

    def owner_of(self, origin: str) -> int:
        """Return the number of the part to which the host of an origin belongs."""
        return _find_part(urlsplit(origin).hostname or "", self.total)

    def describe(self, origin: str) -> str:
        """Return a sentence that says which part requests the host of an origin."""
        return f"part {self.owner_of(origin)}/{self.total} requests the host"


ALL_HOSTS = HostPart()
"""The only part if a crawl is not divided."""


@lru_cache(maxsize=1 << 16)
def _find_part(host: str, total: int) -> int:
    """Return to which of `total` parts a host belongs: a number from 1 to `total`, the same on every machine.

    A host belongs to the same part with and without `www.`, because most sites redirect from one to the other.

    >>> _find_part("example.org", 8), _find_part("www.example.org", 8), _find_part("example.net", 8)
    (6, 6, 1)
    """
    import hashlib  # noqa: PLC0415 the help of commands does not need it

    digest_of_host = hashlib.blake2b(host.removeprefix("www.").encode(), digest_size=8, key=b"windrow: part of a host")
    return int.from_bytes(digest_of_host.digest()) % total + 1
