"""What joins the drops with a workspace: its configuration, databases, schemas and lists."""

from windrow.adapters.adapter import LazyAdapter

ADAPTER = LazyAdapter(
    __name__,
    {
        "ADOPTED_AT": "replay",
        "ADOPTS": "replay",
        "EXPORTS": "export",
        "adopt": "replay",
        "check": "check",
        "check_source": "harvest",
        "count_rests": "current_states",
        "count_states": "current_states",
        "harvest": "harvest",
        "predict": "harvest",
        "replay": "replay",
        "require_ready": "harvest",
        "states": "current_states",
        "try_address": "trial",
        "update_projection": "harvest",
    },
)
