"""Zips of XML that partner centres drop on their servers, tracked from listing to loaded rows."""

from windrow.collections.drops.collection import COLLECTION

__all__ = ["COLLECTION"]
