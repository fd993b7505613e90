"""The interface of stores of JSON documents with sorted views."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from windrow.errors import ConfigError

StoredDocument = dict[str, Any]
"""A document, with its `_id`."""

_DATABASE_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


class DocumentView(NamedTuple):
    """A list of a database's documents, sorted by the text fields `by`.

    If `without` is (field, value), documents in which the field has this value are left out.
    """

    name: str
    by: tuple[str, ...]
    without: tuple[str, str] | None = None


class DocumentDatabase(NamedTuple):
    """The declaration of a database: its name and views, and the fields that SQLite stores once or searches.

    SQLite stores equal texts of the field `once` only once, and searches the fields `texts`. In search results,
    documents with all words in the first of `texts` precede the others. In both groups, documents with the latest time
    in the field `newest` are first. An empty text or tuple means that there is no such field.
    """

    name: str
    views: tuple[DocumentView, ...] = ()
    once: str = ""
    texts: tuple[str, ...] = ()
    newest: str = ""

    def view(self, name: str) -> DocumentView:
        """Return the view with this name."""
        return next(view for view in self.views if view.name == name)


class ViewRange(NamedTuple):
    """A range of a view: documents whose first fields equal `first`, and whose next field is in a range of texts.

    The next field is at least `start` and less than `end`; an empty `end` means that there is no upper bound. The
    documents are in the order of the view, or in reverse order if `descending` is true. The first `skip` documents are
    left out, and at most `limit` are returned.
    """

    first: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    descending: bool = False
    limit: int = 1000
    skip: int = 0


class DatabaseState(NamedTuple):
    """What a database was at a moment: if it has the same state later, nobody has changed its documents since.

    `mark` is a random number that each `set_checkpoint` writes, so that an older copy of the database has another one;
    0 if there is none. `sequence` is the server's own text for the last change; it is empty if the store has none, and
    then only another number of documents shows a change.
    """

    mark: int
    document_count: int
    sequence: str


ALL_DOCUMENTS = 1 << 62
"""A `limit` of a range that is never reached."""

FIRST_THOUSAND = ViewRange()
"""The range of the first thousand documents of a view."""


class DocumentStore(Protocol):
    """A store with databases of documents, each with a checkpoint. Writing the same documents again changes nothing.

    The identity of the records from which the documents were made, a number, is stored beside each checkpoint.
    """

    def checkpoints(self) -> tuple[int, int]:
        """Return the lowest and the highest checkpoint of the databases; that of a new database is 0."""
        ...

    def identities(self) -> set[int]:
        """Return the identities that are stored beside the checkpoints."""
        ...

    def set_checkpoint(self, checkpoint: int, identity: int) -> None:
        """Set the identity of each database, and its checkpoint to `checkpoint`, unless that is higher already.

        Each database gets a new mark.
        """
        ...

    def state(self, database: str) -> DatabaseState:
        """Return the present state of a database."""
        ...

    def changed_since(self, database: str, state: DatabaseState | None) -> set[str] | None:
        """Return the ids of the documents that were written or removed since `state`; None if any may have been."""
        ...

    def write(
        self, database: str, documents: Sequence[Mapping[str, Any]], removed: Iterable[str] = ()
    ) -> Mapping[str, str]:
        """Write documents, which replace documents with the same ids, and remove documents with the ids `removed`.

        Return the reason for each document that the store refused because of its content, by id.
        """
        ...

    def get(self, database: str, ids: Sequence[str]) -> dict[str, StoredDocument]:
        """Return the existing documents with these ids, by id.

        If a replication left other revisions of a document, it has the key `_conflicts`, until it is written again.
        """
        ...

    def view(self, database: str, name: str, bounds: ViewRange = FIRST_THOUSAND) -> Iterator[StoredDocument]:
        """Yield the documents in the range `bounds` of the view `name`, in the order that `bounds` states.

        Documents that are not written or removed meanwhile are all yielded, and once.
        """
        ...

    def count(self, database: str) -> int:
        """Count the documents of a database, except design documents."""
        ...

    def ids(self, database: str) -> Iterator[str]:
        """Yield the ids of all documents of a database, except design documents."""
        ...

    def rewind(self, identity: int) -> None:
        """Set the checkpoint of each database to 0 and its identity to `identity`, and keep the documents."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def check_name(name: str) -> str:
    """Return `name` unchanged; raise ConfigError if it cannot be the name of a database."""
    if not _DATABASE_NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be a database's name: use one of a-z, then at most 62 of a-z, 0-9 and _")
    return name
