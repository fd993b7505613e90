"""The pure reader of pages: bytes in; text pile, description and links out."""

from windrow.collections.pages.reading.document import Description, PageDocument, Pile, document
from windrow.collections.pages.reading.link import Link
from windrow.collections.pages.reading.read import read

__all__ = ["Description", "Link", "PageDocument", "Pile", "document", "read"]
