"""The parts of a normal address, as the base schema of the Summary Database keeps them."""

from __future__ import annotations

import re
from typing import NamedTuple

from windrow.errors import StepError
from windrow.reasons import Reason

_PARTS = re.compile(r"(https?)://(\[[^\]/?#]+\]|[^\[\]:/?#@]+)(?::(\d{1,5}))?(/[^?#]*)(?:\?([^#]*))?", re.DOTALL)


class Parts(NamedTuple):
    """An address in parts; `port` is None where it is the scheme's own, `query` None where there is none."""

    text: str
    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        """Return scheme, host and, where it is not the scheme's own, port: `https://example.org`."""
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port is not None else "")


def parts(url: str) -> Parts:
    """Take an address apart that `normalise` made; another text is refused with BAD_ADDRESS.

    >>> parts("https://example.org:8443/a?b=c").origin
    'https://example.org:8443'
    >>> parts("https://example.org/")[1:]
    ('https', 'example.org', None, '/', None)
    """
    found = _PARTS.fullmatch(url)
    if not found:
        raise StepError(f"{url[:200]!r} is not a normal address", Reason.BAD_ADDRESS)
    scheme, host, port, path, query = found.groups()
    return Parts(url, scheme, host, int(port) if port else None, path, query)
