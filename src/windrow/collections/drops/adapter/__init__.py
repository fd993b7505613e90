"""The adapter of the collection `drops`: it connects the collection with the settings and databases of a workspace."""

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
        "marks": "harvest",
        "count_reached": "current_states",
        "count_states": "current_states",
        "harvest": "harvest",
        "home": "home",
        "knows": "home",
        "predict": "harvest",
        "replay": "replay",
        "require_ready": "harvest",
        "states": "current_states",
        "try_address": "trial",
        "update_projection": "harvest",
    },
)
