"""Install exactly the packages of a lock file into a virtual environment, with uv.

    python3 tools/provision.py FOLDER LOCK [--editable]

It needs only Python 3.11 with venv and pip. The settings of pip are passed to uv, as mirror.py does.
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
OLDEST_PYTHON = (3, 11)


def run(*command: str | Path, environ: Mapping[str, str]) -> None:
    """Run a command, or end with its exit code."""
    completed = subprocess.run([str(word) for word in command], env=dict(environ), cwd=ROOT, check=False)
    if completed.returncode:
        sys.exit(completed.returncode)


def create(folder: Path) -> Path:
    """Create a virtual environment in a folder unless it exists; return the path of its Python."""
    python = folder / "bin" / "python"
    if sys.version_info < OLDEST_PYTHON:
        sys.exit("windrow needs Python 3.11 or newer; name it with: make PYTHON=python3.12 ...")
    if not python.exists():
        try:
            venv.create(folder, with_pip=True, symlinks=True)
        except (subprocess.CalledProcessError, ImportError):
            sys.exit("this Python cannot make a virtual environment with pip; on Debian: apt-get install python3-venv")
    return python


def main(arguments: list[str]) -> None:
    """Create the environment, and install uv, the packages of the lock file and, with `--editable`, windrow itself."""
    folder, lock = (Path(word).absolute() for word in arguments if word != "--editable")
    python = create(folder)
    environ = dict(os.environ)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    run(*pip, "--require-hashes", "-r", "requirements/build.txt", environ=environ)
    environ = translated_environment(python)
    install = [str(python.parent / "uv"), "pip", "install", "--quiet", "--python", str(python)]
    install += ["--no-build-isolation", *offline_options(environ)]  # build.txt has pinned build tools
    run(*install, "--require-hashes", "-r", lock, environ=environ)
    if "--editable" in arguments:
        run(*install, "--no-deps", "--editable", ".", environ=environ)


if __name__ == "__main__":
    main(sys.argv[1:])
