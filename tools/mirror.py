"""Run a command, mostly uv, with pip's own settings translated for it.

    .venv/bin/python tools/mirror.py .venv/bin/uv pip compile ...

uv does not read pip.conf and `PIP_*`: the mirror, certificates, local wheels and time-outs that are
set there for this machine are handed on. A `UV_*` variable that is set already wins.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HANDED_ON = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}


OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}  # names uv still reads
SCOPES = ("global", "install", ":env:")  # weakest first


def settings(listing: str) -> dict[str, str]:
    r"""Read the lines of `pip config list`: each setting's name and the value that pip would use.

    >>> settings("global.timeout='9'\n:env:.timeout='180'\nfreeze.timeout='1'")
    {'timeout': '180'}
    """
    found = {}
    for scope in SCOPES:
        for line in listing.splitlines():
            place, _, text = line.partition("=")
            where, _, name = place.rpartition(".")
            if where == scope:
                found[name] = str(ast.literal_eval(text))
    return found


def translate(told: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Turn pip's settings into the variables that tell uv the same.

    >>> translate({"find-links": "/a /b", "index-url": "mirror"}, {"UV_DEFAULT_INDEX": "mine"})
    {'UV_FIND_LINKS': '/a,/b'}
    """
    variables = {}
    for name, variable in HANDED_ON.items():
        if name in told and not {variable, OLDER.get(variable, variable)} & set(environ):
            mark = "," if name == "find-links" else " "
            variables[variable] = mark.join(told[name].split())
    if told.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        variables["UV_NO_INDEX"] = "1"
    return variables


def offline(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what tells uv that no index may be asked: it has no variable for that."""
    return ("--no-index",) if environ.get("UV_NO_INDEX") else ()


def surroundings(python: str | Path) -> dict[str, str]:
    """Return this process's environment with what the pip of that Python is told added for uv."""
    listing = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", "config", "list"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    told = settings(listing)
    environ = dict(os.environ)
    return environ | translate(told, environ) | {"UV_PYTHON_DOWNLOADS": "never"}


if __name__ == "__main__":
    around = surroundings(sys.executable)
    command = [*sys.argv[1:], *offline(around)]
    sys.exit(subprocess.run(command, env=around, check=False).returncode)
