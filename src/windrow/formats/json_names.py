"""Find the names of people and topics in JSON, however a site nests them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

PERSON_KEYS = ("full_name", "name", "display_name", "first_name last_name", "screen_name")
"""The keys of a person's name, the best first; parts of a name that are to be joined are in one text."""

TOPIC_KEYS = ("name", "title", "keyword", "label")
"""The keys of the name of a keyword, tag or section."""


def find_names(value: Any, keys: Sequence[str]) -> Iterator[str]:
    """Yield the texts in a value, and of each object the text of the first of `keys` that has one.

    Lists are searched, and so are the lists and objects in an object without such a text, at any depth; of its texts,
    only those are names whose keys are numbers, as PHP writes a list.

    >>> list(find_names(["Ann Lee", {"1": {"first_name": "Bo", "last_name": "Ek"}, "mail": "x"}], PERSON_KEYS))
    ['Ann Lee', 'Bo Ek']
    >>> list(find_names({"0": "quay", "1": {"name": ["sea", "wall"]}}, TOPIC_KEYS))
    ['quay', 'sea', 'wall']
    """
    remaining = [value]  # the next one is last
    while remaining:
        part = remaining.pop()
        if isinstance(part, str) and part.strip():
            yield part
        elif isinstance(part, list):
            remaining += reversed(part)
        elif isinstance(part, dict):
            named = next(filter(None, (_text_of(part, key) for key in keys)), "")
            members = [named] if named else [
                member for key, member in part.items() if isinstance(member, dict | list) or key.isdecimal()
            ]  # fmt: skip
            remaining += reversed(members)


def _text_of(members: dict[str, Any], key: str) -> str:
    texts = (members.get(part) for part in key.split())
    return " ".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
