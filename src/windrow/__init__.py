"""Harvest other people's documents, keep every byte, and answer for each of them."""

from windrow.app import Windrow
from windrow.app import Windrow as open  # noqa: A004, N813 `windrow.open(dir)` reads as it should

__all__ = ["Windrow", "open"]
