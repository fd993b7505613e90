"""Sitemaps and feeds as hints: addresses, and when each was last changed."""

from windrow.formats.hint.hint import CAP, ENTRIES, HintKind, UrlHint, UrlHints
from windrow.formats.hint.reading import read

__all__ = ["CAP", "ENTRIES", "HintKind", "UrlHint", "UrlHints", "read"]
