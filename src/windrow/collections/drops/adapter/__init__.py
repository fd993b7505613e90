"""What joins the drops with a workspace: its configuration, databases, schemas and lists."""

from windrow.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "ADOPTED_AT": "adopt",
        "ADOPTS": "adopt",
        "EXPORTS": "export",
        "adopt": "adopt",
        "attempt": "trial",
        "check": "check",
        "clue": "options",
        "harvest": "harvest",
        "project": "harvest",
        "ready": "harvest",
        "replay": "replay",
        "vet": "harvest",
    },
)
