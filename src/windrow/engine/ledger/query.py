"""The ledger's named queries, read from the .sql files beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def queries() -> dict[str, str]:
    """Return every query by its name.

    >>> queries()["last_seq"].startswith("SELECT value")
    True
    """
    texts = [entry.read_text(encoding="utf-8") for entry in files(__package__).iterdir() if entry.name.endswith(".sql")]
    found: dict[str, str] = {}
    for block in "\n".join(texts).split("-- name: ")[1:]:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        found[name.strip()] = "\n".join(lines).strip().rstrip(";")
    return found


@cache
def migrations() -> list[tuple[int, str]]:
    """Return every migration: its number and its SQL, in order."""
    folder = files(__package__).joinpath("migrations")
    texts = [(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()]
    return sorted((int(name[:4]), text) for name, text in texts if name.endswith(".sql"))
