"""Read documents: make the text pile, the description and the links of a document from its bytes, without I/O."""

from windrow.collections.pages.reading.document import Description, PageDocument, Pile, read_html_page
from windrow.collections.pages.reading.link import Link
from windrow.collections.pages.reading.read import read

__all__ = ["Description", "Link", "PageDocument", "Pile", "read", "read_html_page"]
