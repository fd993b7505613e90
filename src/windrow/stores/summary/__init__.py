"""The Summary Database: what was seen of every address, as versions in time with their texts and links."""

from windrow.stores.summary.entry import Crawl, Entry, Summary
from windrow.stores.summary.generation import Sight
from windrow.stores.summary.store import SummaryStore

__all__ = ["Crawl", "Entry", "Sight", "Summary", "SummaryStore"]
