"""Extract the main content of HTML with `extract`; the modules of this package have its parts."""

from windrow.content.extraction import ContentImage, ContentLink, Extract, JudgedBlock, extract
from windrow.content.page import BlockFate

__all__ = ["BlockFate", "ContentImage", "ContentLink", "Extract", "JudgedBlock", "extract"]
