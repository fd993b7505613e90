"""The ledger's named queries, read from the .sql files beside this module."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


@cache
def queries() -> dict[str, str]:
    """Return every query by its name; what several share begins with `-- part: NAME`, and stands as `{NAME}` in them.

    >>> queries()["last_seq"].startswith("SELECT value")
    True
    """
    texts = [entry.read_text(encoding="utf-8") for entry in files(__package__).iterdir() if entry.name.endswith(".sql")]
    found: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    for block in re.split(r"^-- (?=(?:name|part): )", "\n".join(texts), flags=re.MULTILINE)[1:]:
        head, _, body = block.partition("\n")
        what, _, name = head.partition(": ")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        found[what][name.strip()] = "\n".join(lines).strip().rstrip(";")
    for part, shared in found["part"].items():
        found["name"] = {name: text.replace(f"{{{part}}}", shared) for name, text in found["name"].items()}
    return found["name"]


@cache
def migrations() -> list[tuple[int, str]]:
    """Return every migration: its number and its SQL, in order."""
    folder = files(__package__).joinpath("migrations")
    texts = [(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()]
    return sorted((int(name[:4]), text) for name, text in texts if name.endswith(".sql"))
