"""The standard branch and entity names: those that VotersDaily's programs had, and the Federal Register.

A workspace may name more.
"""

from __future__ import annotations

from difflib import get_close_matches

from windrow.errors import ConfigError

BRANCHES = ("Executive", "Legislative", "Judicial", "Other")
ENTITIES = (
    "White House", "Senate", "House of Representatives", "Supreme Court", "Federal Election Commission",
    "Office of the Federal Register",
)  # fmt: skip


def checked(name: str, known: tuple[str, ...], setting: str) -> str:
    """Return a name that is on the list; ConfigError for any other, with the nearest one.

    >>> checked("Senate", ENTITIES, "events.entities")
    'Senate'
    """
    if name in known:
        return name
    guess = get_close_matches(name, known, 1, 0.6)
    meant = f"; did you mean {guess[0]}?" if guess else ""
    raise ConfigError(f"{name!r} is none of {', '.join(known)}{meant}", hint=f"add it to {setting} in windrow.toml")
