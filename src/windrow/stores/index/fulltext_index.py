"""A full-text index of documents in a folder, by whole-number ids.

An index can always be made anew from the store whose documents it has. So one that is gone, torn or of another version
is made anew, and one that cannot be read or written where it is, is read and written through links in a scratch folder.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import tantivy

from windrow.errors import DiskFull, IndexDamaged, StoreError, WindrowError
from windrow.query.clause import Clause, IndexDocument, IndexField, IndexHit
from windrow.reasons import Reason
from windrow.stores.index.folder import (
    META,
    NOTE,
    TEXT,
    begin,
    held,
    link_files,
    note,
    refuse_strange,
    write_note,
)
from windrow.stores.index.translate import Translator
from windrow.stores.sqlite import close_on_failure

MEMORY = 128_000_000  # bytes that a writer gathers before it writes a segment
_ANALYSER = "folded"
_TRIES = 3  # links to files of an index that another process writes: one may be gone before it is opened


class FullTextIndex:
    """An index of documents in a folder, by whole-number ids; `fresh` until something was written into a new one."""

    def __init__(self, folder: Path, fields: Sequence[IndexField], version: str, *, fresh: bool = False) -> None:
        """Open the index, or begin a `fresh` one in the place of any other.

        `version` names what was put in and how. Raises IndexDamaged where there is none of this version, StoreError
        where it cannot be read here, ConfigError where the folder holds something else than an index.
        """
        self.fresh = fresh
        self.folder = folder
        self._fields = {"id": "number"} | {field.name: field.kind for field in fields}
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        written = note(version, [list(field) for field in fields])
        with _guarded(folder):
            if fresh:
                begin(folder)
            elif not _is_noted(folder, written):
                raise IndexDamaged(f"no search index of this version is in {folder}")
            self.commit = 0 if fresh else int(json.loads((folder / TEXT / META).read_text())["opstamp"])
            self._index = self._open()
            self._index.searcher()
            if fresh:
                write_note(folder, written)
        self._translate = Translator(self._index.schema, self._analyser(), self._fields)

    @classmethod
    def in_scratch(cls, folder: Path, fields: Sequence[IndexField], version: str, *, anew: bool = False) -> Self:
        """Open an index through links in a scratch folder, which goes with it.

        It is `fresh` where there is none to link to, and with `anew`.
        """
        for _ in range(0 if anew else _TRIES):
            with suppress(OSError, sqlite3.Error, WindrowError):
                return cls.linked(fields, version, folder)
        return cls.linked(fields, version)

    @classmethod
    def linked(cls, fields: Sequence[IndexField], version: str, folder: Path | None = None) -> Self:
        """Open an index of links to the files in a folder, or a `fresh` one without any; both in a scratch folder."""
        scratch = tempfile.TemporaryDirectory(prefix="windrow-index-")
        with close_on_failure(lambda: _remove(scratch)):
            if folder is not None:
                link_files(folder, Path(scratch.name))
            index = cls(Path(scratch.name), fields, version, fresh=folder is None)
        index._scratch = scratch
        return index

    @property
    def is_scratch(self) -> bool:
        """Whether what is written goes with this process, and the index in its own folder stays as it is."""
        return self._scratch is not None

    def __len__(self) -> int:
        """Count the documents."""
        return int(self._index.searcher().num_docs)

    def write(self, entries: Iterable[IndexDocument], gone: Iterable[int] = ()) -> int:
        """Put documents in the place of those with the same ids, remove others, and return how many were put.

        All of it is there after that, or after a crash nothing; `commit` is another number then. `gone` is asked for
        after all entries.
        """
        count = 0
        with _guarded(self.folder):
            writer = self._index.writer(MEMORY, 1)
            for entry in entries:
                if not self.fresh:
                    writer.delete_documents_by_term("id", entry.id)
                writer.add_document(self._document(entry))
                count += 1
            for one in gone:
                writer.delete_documents_by_term("id", one)
            self._commit(writer)
        self.fresh = False
        return count

    def empty(self) -> None:
        """Remove all documents."""
        if not self.fresh:
            with _guarded(self.folder):
                writer = self._index.writer(MEMORY, 1)
                writer.delete_all_documents()
                self._commit(writer)
            self.fresh = True

    def _commit(self, writer: Any) -> None:
        self.commit = int(writer.commit())
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, clause: Clause, limit: int, *, offset: int = 0, newest: str = "") -> list[IndexHit]:
        """Return the best documents, or with `newest` those with the largest number in that field.

        Equal scores keep the order of the index, so pages do not overlap while it does not change.
        """
        with _guarded(self.folder):
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            more: dict[str, Any] = {"order_by_field": newest} if newest else {}
            hits = searcher.search(query, limit, count=False, offset=offset, **more).hits
            ids = searcher.fast_field_values("id", [address for _, address in hits])
        return [IndexHit(int(one or 0), 0.0 if newest else float(hit[0])) for one, hit in zip(ids, hits, strict=True)]

    def ordered(self, clause: Clause, most: int, field: str, *, scored: bool) -> list[IndexHit]:
        """Return the best documents: by score where they are `scored`, then the largest number in a field, then the id.

        So it makes no difference in which order they came into the index.
        """
        with _guarded(self.folder):
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            more: dict[str, Any] = {} if scored else {"order_by_field": field}
            asked = most
            while True:  # until all that are as good as the last one are there
                hits = [
                    (round(at, 4), address) for at, address in searcher.search(query, asked, count=False, **more).hits
                ]
                if len(hits) < asked or hits[-1][0] != hits[most - 1][0]:
                    break
                asked = 4 * asked + 1
            addresses = [address for _, address in hits]
            ids, numbers = (searcher.fast_field_values(name, addresses) for name in ("id", field))
        rows = sorted(
            (-at, -int(number or 0), int(one or 0)) for (at, _), number, one in zip(hits, numbers, ids, strict=True)
        )
        return [IndexHit(one, -at if scored else 0.0) for at, _, one in rows[:most]]

    def frequency(self, word: str, field: str) -> int:
        """Return in how many documents a word stands in a field."""
        with _guarded(self.folder):
            searcher = self._index.searcher()
            found = self._translate.tokens(word)
            return min((int(searcher.doc_freq(field, token)) for token in found), default=0)

    def size(self) -> int:
        """Return the bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def close(self) -> None:
        """Remove the scratch folder, where there is one."""
        if self._scratch is not None:
            _remove(self._scratch)

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
        index = tantivy.Index(builder.build(), str(self.folder / TEXT))
        index.register_tokenizer(_ANALYSER, self._analyser())
        index.config_reader("manual")  # what is open answers from the index as it was, and nothing watches its folder
        return index

    @staticmethod
    def _analyser() -> Any:
        steps = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        return steps.filter(tantivy.Filter.lowercase()).build()


@contextmanager
def writing(
    folder: Path,
    fields: Sequence[IndexField],
    version: str,
    *,
    wait: Callable[[], bool] = lambda: False,
    anew: bool = False,
) -> Iterator[FullTextIndex]:
    """Hold the index in a folder alone: a `fresh` one where there is none of this version, where it is torn, or `anew`.

    Raises StoreUnreachable where another process holds it, and `wait` does not say True; StoreError where it cannot be
    written, ConfigError where the folder holds something else than an index.
    """
    refuse_strange(folder)
    with _guarded(folder), held(folder, wait):
        yield FullTextIndex(folder, fields, version, fresh=True) if anew else _whole(folder, fields, version)


def _whole(folder: Path, fields: Sequence[IndexField], version: str) -> FullTextIndex:
    """Open the index in a folder; begin it anew unless its files are sound, and only the place is at fault."""
    try:
        return FullTextIndex(folder, fields, version)
    except StoreError:
        if _is_sound(folder, fields, version):
            raise
    return FullTextIndex(folder, fields, version, fresh=True)


def _is_sound(folder: Path, fields: Sequence[IndexField], version: str) -> bool:
    try:
        FullTextIndex.linked(fields, version, folder).close()
    except (OSError, sqlite3.Error, WindrowError):
        return False
    return True


Done = TypeVar("Done")


def update(
    folder: Path, fields: Sequence[IndexField], version: str, fill: Callable[[FullTextIndex], Done],
    wait: Callable[[], bool],
) -> Done:  # fmt: skip
    """Have `fill` bring the index in a folder up to date: a `fresh` one where it turns out that its files are torn."""
    try:
        with writing(folder, fields, version, wait=wait) as index:
            return fill(index)
    except IndexDamaged:
        with writing(folder, fields, version, wait=wait, anew=True) as index:
            return fill(index)


def searchable(
    folder: Path, fields: Sequence[IndexField], version: str,
    is_behind: Callable[[FullTextIndex], bool], fill: Callable[[FullTextIndex], object],
    *, anew: bool = False, in_place: bool = True,
) -> FullTextIndex:  # fmt: skip
    """Open an index for searches, once `fill` brought it up to date where that `is_behind` its store, or not there.

    What cannot be written now `in_place`, since that is forbidden or another process does, is in a scratch folder. With
    `anew` nothing of the index that is there is used: its files are torn.
    """
    refuse_strange(folder)
    if not anew:
        with suppress(StoreError):
            index = FullTextIndex(folder, fields, version)
            if not is_behind(index):
                return index
    if in_place:
        with suppress(StoreError, DiskFull), writing(folder, fields, version, anew=anew) as index:
            if index.fresh or is_behind(index):
                fill(index)
            return index
    index = FullTextIndex.in_scratch(folder, fields, version, anew=anew)
    with close_on_failure(index.close):
        if index.fresh or is_behind(index):
            fill(index)
    return index


def _remove(scratch: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a scratch folder, although the watcher that Tantivy starts with an index may put a lock into it."""
    for _ in range(_TRIES):
        with suppress(OSError):
            scratch.cleanup()
            return
    scratch.cleanup()


def _is_noted(folder: Path, written: str) -> bool:
    """Say whether the note of a folder is this one, and Tantivy's list of files is there."""
    path = folder / NOTE
    return path.exists() and path.read_text() == written and (folder / TEXT / META).exists()


@contextmanager
def _guarded(folder: Path) -> Iterator[None]:
    """Raise our errors where Tantivy or the disk raise theirs."""
    try:
        yield
    except WindrowError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"the search index in {folder}: {error}"
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error):
            raise DiskFull(f"no room for the search index in {folder}") from error
        if isinstance(error, OSError):
            raise StoreError(told, hint=IndexDamaged.hint, reason=Reason.DISK_FAILED) from error
        raise IndexDamaged(told) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust raises where bytes make no sense
            raise
        raise IndexDamaged(f"the search index in {folder} is torn: {error}") from None
