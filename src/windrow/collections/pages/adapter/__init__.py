"""The adapter of `pages`: it connects the collection with the databases and the search index of a workspace."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "EXPORTS": "commands",
        "changes": "changes",
        "check": "commands",
        "check_source": "harvest",
        "marks": "harvest",
        "clean_stores": "commands",
        "compare": "changes",
        "content": "changes",
        "count_skipped": "changes",
        "content_of_attempts": "changes",
        "first_of_newest": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "home": "home",
        "knows": "home",
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
