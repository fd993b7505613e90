"""The main content of HTML by one call; the rooms of windrow import what else they need from its modules."""

from windrow.content.extraction import ContentImage, ContentLink, Extract, JudgedBlock, extract
from windrow.content.page import BlockFate

__all__ = ["BlockFate", "ContentImage", "ContentLink", "Extract", "JudgedBlock", "extract"]
