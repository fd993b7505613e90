"""Choose articles by their addresses: the settings `article` and `not_article` of a source. Notice changed settings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from windrow.contract import LeftOutCount
from windrow.formats.robots import Pattern, parse_path_pattern, spell_path
from windrow.formats.url import normalise, parts
from windrow.reasons import Reason

NO_ARTICLE_RULE = "its path matches none of `article`"
NOT_ARTICLE_RULE = "its path matches one of `not_article`"
UNLIKELY_RULE = "its path does not look like that of an article; the setting `article` can name such paths"
"""The rules under which addresses are counted that are not requested or read. The last one holds for section pages."""


def find_refusal(url: str, options: Mapping[str, Any]) -> str:
    """Return the rule by which a source's settings exclude an address, or "" if they do not or it is not valid.

    >>> find_refusal("https://a.example/2026/quay", {"article": ("/2026/",), "not_article": ("/*/video/",)})
    ''
    >>> find_refusal("https://a.example/2026/video/1", {"article": ("/2026/",), "not_article": ("/*/video/",)})
    'its path matches one of `not_article`'
    """
    wanted, unwanted = options.get("article", ()), options.get("not_article", ())
    if not wanted and not unwanted:
        return ""
    address = normalise(url).url
    if not address:  # it has no path, and is left out for that
        return ""
    path = spell_path(parts(address))
    if wanted and not any(pattern.matches(path) for pattern in _read_patterns(tuple(wanted))):
        return NO_ARTICLE_RULE
    return NOT_ARTICLE_RULE if any(pattern.matches(path) for pattern in _read_patterns(tuple(unwanted))) else ""


def count_refusals(refusals: Mapping[str, str]) -> tuple[LeftOutCount, ...]:
    """Return, for each rule, how many addresses it excludes; `refusals` has the rule by address, or ""."""
    counts = Counter(filter(None, refusals.values()))
    examples = {rule: address for address, rule in reversed([*refusals.items()])}
    return tuple(LeftOutCount(Reason.NOT_WANTED, rule, count, examples[rule]) for rule, count in counts.items())


_CHOOSING_SETTINGS = ("since", "until", "article", "not_article", "origins")


def compare_choice(learned: Mapping[str, Any], key: str, options: Mapping[str, Any]) -> tuple[bool, dict[str, str]]:
    """Compare the settings that choose a source's articles with those under `key` in `learned`.

    Return whether they differ, so that what they left out before may be wanted now, and what to remember. If nothing is
    remembered, nothing was left out.

    >>> compare_choice({}, "a", {"since": "2026-01-01"})
    (False, {'a': '{"since": "2026-01-01"}'})
    >>> compare_choice({"a": '{"since": "2026-01-01"}'}, "a", {"since": ""})
    (True, {'a': ''})
    """
    chosen = {name: options[name] for name in _CHOOSING_SETTINGS if options.get(name)}
    choice, former = json.dumps(chosen) if chosen else "", learned.get(key, "")
    return bool(former) and former != choice, {key: choice} if former != choice else {}


@lru_cache(maxsize=64)
def _read_patterns(texts: Sequence[str]) -> tuple[Pattern, ...]:
    return tuple(parse_path_pattern(text, "article") for text in texts)
