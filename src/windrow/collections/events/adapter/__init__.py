"""The adapter that connects events with a workspace: `ADAPTER`."""

from windrow.collections.events.adapter.adapter import ADAPTER

__all__ = ["ADAPTER"]
