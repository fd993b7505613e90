"""Join news with a workspace: the tree of articles and the summaries of runs, and what people ask of them."""

from windrow.collections.news.adapter.adapter import NewsAdapter
from windrow.collections.news.collection import COLLECTION

ADAPTER = NewsAdapter(COLLECTION)
