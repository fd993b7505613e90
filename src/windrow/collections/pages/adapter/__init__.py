"""What joins the pages with a workspace: its configuration, the Summary Database, the crawl log and the index."""

from windrow.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "EXPORTS": "export",
        "attempt": "trial",
        "changes": "changes",
        "check": "check",
        "clean_stores": "takedown",
        "clue": "harvest",
        "compare": "compare",
        "content": "changes",
        "content_of_visits": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "outcomes": "changes",
        "project": "harvest",
        "ready": "harvest",
        "remove_taken_down": "takedown",
        "replay": "replay",
        "search": "lookup",
        "takedown_targets": "takedown",
        "vet": "harvest",
        "estimate": "takedown",
    },
    IMPORTS_WARC=True,
)
