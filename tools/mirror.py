"""Run a command, such as uv, with the settings of pip on this machine, translated for uv.

    .venv/bin/python tools/mirror.py .venv/bin/uv pip compile ...

uv does not read pip.conf and `PIP_*`, so the mirror, certificates, local wheels and time-outs that are set there are
passed to it as variables. A `UV_*` variable that is set already is not replaced.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}


OLDER = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}  # old names that uv still reads
SCOPES = ("global", "install", ":env:")  # of pip's settings; a later scope overrides an earlier one


def settings(listing: str) -> dict[str, str]:
    r"""Return the value that pip uses for each setting, by name, from the output of `pip config list`.

    >>> settings("global.timeout='9'\n:env:.timeout='180'\nfreeze.timeout='1'")
    {'timeout': '180'}
    """
    values = {}
    for scope in SCOPES:
        for line in listing.splitlines():
            scoped_name, _, text = line.partition("=")
            line_scope, _, name = scoped_name.rpartition(".")
            if line_scope == scope:
                values[name] = str(ast.literal_eval(text))
    return values


def translate(file_settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return uv's variables for pip's settings, without those that `environ` has under a present or old name.

    >>> translate({"find-links": "/a /b", "index-url": "mirror"}, {"UV_DEFAULT_INDEX": "mine"})
    {'UV_FIND_LINKS': '/a,/b'}
    """
    variables = {}
    for name, variable in VARIABLES.items():
        if name in file_settings and not {variable, OLDER.get(variable, variable)} & set(environ):
            separator = "," if name == "find-links" else " "
            variables[variable] = separator.join(file_settings[name].split())
    if file_settings.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        variables["UV_NO_INDEX"] = "1"
    return variables


def offline_options(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return `--no-index` if UV_NO_INDEX is set in `environ`: uv has only an option for this, not a variable."""
    return ("--no-index",) if environ.get("UV_NO_INDEX") else ()


@cache
def pip_listing(python: str) -> str:
    """Return what the pip of `python` prints of its settings. It is run once: it takes 0.3 s."""
    return subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "config", "list"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def translated_environment(python: str | Path) -> dict[str, str]:
    """Return this process's environment with the settings of the pip of `python`, translated for uv."""
    environ = dict(os.environ)
    return environ | translate(settings(pip_listing(str(python))), environ) | {"UV_PYTHON_DOWNLOADS": "never"}


if __name__ == "__main__":
    environment = translated_environment(sys.executable)
    command = [*sys.argv[1:], *offline_options(environment)]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)
