"""Read HTML: text, outline, main content, and the metadata of a page."""

from windrow.content.article import Article, article
from windrow.content.article_parts import headline
from windrow.content.charset import DecodedText, decode
from windrow.content.extraction import ContentImage, ContentLink, Extract, JudgedBlock, extract
from windrow.content.head import FeedLink, PageHead, Translation
from windrow.content.outline import Anchor, Blocks, Boxes, Outline, PageLocation, table_row
from windrow.content.page import BlockFate, Page, main_content, read
from windrow.content.tree import unseen

__all__ = [
    "Anchor",
    "Article",
    "BlockFate",
    "Blocks",
    "Boxes",
    "ContentImage",
    "ContentLink",
    "DecodedText",
    "Extract",
    "FeedLink",
    "JudgedBlock",
    "Outline",
    "Page",
    "PageHead",
    "PageLocation",
    "Translation",
    "article",
    "decode",
    "extract",
    "headline",
    "main_content",
    "read",
    "table_row",
    "unseen",
]
