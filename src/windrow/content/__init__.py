"""Extract the main content of HTML with `extract`; the modules of this package have its parts."""

from windrow.content.extraction import ContentImage, ContentLink, ContentOmission, Extract, JudgedBlock, extract
from windrow.content.page import BlockFate

__all__ = ["BlockFate", "ContentImage", "ContentLink", "ContentOmission", "Extract", "JudgedBlock", "extract"]
