"""Fill a virtual environment with exactly what a lock file names, by way of uv.

    python3 tools/provision.py FOLDER LOCK [--editable]

It asks of the machine only Python 3.11 with venv and pip. pip's own settings (pip.conf and `PIP_*`:
mirror, certificates, local wheels, time-outs) are handed on to uv, which does not read them; a
`UV_*` variable that is set already wins.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from mirror import offline_options, translated_environment

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)


def run(*command: str | Path, environ: Mapping[str, str]) -> None:
    """Run a command, or end with its exit code."""
    done = subprocess.run([str(word) for word in command], env=dict(environ), cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def create(folder: Path) -> Path:
    """Make the environment unless it is there; return its Python."""
    python = folder / "bin" / "python"
    if sys.version_info < OLDEST:
        sys.exit("windrow needs Python 3.11 or newer; name it with: make PYTHON=python3.12 ...")
    if not python.exists():
        try:
            venv.create(folder, with_pip=True, symlinks=True)
        except (subprocess.CalledProcessError, ImportError):
            sys.exit("this Python has no venv with pip; on Debian: apt-get install python3-venv")
    return python


def main(arguments: list[str]) -> None:
    """Create the environment, bring uv, install the lock and perhaps the project itself."""
    folder, lock = (Path(word).absolute() for word in arguments if word != "--editable")
    python = create(folder)
    environ = dict(os.environ)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    run(*pip, "--require-hashes", "-r", "requirements/build.txt", environ=environ)
    environ = translated_environment(python)
    install = [str(python.parent / "uv"), "pip", "install", "--quiet", "--python", str(python)]
    install += ["--no-build-isolation", *offline_options(environ)]  # what builds is in build.txt, pinned too
    run(*install, "--require-hashes", "-r", lock, environ=environ)
    if "--editable" in arguments:
        run(*install, "--no-deps", "--editable", ".", environ=environ)


if __name__ == "__main__":
    main(sys.argv[1:])
