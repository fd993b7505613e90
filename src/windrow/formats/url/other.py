"""Addresses of other schemes than http and https: not harvested, but told of."""

from __future__ import annotations

import re

import ada_url

from windrow.formats.url.normal import LONGEST, Resolved
from windrow.reasons import Reason

_SCHEME = re.compile(r"[\x00-\x20]*+[a-z][a-z0-9+.-]*+:", re.IGNORECASE)


def other(href: str) -> Resolved:
    """Spell an address that `normalise` refused for its scheme as browsers do, without credentials.

    >>> other("MAILTO:someone@example.org").url, other("ftp://me:secret@b.example/x#y")
    ('mailto:someone@example.org', Resolved(url='ftp://b.example/x', fragment='y', reason=None))
    """
    if len(href) > LONGEST:
        return Resolved("", None, Reason.ADDRESS_TOO_LONG)
    try:
        read = ada_url.normalize_url(href.encode("utf-8", "replace").decode()) if _SCHEME.match(href) else ""
    except ValueError:
        read = ""
    url, _, fragment = read.partition("#")
    scheme, slashes, rest = url.partition("://")
    if slashes:
        authority, slash, path = rest.partition("/")
        url = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    if not url or len(url) > LONGEST:
        return Resolved("", None, Reason.BAD_ADDRESS)
    return Resolved(url, fragment if 0 < len(fragment) <= LONGEST else None)
