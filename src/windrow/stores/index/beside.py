"""The index beside the database, made with Tantivy. It holds nothing that cannot be made again.

A folder has the index in `text` and what was put into it in `entries.sqlite`: a row for each document
with two stamps, so that only what changed is written again. The index is committed before the rows: a
crash between the two makes the same documents be written again, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from windrow.errors import MissingExtra, StoreError
from windrow.reasons import Reason
from windrow.stores.index.clause import Clause, IndexDocument, IndexField, IndexHit
from windrow.stores.index.folder import NOTE, TEXT, begin, note, write_note
from windrow.stores.index.translate import Translator

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
