"""A full-text index of documents with integer ids, in a folder.

An index can always be built from its store: one that is missing, damaged or of another version is built again. One that
cannot be read or written in its folder is opened in a scratch folder that has links to its files.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import tantivy

from windrow.errors import DISK_FULL_ERRNOS, DiskFull, IndexDamaged, StoreError, WindrowError
from windrow.query.clause import Clause, IndexDocument, IndexField, IndexHit
from windrow.query.spelling import Suggestion, suggest_words
from windrow.reasons import Reason
from windrow.stores.index.folder import (
    META_FILE,
    NOTE_FILE,
    TEXT_FOLDER,
    format_note,
    link_files,
    lock_folder,
    prepare_folder,
    refuse_foreign,
    write_note,
)
from windrow.stores.index.translate import Translator
from windrow.stores.sqlite import close_on_failure

WRITER_MEMORY = 128_000_000  # bytes that a writer collects before it writes a file of the index
_ANALYSER_NAME = "folded"
_MAX_ATTEMPTS = 3  # of opening: another process may remove a file of the index before the link to it is opened


class FullTextIndex:
    """An index of documents with integer ids, in a folder; it is `fresh` while it is new or empty.

    `commit` is the number of the last commit, or 0 for a new index.
    """

    def __init__(self, folder: Path, fields: Sequence[IndexField], version: str, *, fresh: bool = False) -> None:
        """Open the index, or with `fresh`, replace it by an empty one.

        `version` is the version of the documents. Raises IndexDamaged if the folder does not contain an undamaged index
        of this version, StoreError if the index cannot be read, and ConfigError if the folder is not for an index.
        """
        self.fresh = fresh
        self.folder = folder
        self._fields = {"id": "number"} | {field.name: field.kind for field in fields}
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        note = format_note(version, [list(field) for field in fields])
        with _map_errors(folder):
            if fresh:
                prepare_folder(folder)
            elif not _has_note(folder, note):
                raise IndexDamaged(f"{folder} does not contain a search index of this version")
            self.commit = 0 if fresh else int(json.loads((folder / TEXT_FOLDER / META_FILE).read_text())["opstamp"])
            self._index = self._open()
            self._index.searcher()
            if fresh:
                write_note(folder, note)
        self._translate = Translator(self._index.schema, self._analyser(), self._fields)

    @classmethod
    def open_scratch(cls, folder: Path, fields: Sequence[IndexField], version: str, *, use_empty: bool = False) -> Self:
        """Open an index in a scratch folder, through links; `close` removes the scratch folder.

        An empty index is opened if the index in `folder` cannot be opened, or if `use_empty` is true.
        """
        for _ in range(0 if use_empty else _MAX_ATTEMPTS):
            with suppress(OSError, sqlite3.Error, WindrowError):
                return cls.open_links(fields, version, folder)
        return cls.open_links(fields, version)

    @classmethod
    def open_links(cls, fields: Sequence[IndexField], version: str, folder: Path | None = None) -> Self:
        """Open an index in a scratch folder, through links to the files in `folder`, or an empty one for None."""
        scratch = tempfile.TemporaryDirectory(prefix="windrow-index-")
        with close_on_failure(lambda: _remove_scratch(scratch)):
            if folder is not None:
                link_files(folder, Path(scratch.name))
            index = cls(Path(scratch.name), fields, version, fresh=folder is None)
        index._scratch = scratch
        return index

    @property
    def is_scratch(self) -> bool:
        """Whether the index is in a scratch folder, so that `close` removes what was written to it."""
        return self._scratch is not None

    def __len__(self) -> int:
        """Count the documents."""
        return int(self._index.searcher().num_docs)

    def write(self, documents: Iterable[IndexDocument], removed: Iterable[int] = ()) -> int:
        """Write documents, replacing those with the same ids, and remove those with the ids `removed`.

        Return the number of documents written. A crash leaves either all changes or none of them. Each write changes
        `commit`. `removed` is read after `documents`.
        """
        count = 0
        with _map_errors(self.folder):
            writer = self._index.writer(WRITER_MEMORY, 1)
            for document in documents:
                if not self.fresh:
                    writer.delete_documents_by_term("id", document.id)
                writer.add_document(self._to_tantivy(document))
                count += 1
            for id_ in removed:
                writer.delete_documents_by_term("id", id_)
            self._commit(writer)
        self.fresh = False
        return count

    def empty(self) -> None:
        """Remove all documents."""
        if not self.fresh:
            with _map_errors(self.folder):
                writer = self._index.writer(WRITER_MEMORY, 1)
                writer.delete_all_documents()
                self._commit(writer)
            self.fresh = True

    def _commit(self, writer: Any) -> None:
        self.commit = int(writer.commit())
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, clause: Clause, limit: int, *, offset: int = 0, newest: str = "") -> list[IndexHit]:
        """Return at most `limit` matches of a clause from `offset` on, by score, or by the number field `newest`.

        The largest numbers are first, and equal ones in the order of the index, so that pages do not overlap.
        """
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            options: dict[str, Any] = {"order_by_field": newest} if newest else {}
            hits = searcher.search(query, limit, count=False, offset=offset, **options).hits
            ids = searcher.fast_field_values("id", [address for _, address in hits])
        return [
            IndexHit(int(id_ or 0), 0.0 if newest else float(score)) for id_, (score, _) in zip(ids, hits, strict=True)
        ]

    def search_in_order(self, clause: Clause, limit: int, field: str, *, scored: bool) -> list[IndexHit]:
        """Return the first `limit` matches of a clause: by score if `scored`, then by the largest `field`, then by id.

        The order in which the documents were written does not matter.
        """
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            options: dict[str, Any] = {} if scored else {"order_by_field": field}
            hit_limit = limit
            while True:  # until all documents with the same score as the last one are included
                scored_addresses = searcher.search(query, hit_limit, count=False, **options).hits
                hits = [(round(score, 4), address) for score, address in scored_addresses]
                if len(hits) < hit_limit or hits[-1][0] != hits[limit - 1][0]:
                    break
                hit_limit = 4 * hit_limit + 1
            addresses = [address for _, address in hits]
            ids, numbers = (searcher.fast_field_values(name, addresses) for name in ("id", field))
        sort_keys = sorted(
            (-score, -int(number or 0), int(id_ or 0))
            for (score, _), number, id_ in zip(hits, numbers, ids, strict=True)
        )
        return [IndexHit(id_, -negated if scored else 0.0) for negated, _, id_ in sort_keys[:limit]]

    def frequency(self, word: str, field: str) -> int:
        """Return the number of documents that have a word in a field; of several words, that of the rarest."""
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            tokens = self._translate.tokens(word)
            return min((int(searcher.doc_freq(field, token)) for token in tokens), default=0)

    def suggest(self, frequency: Mapping[str, int], field: str) -> dict[str, Suggestion]:
        """Return suggestions for words that no document has in a field; `frequency` is the document count by word."""
        if all(frequency.values()):
            return {}
        with _map_errors(self.folder):
            searcher = self._index.searcher()

            def count(words: Iterable[str]) -> dict[str, int]:
                return {word: int(searcher.doc_freq(field, word)) for word in words}

            return suggest_words(frequency, count)

    def size(self) -> int:
        """Return the size of the index on disk in bytes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """Remove the scratch folder of the index, if it has one."""
        if self._scratch is not None:
            _remove_scratch(self._scratch)

    def _to_tantivy(self, document: IndexDocument) -> Any:
        tantivy_document = tantivy.Document()
        tantivy_document.add_integer("id", document.id)
        for name, number in document.numbers:
            tantivy_document.add_integer(name, number)
        for name, text in document.texts:
            tantivy_document.add_text(name, text)
        return tantivy_document

    def _open(self) -> Any:
        """Open or create Tantivy's index with the schema of the fields."""
        builder = tantivy.SchemaBuilder()
        for name, kind in self._fields.items():
            if kind == "words":
                builder.add_text_field(name, tokenizer_name=_ANALYSER_NAME)
            elif kind == "mark":
                builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
            else:
                builder.add_integer_field(name, fast=True, indexed=name == "id")
        index = tantivy.Index(builder.build(), str(self.folder / TEXT_FOLDER))
        index.register_tokenizer(_ANALYSER_NAME, self._analyser())
        index.config_reader("manual")  # an open index does not change, and no thread watches its folder
        return index

    @staticmethod
    def _analyser() -> Any:
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        return builder.filter(tantivy.Filter.lowercase()).build()


@contextmanager
def open_for_writing(
    folder: Path,
    fields: Sequence[IndexField],
    version: str,
    *,
    wait: Callable[[], bool] = lambda: False,
    anew: bool = False,
) -> Iterator[FullTextIndex]:
    """Lock and open the index in a folder; replace it by an empty one if it cannot be used, or with `anew`.

    For `wait` see `lock_folder`. Raises StoreError if the index cannot be written, and ConfigError if the folder is not
    for an index.
    """
    refuse_foreign(folder)
    with _map_errors(folder), lock_folder(folder, wait):
        yield FullTextIndex(folder, fields, version, fresh=True) if anew else _open_or_rebuild(folder, fields, version)


def _open_or_rebuild(folder: Path, fields: Sequence[IndexField], version: str) -> FullTextIndex:
    """Open the index in a folder, or replace it by an empty one if it cannot be opened, not even through links."""
    try:
        return FullTextIndex(folder, fields, version)
    except StoreError:
        if _is_readable(folder, fields, version):
            raise
    return FullTextIndex(folder, fields, version, fresh=True)


def _is_readable(folder: Path, fields: Sequence[IndexField], version: str) -> bool:
    try:
        FullTextIndex.open_links(fields, version, folder).close()
    except (OSError, sqlite3.Error, WindrowError):
        return False
    return True


Filled = TypeVar("Filled")


def fill_index(
    folder: Path, fields: Sequence[IndexField], version: str, fill: Callable[[FullTextIndex], Filled],
    wait: Callable[[], bool],
) -> Filled:  # fmt: skip
    """Lock the index in a folder, update it by `fill`, and return the result; if it is damaged, fill an empty one.

    For `wait` see `lock_folder`.
    """
    try:
        with open_for_writing(folder, fields, version, wait=wait) as index:
            return fill(index)
    except IndexDamaged:
        with open_for_writing(folder, fields, version, wait=wait, anew=True) as index:
            return fill(index)


def open_for_search(
    folder: Path, fields: Sequence[IndexField], version: str,
    is_behind: Callable[[FullTextIndex], bool], fill: Callable[[FullTextIndex], object],
    *, anew: bool = False, in_place: bool = True,
) -> FullTextIndex:  # fmt: skip
    """Open an index for searches, after `fill` has updated it if it is new or `is_behind` returns True.

    If it cannot be written in its folder, or if `in_place` is false, it is updated in a scratch folder. With `anew` the
    present index is not used, because its files are damaged.
    """
    refuse_foreign(folder)
    if not anew:
        with suppress(StoreError):
            index = FullTextIndex(folder, fields, version)
            if not is_behind(index):
                return index
    if in_place:
        with suppress(StoreError, DiskFull), open_for_writing(folder, fields, version, anew=anew) as index:
            if index.fresh or is_behind(index):
                fill(index)
            return index
    index = FullTextIndex.open_scratch(folder, fields, version, use_empty=anew)
    with close_on_failure(index.close):
        if index.fresh or is_behind(index):
            fill(index)
    return index


def _remove_scratch(scratch: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a scratch folder; try again if Tantivy's watcher thread writes a lock file into it meanwhile."""
    for _ in range(_MAX_ATTEMPTS):
        with suppress(OSError):
            scratch.cleanup()
            return
    scratch.cleanup()


def _has_note(folder: Path, note: str) -> bool:
    """Return whether a folder has a note with this text, and Tantivy's list of files."""
    path = folder / NOTE_FILE
    return path.exists() and path.read_text() == note and (folder / TEXT_FOLDER / META_FILE).exists()


@contextmanager
def _map_errors(folder: Path) -> Iterator[None]:
    """Raise windrow's own errors for errors of Tantivy and of the disk in the block."""
    try:
        yield
    except WindrowError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the search index in {folder} cannot be used: {error}"
        if getattr(error, "errno", None) in DISK_FULL_ERRNOS or "No space left" in str(error):
            raise DiskFull(f"the disk is full: the search index in {folder} cannot be written") from error
        if isinstance(error, OSError):
            raise StoreError(message, hint=IndexDamaged.hint, reason=Reason.DISK_FAILED) from error
        raise IndexDamaged(message) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of Tantivy's Rust code on damaged files
            raise
        raise IndexDamaged(f"the search index in {folder} is damaged: {error}") from None
