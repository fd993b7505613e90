"""HTML: bytes to text, outline, main content, and what a page says of itself."""

from windrow.content.article import Article, article
from windrow.content.article_parts import headline
from windrow.content.charset import DecodedText, decode
from windrow.content.head import FeedLink, PageHead, Translation
from windrow.content.outline import Anchor, Blocks, Boxes, Outline, PageLocation, table_row
from windrow.content.page import Page, main_content, read
from windrow.content.tree import unseen

__all__ = [
    "Anchor",
    "Article",
    "Blocks",
    "Boxes",
    "DecodedText",
    "FeedLink",
    "Outline",
    "Page",
    "PageHead",
    "PageLocation",
    "Translation",
    "article",
    "decode",
    "headline",
    "main_content",
    "read",
    "table_row",
    "unseen",
]
