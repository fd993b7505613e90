"""How a field of an event is found in what a document holds: paths, alternatives, templates and constants.

`a.b|c` takes the first that says something, `{date} {time}` puts several together, `=word` is a text as it stands,
`a?word` that word where `a` says anything, `a!word` where it says nothing.
What a path means its reader says.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_HOLE = re.compile(r"\{([^{}]+)\}")
_CONDITION = re.compile("[?!]")

Look = Callable[[str], str | None]
"""Finds the text at a path; None where there is nothing of the kind."""


def found(expression: str, look: Look) -> str:
    """Return what an expression finds; empty where it finds nothing.

    >>> found("title|name", {"name": "Board"}.get), found("{day} {hour}", {"day": "1 May"}.get), found("=open", {}.get)
    ('Board', '1 May', 'open')
    """
    for alternative in expression.split("|"):
        if alternative.startswith("="):
            told = alternative[1:]
        elif "{" in alternative:
            first, *_ = [look(hole) for hole in _HOLE.findall(alternative)] or [""]
            told = _HOLE.sub(lambda hole: look(hole[1]) or "", alternative).strip() if first else ""
        elif mark := _CONDITION.search(alternative):
            said = bool((look(alternative[: mark.start()]) or "").strip())
            told = alternative[mark.end() :] if said == (mark[0] == "?") else ""
        else:
            told = (look(alternative) or "").strip()
        if told:
            return told
    return ""
