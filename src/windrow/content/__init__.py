"""Extract the main content of HTML with one call; other packages of windrow import from the modules here."""

from windrow.content.extraction import ContentImage, ContentLink, Extract, JudgedBlock, extract
from windrow.content.page import BlockFate

__all__ = ["BlockFate", "ContentImage", "ContentLink", "Extract", "JudgedBlock", "extract"]
