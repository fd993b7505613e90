"""A full-text index of documents in a folder, by whole-number ids, and the manifest of what is in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from windrow.errors import MissingExtra, StoreError
from windrow.query.clause import Clause, IndexDocument, IndexField, IndexHit
from windrow.reasons import Reason
from windrow.stores.index.folder import NOTE, TEXT, begin, note, write_note
from windrow.stores.index.translate import Translator
from windrow.stores.sqlite import close_on_failure

_TABLE = """
CREATE TABLE IF NOT EXISTS entry (
  id INTEGER PRIMARY KEY,
  own INTEGER NOT NULL,      -- stamp of what the document says of itself
  whole INTEGER NOT NULL,    -- the same with what others say of it
  links INTEGER NOT NULL,    -- how many pages link to it
  anchors TEXT NOT NULL      -- what they call it, a line each, most frequent first
)
"""
_DUE = "CREATE TEMP TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY)"
_MANY = 500  # ids in one question


class ManifestEntry(NamedTuple):
    """A document of the index; stamps are whole numbers of 63 bits."""

    id: int
    own: int
    whole: int
    links: int
    anchors: str


class IndexManifest:
    """The rows of `entries.sqlite` in an index's folder."""

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises StoreError."""
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            with close_on_failure(self._connection.close):
                self._connection.execute("PRAGMA journal_mode = WAL").close()
                self._connection.execute(_TABLE)
                self._connection.execute(_DUE)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: {error}", reason=Reason.DISK_FAILED) from error

    def __enter__(self) -> Self:
        """Give the open roll."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._connection.close()

    def distrust(self, ids: Iterable[int]) -> None:
        """Take documents for changed: they are put in again."""
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            self._connection.executemany("UPDATE entry SET own = -1, whole = -1 WHERE id = ?", [(one,) for one in ids])

    def stamps(self) -> Iterator[tuple[int, int]]:
        """Yield id and own stamp of all documents, in the order of ids."""
        yield from self._connection.execute("SELECT id, own FROM entry ORDER BY id")

    def need(self, ids: Iterable[int]) -> None:
        """Note documents that may have to be written again; as long as the roll is open, and no longer."""
        self._connection.execute("BEGIN")
        with self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO due VALUES (?)", [(one,) for one in ids])

    def due(self, most: int) -> list[int]:
        """Return the first of those that were noted."""
        return [row[0] for row in self._connection.execute("SELECT id FROM due ORDER BY id LIMIT ?", (most,))]

    def done(self, ids: Sequence[int]) -> None:
        """Forget the first of those that were noted, up to the last of these."""
        self._connection.execute("DELETE FROM due WHERE id <= ?", (ids[-1],))

    def named(self, ids: Sequence[int]) -> dict[int, ManifestEntry]:
        """Return the documents of these ids."""
        found: dict[int, ManifestEntry] = {}
        for start in range(0, len(ids), _MANY):
            some = ids[start : start + _MANY]
            marks = ",".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT id, own, whole, links, anchors FROM entry WHERE id IN ({marks})", some
            )
            found |= {row[0]: ManifestEntry(*row) for row in rows}
        return found

    def write(self, rows: Iterable[ManifestEntry], gone: Iterable[int] = ()) -> None:
        """Note documents that were put in and those that were removed, in one transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        with self._connection:
            self._connection.executemany("DELETE FROM entry WHERE id = ?", [(one,) for one in gone])
            self._connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", rows)


try:
    import tantivy
except ImportError:  # the extra is not installed; FTS5 answers then
    tantivy = None  # type: ignore[assignment]

MEMORY = 128_000_000  # bytes that a writer gathers before it writes a segment
_ANALYSER = "folded"


def there() -> bool:
    """Say whether the extra `search` is installed."""
    return tantivy is not None


def current(folder: Path, fields: Sequence[IndexField], version: str) -> bool:
    """Say whether an index of this version is in the folder; opening another one would make it anew."""
    path = folder / NOTE
    try:
        return path.exists() and path.read_text() == _written(fields, version)
    except OSError as error:
        raise _mapped(error, folder) from error


def _written(fields: Sequence[IndexField], version: str) -> str:
    return note(version, [list(field) for field in fields])


class FullTextIndex:
    """An index of documents in a folder, by whole-number ids."""

    def __init__(self, folder: Path, fields: Sequence[IndexField], version: str) -> None:
        """Open the index, or make it anew where it is of another version or cannot be read.

        `version` names what was put in and how. Raises MissingExtra without the extra, StoreError where
        the folder cannot be written, ConfigError where it holds something else than an index.
        """
        if tantivy is None:
            raise MissingExtra("the fast search index", "search")
        self._fields = {"id": "number"} | {field.name: field.kind for field in fields}
        self._folder = folder
        try:
            self.fresh = not current(folder, fields, version)
            if self.fresh:
                begin(folder)
            self._index = self._open()
            if self.fresh:
                write_note(folder, _written(fields, version))
        except (OSError, ValueError) as error:
            raise _mapped(error, folder) from error
        self._translate = Translator(self._index.schema, self._analyser(), self._fields)

    def __len__(self) -> int:
        """Count the documents."""
        return int(self._index.searcher().num_docs)

    def write(self, entries: Iterable[IndexDocument], gone: Iterable[int] = ()) -> int:
        """Put documents in the place of those with the same ids, remove others, and return how many were put."""
        count = 0
        try:
            writer = self._index.writer(MEMORY, 1)
            for one in gone:
                writer.delete_documents_by_term("id", one)
            for entry in entries:
                if not self.fresh:
                    writer.delete_documents_by_term("id", entry.id)
                writer.add_document(self._document(entry))
                count += 1
            writer.commit()
            writer.wait_merging_threads()
            self._index.reload()
        except (OSError, ValueError) as error:
            raise _mapped(error, self._folder) from error
        self.fresh = False
        return count

    def search(self, clause: Clause, limit: int, *, offset: int = 0, newest: str = "") -> list[IndexHit]:
        """Return the best documents, or with `newest` those with the largest number in that field.

        Equal scores keep the order of the index, so pages do not overlap while it does not change.
        """
        try:
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            more: dict[str, Any] = {"order_by_field": newest} if newest else {}
            hits = searcher.search(query, limit, count=False, offset=offset, **more).hits
            ids = searcher.fast_field_values("id", [address for _, address in hits])
        except ValueError as error:
            raise _mapped(error, self._folder) from error
        return [IndexHit(int(one or 0), 0.0 if newest else float(hit[0])) for one, hit in zip(ids, hits, strict=True)]

    def frequency(self, word: str, field: str) -> int:
        """Return in how many documents a word stands in a field."""
        searcher = self._index.searcher()
        found = self._translate.tokens(word)
        return min((int(searcher.doc_freq(field, token)) for token in found), default=0)

    def size(self) -> int:
        """Return the bytes on disk."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def _document(self, entry: IndexDocument) -> Any:
        document = tantivy.Document()
        document.add_integer("id", entry.id)
        for name, number in entry.numbers:
            document.add_integer(name, number)
        for name, text in entry.texts:
            document.add_text(name, text)
        return document

    def _open(self) -> Any:
        builder = tantivy.SchemaBuilder()
        for name, kind in self._fields.items():
            if kind == "words":
                builder.add_text_field(name, tokenizer_name=_ANALYSER)
            elif kind == "mark":
                builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
            else:
                builder.add_integer_field(name, fast=True, indexed=name == "id")
        index = tantivy.Index(builder.build(), str(self._folder / TEXT))
        index.register_tokenizer(_ANALYSER, self._analyser())
        return index

    @staticmethod
    def _analyser() -> Any:
        steps = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        return steps.filter(tantivy.Filter.lowercase()).build()


def _mapped(error: Exception, folder: Path) -> StoreError:
    reason = Reason.DISK_FAILED if isinstance(error, OSError) else Reason.STORE_FAILED
    return StoreError(
        f"the search index in {folder}: {error}", hint="remove that folder; it is made again", reason=reason
    )
