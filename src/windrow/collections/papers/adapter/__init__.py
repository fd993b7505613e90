"""The adapter that connects papers with a workspace: `ADAPTER`."""

from windrow.collections.papers.adapter.papers import ADAPTER

__all__ = ["ADAPTER"]
