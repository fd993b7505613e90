"""What a store of documents is: databases of JSON objects by `_id`, and views that sort them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from windrow.errors import ConfigError

Stored = dict[str, Any]
"""A document, with its `_id`."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class DocumentView(NamedTuple):
    """Documents sorted by some fields, which must be texts; those whose field says `without` are left out of it."""

    name: str
    by: tuple[str, ...]
    without: tuple[str, str] | None = None


class DocumentDatabase(NamedTuple):
    """A database: `once` names a field whose long texts are stored once each, `texts` those that are searched.

    What has all words in the first of `texts` comes before what does not, and what has the later time in the field
    `newest` before what has an earlier one.
    """

    name: str
    views: tuple[DocumentView, ...] = ()
    once: str = ""
    texts: tuple[str, ...] = ()
    newest: str = ""

    def view(self, name: str) -> DocumentView:
        """Return a view by its name."""
        return next(one for one in self.views if one.name == name)


class Span(NamedTuple):
    """Which documents of a view: with these first fields, from `start` on and before `end` by the one after them."""

    first: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    descending: bool = False
    limit: int = 1000
    skip: int = 0


EVERYTHING = Span()
"""The first thousand documents of a view."""


class DocumentStore(Protocol):
    """Databases of documents. A write is repeated without harm: the same documents make the same database."""

    def checkpoint(self) -> int:
        """Return the number that was last written with documents, 0 at first."""
        ...

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = (), *,
        checkpoint: int | None = None,
    ) -> int:  # fmt: skip
        """Put documents, whatever was there under their ids, and remove others; return how many are new."""
        ...

    def get(self, database: str, ids: Sequence[str]) -> dict[str, Stored]:
        """Return those of the documents that there are, by id."""
        ...

    def view(self, database: str, name: str, span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents in the order of a view."""
        ...

    def count(self, database: str) -> int:
        """Count the documents of a database, those of its design apart."""
        ...

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database."""
        ...

    def rewind(self) -> None:
        """Begin at checkpoint 0 again; the documents stay."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@runtime_checkable
class SearchedDocuments(Protocol):
    """A store that finds documents by their words; CouchDB alone does not."""

    def search(self, database: str, text: str, view: str = "", span: Span = EVERYTHING) -> Iterator[Stored]:
        """Yield documents that have all the words of a text and are in a span of a view; any text will do."""
        ...


def check_name(name: str) -> str:
    """Return a name that a database may have in every store."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name of a database: small letters, digits and _, a letter first")
    return name
