"""Languages: their tags (BCP 47), and what a text alone tells, where the extra `language` is installed."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pkgutil import get_data
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENOUGH = 0.9
"""How sure the detector must be."""

_LOOKED_AT = 600  # characters: more takes longer, and tells no better
_LEAST = 40


_TAG = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?:[-_].*)?", re.IGNORECASE)


def normal(tag: str) -> str | None:
    """Return a tag of language, script and region as it is best written; None where no such language is registered.

    A script or region that is not registered is left out, and so are variants.

    >>> normal("zh_hant-tw"), normal("ENG-us-x-twain"), normal("en-xx"), normal("xx"), normal("12")
    ('zh-Hant-TW', 'en-US', 'en', None, None)
    """
    found = _TAG.fullmatch(tag.strip())
    if not found:
        return None
    languages, scripts, regions = _registry()
    name, script, region = (part or "" for part in found.groups())
    language_ = languages.get(name.lower())
    if language_ is None:
        return None
    script = script.title() if script.title() in scripts else ""
    region = region.upper() if region.isdigit() or region.upper() in regions else ""
    return "-".join(filter(None, (language_, script, region)))


@cache
def _registry() -> tuple[dict[str, str], frozenset[str], frozenset[str]]:
    """Return languages with their preferred subtag, scripts and regions, as `tools/languages.py` wrote them down."""
    written = (get_data("windrow.formats", "languages.txt") or b"").decode()  # part of the package, as code is
    languages, scripts, regions = map(str.split, written.splitlines())
    known_ = {name: preferred or name for name, _, preferred in (each.partition("=") for each in languages)}
    return known_, frozenset(scripts), frozenset(regions)


def known() -> bool:
    """Tell whether a detector is installed."""
    return find_spec("py3langid") is not None


def language(text: str) -> str | None:
    """Return the language of a text's beginning as an IANA subtag; None where that is not sure, or nobody can tell."""
    begin = text[:_LOOKED_AT]
    if len(begin) < _LEAST:
        return None
    detector = _detector()
    if detector is None:
        return None
    found, sure = detector.classify(begin)
    return str(found) if sure > ENOUGH and found not in {"zxx", "und"} else None


@cache
def _detector() -> LanguageIdentifier | None:
    """Load the model once in each process: a second, and a hundred megabytes."""
    if not known():
        return None
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 an extra, and slow to load

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
