"""Connect news with a workspace: the tree of articles, the directories of runs, exports and explanations."""

from windrow.collections.news.adapter.adapter import NewsAdapter
from windrow.collections.news.collection import COLLECTION

ADAPTER = NewsAdapter(COLLECTION)
