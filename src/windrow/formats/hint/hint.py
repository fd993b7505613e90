"""What a sitemap or a feed tells, and how much of it is listened to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from windrow.reasons import Reason

CAP = 50 * 1024 * 1024
"""Bytes of a sitemap, uncompressed (Sitemaps protocol 0.9)."""

ENTRIES = 50_000
"""Entries of a sitemap (Sitemaps protocol 0.9); a feed has as many at most."""


class HintKind(StrEnum):
    """What kind of hints a document holds."""

    SITEMAP = "sitemap"  # pages of the site
    INDEX = "index"  # further sitemaps
    FEED = "feed"  # what is new
    NONE = "none"


class UrlHint(NamedTuple):
    """A normal address, and when it is said to have changed (UTC), if that is told."""

    url: str
    modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class UrlHints:
    """What was read; a `reason` tells why it is not all, or nothing. `refused` counts what is no address."""

    kind: HintKind
    entries: tuple[UrlHint, ...] = ()
    reason: Reason | None = None
    refused: int = 0
