"""Tell the language of a text from the text alone, where the extra `language` is installed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENOUGH = 0.9
"""How sure the detector must be."""

_LOOKED_AT = 600  # characters: more takes longer, and tells no better
_LEAST = 40


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
