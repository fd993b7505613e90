"""What joins the drops with a workspace: its configuration, databases, schemas and lists."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "ADOPTED_AT": "replay",
        "ADOPTS": "replay",
        "EXPORTS": "export",
        "adopt": "replay",
        "attempt": "trial",
        "check": "check",
        "clue": "harvest",
        "count_rests": "current_states",
        "count_states": "current_states",
        "harvest": "harvest",
        "project": "harvest",
        "ready": "harvest",
        "replay": "replay",
        "states": "current_states",
        "vet": "harvest",
    },
)
