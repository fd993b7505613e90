"""The reader of documents: from bytes to text pile, description and links, without any I/O."""

from windrow.collections.pages.reading.document import Description, PageDocument, Pile, document
from windrow.collections.pages.reading.link import Link
from windrow.collections.pages.reading.read import read

__all__ = ["Description", "Link", "PageDocument", "Pile", "document", "read"]
