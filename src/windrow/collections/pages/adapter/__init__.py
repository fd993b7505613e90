"""What joins the pages with a workspace: its configuration, the Summary Database, the crawl log and the index."""

from windrow.adapter import Rooms

ADAPTER = Rooms(
    __name__,
    {
        "EXPORTS": "export",
        "attempt": "trial",
        "changes": "changes",
        "check": "check",
        "clue": "harvest",
        "compare": "compare",
        "content": "changes",
        "explain": "explain",
        "harvest": "harvest",
        "let_again": "takedown",
        "project": "harvest",
        "ready": "harvest",
        "replay": "replay",
        "search": "lookup",
        "take_down": "takedown",
        "vet": "harvest",
        "estimate": "takedown",
    },
    IMPORTS_WARC=True,
)
