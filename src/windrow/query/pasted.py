"""Whether a text looks like a message that was pasted, where a dash excludes nothing."""

from __future__ import annotations

import re

from windrow.query.filter import KEYS

_MARKS = re.compile(
    r"""
      --\w | ::  | ->  | \(\) | =  | \\ | \b0x[0-9a-f] | \berrno\b   # options, code, paths of Windows
    | (?:^|\s)(?:~|\.{1,2})?/\w                                    # a path of a file
    | (?:^|\s)-\w(?=\s|$)                                          # an option of one letter
    | \w\.\w+:\d                                                   # a file with a line number
    | (?:^|\s)\[[^\]\s]*\]                                         # [error]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|undefined|unrecogni[sz]ed|no such|not found|failed|fatal|"
    r"permission denied|unknown option|segmentation fault)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?:^|\s)(\S+):(?=\s|$)")


def pasted(text: str) -> bool:
    """Say whether a query looks like a command or an error message rather than a search.

    >>> pasted("ld: cannot find -lssl"), pasted("rm --force -recursive dir"), pasted("jaguar -car site:example.org")
    (True, True, False)
    >>> pasted("cannot find -lssl")
    True
    """
    labels = (found[1].lower() for found in _LABEL.finditer(text))
    return bool(_MARKS.search(text) or _FAILED.search(text)) or any(label.lstrip("-") not in KEYS for label in labels)
