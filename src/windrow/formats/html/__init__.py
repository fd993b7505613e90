"""HTML: bytes to text, outline, main content, and what a page says of itself."""

from windrow.formats.html.article import Article, article
from windrow.formats.html.article_parts import headline
from windrow.formats.html.charset import DecodedText, decode
from windrow.formats.html.content import Page, main_content, read
from windrow.formats.html.head import FeedLink, PageHead, Translation
from windrow.formats.html.mark import PageLocation
from windrow.formats.html.outline import Anchor, Blocks, Boxes, Outline, table_row
from windrow.formats.html.unseen import unseen

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
