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
    settings_ = {}
    for scope in SCOPES:
        for line in listing.splitlines():
            place, _, text = line.partition("=")
            where, _, name = place.rpartition(".")
            if where == scope:
                settings_[name] = str(ast.literal_eval(text))
    return settings_


def translate(file_settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Turn pip's settings into the variables that tell uv the same.

    >>> translate({"find-links": "/a /b", "index-url": "mirror"}, {"UV_DEFAULT_INDEX": "mine"})
    {'UV_FIND_LINKS': '/a,/b'}
    """
    variables = {}
    for name, variable in HANDED_ON.items():
        if name in file_settings and not {variable, OLDER.get(variable, variable)} & set(environ):
            mark = "," if name == "find-links" else " "
            variables[variable] = mark.join(file_settings[name].split())
    if file_settings.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        variables["UV_NO_INDEX"] = "1"
    return variables


def offline_options(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the option that forbids uv to use an index: it has no variable for that."""
    return ("--no-index",) if environ.get("UV_NO_INDEX") else ()


def translated_environment(python: str | Path) -> dict[str, str]:
    """Return this process's environment with the settings of that Python's pip, translated for uv."""
    listing = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", "config", "list"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file_settings = settings(listing)
    environ = dict(os.environ)
    return environ | translate(file_settings, environ) | {"UV_PYTHON_DOWNLOADS": "never"}


if __name__ == "__main__":
    around = translated_environment(sys.executable)
    command = [*sys.argv[1:], *offline_options(around)]
    sys.exit(subprocess.run(command, env=around, check=False).returncode)
