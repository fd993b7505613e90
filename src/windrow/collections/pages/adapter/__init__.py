"""The adapter of `pages`: joins the collection with a workspace, its Summary Database, crawl log and index."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "EXPORTS": "verbs",
        "changes": "changes",
        "check": "verbs",
        "check_source": "harvest",
        "clean_stores": "verbs",
        "compare": "changes",
        "content": "changes",
        "content_of_attempts": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "outcomes": "changes",
        "predict": "harvest",
        "refuse_takedown": "verbs",
        "remove_taken_down": "verbs",
        "replay": "verbs",
        "require_ready": "harvest",
        "search": "search",
        "takedown_targets": "verbs",
        "try_address": "trial",
        "update_projection": "harvest",
    },
    IMPORTS_WARC=True,
)
