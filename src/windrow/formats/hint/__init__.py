"""Sitemaps and feeds as hints: addresses, and when each was last changed. `reading` reads them."""

from windrow.formats.hint.hint import CAP, ENTRIES, HintKind, UrlHint, UrlHints

__all__ = ["CAP", "ENTRIES", "HintKind", "UrlHint", "UrlHints"]
