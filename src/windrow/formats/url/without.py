"""Addresses without some of the parameters in their query."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote_plus


def without(url: str, names: Iterable[str]) -> str:
    """Take parameters out of an address, whatever stands in them.

    >>> without("/terms?page=2&api_key=xxxx", ["api_key"]), without("/terms?api_key=xxxx#a", ["api_key"])
    ('/terms?page=2', '/terms#a')
    """
    out = {name.lower() for name in names}
    bare, mark, fragment = url.partition("#")
    path, asked, query = bare.partition("?")
    if not asked or not out:
        return url
    left = [one for one in query.split("&") if unquote_plus(one.partition("=")[0]).lower() not in out]
    return f"{path}{'?' if left else ''}{'&'.join(left)}{mark}{fragment}"
