"""The adapter of `pages`: joins the collection with a workspace, its Summary Database, crawl log and index."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "EXPORTS": "verbs",
        "attempt": "trial",
        "changes": "changes",
        "check": "verbs",
        "clean_stores": "verbs",
        "clue": "harvest",
        "compare": "changes",
        "content": "changes",
        "content_of_visits": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "outcomes": "changes",
        "project": "harvest",
        "ready": "harvest",
        "refuse_takedown": "verbs",
        "remove_taken_down": "verbs",
        "replay": "verbs",
        "search": "search",
        "takedown_targets": "verbs",
        "vet": "harvest",
    },
    IMPORTS_WARC=True,
)
