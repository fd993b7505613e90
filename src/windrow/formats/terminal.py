"""Text of strangers as a terminal or a line of JSON may show it: with nothing in it that acts or hides."""

from __future__ import annotations

import json
import re
from typing import Any

_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls: line ends, escapes, and their forms of one character
    "\u2028\u2029"  # line and paragraph separators
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of direction
    "\u206a-\u206f\ufff9-\ufffb"  # deprecated format controls, annotations
    "\U000e0000-\U000e007f\ud800-\udfff]"  # tags, which nobody sees; halves of characters
)


def escape(text: str) -> str:
    r"""Make a line of foreign text harmless: what acts on a terminal is spelled, line ends too.

    >>> escape("red \x1b[31m name\nof a file" + chr(0x200f))
    'red \\x1b[31m name\\nof a file\\u200f'
    """
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escape_json(text: str) -> str:
    r"""Spell the same characters in a line of JSON as JSON spells them, so that it says the same.

    >>> escape_json('"a\x9bb\U000e0041"')
    '"a\\u009bb\\udb40\\udc41"'
    """
    return _ACTING.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _units(found[0])), text)


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Write a value as one line of JSON that may be shown on a terminal: all letters as they are.

    >>> json_text({"b": "caf\u00e9", "a": 1}, sort_keys=True)
    '{"a": 1, "b": "café"}'
    """
    return escape_json(json.dumps(value, ensure_ascii=False, sort_keys=sort_keys))


def _units(sign: str) -> list[int]:
    pairs = sign.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(pairs[at : at + 2], "big") for at in range(0, len(pairs), 2)]
