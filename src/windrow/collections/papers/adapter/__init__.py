"""What joins papers with a workspace."""

from windrow.collections.papers.adapter.papers import ADAPTER

__all__ = ["ADAPTER"]
