"""The adapter of `pages`. It connects the collection with a workspace: Summary Database, crawl log and search index."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "EXPORTS": "commands",
        "changes": "changes",
        "check": "commands",
        "check_source": "harvest",
        "clean_stores": "commands",
        "compare": "changes",
        "content": "changes",
        "count_facets": "search",
        "count_skipped": "changes",
        "content_of_attempts": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "outcomes": "changes",
        "predict": "harvest",
        "refuse_takedown": "commands",
        "remove_taken_down": "commands",
        "replay": "commands",
        "require_ready": "harvest",
        "search": "search",
        "takedown_targets": "commands",
        "try_address": "trial",
        "update_projection": "harvest",
    },
    IMPORTS_WARC=True,
)
