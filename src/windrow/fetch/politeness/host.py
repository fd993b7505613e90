"""Names of hosts as a configuration has them: `example.org`, `.example.org` for it and all below, `*` for any."""

from __future__ import annotations

import re

from windrow.errors import ConfigError
from windrow.formats.url import normalise, parts

_HOST = re.compile(r"(?:\*|\.?[^\s/:*?#@\[\]]+|\[[0-9a-fA-F:.]+\])")


def host_pattern(text: str, setting: str) -> str:
    """Read a host's name: `example.org` is this host, `.example.org` it and all below, `*` any.

    >>> host_pattern(".B\u00fccher.Example", "hosts")
    '.xn--bcher-kva.example'
    """
    if text == "*":
        return text
    if _HOST.fullmatch(text) and (url := normalise(f"http://{text.removeprefix('.')}/").url):
        return ("." if text.startswith(".") else "") + parts(url).host
    raise ConfigError(f"{setting}: {text[:200]!r} is not a host: example.org, .example.org or *")


def host_fits(name: str, host: str) -> bool:
    """Tell whether a host's normal name fits a pattern that `host_pattern` read."""
    if name.startswith("."):
        return host.endswith(name) or host == name[1:]
    return name in {host, "*"}
