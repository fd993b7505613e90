"""A full-text index of documents with integer ids, in a folder.

An index can always be built from its store: if it is missing, damaged or of another version, it is built again. If it
cannot be read or written in its folder, it is opened in a scratch folder that has links to its files.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeVar

import tantivy

from windrow.caps import FACET_VALUES, STEMMED_LANGUAGES
from windrow.errors import DISK_FULL_ERRNOS, DiskFull, IndexDamaged, StoreError, WindrowError
from windrow.query.clause import Clause, IndexDocument, IndexField, IndexHit
from windrow.query.parse import Query
from windrow.query.spelling import Suggestion, suggest_words
from windrow.query.tree import Word, searched_terms
from windrow.query.word import index_words
from windrow.query.word_forms import STEMMERS, WordForms, find_word_forms
from windrow.reasons import Reason
from windrow.stores.index.folder import (
    META_FILE,
    NOTE_FILE,
    TEXT_FOLDER,
    format_note,
    link_files,
    list_file_states,
    lock_folder,
    prepare_folder,
    refuse_foreign,
    write_note,
)
from windrow.stores.index.translate import Translator
from windrow.stores.sqlite import close_on_failure

WRITER_MEMORY = 128_000_000  # bytes that a writer collects before it writes a file of the index
_ANALYSER_NAME = "folded"
_MAX_ATTEMPTS = 3  # to open an index: another process may remove one of its files before the link to the file is opened


class FullTextIndex:
    """An index of documents with integer ids, in a folder.

    `fresh` is true for a new or emptied index until it is written to. `commit` is the number of the last commit, or 0
    for a new index.
    """

    def __init__(self, folder: Path, fields: Sequence[IndexField], version: str, *, fresh: bool = False) -> None:
        """Open the index. If `fresh` is true, replace it with an empty index.

        `version` is the version of the documents. Raises IndexDamaged if the folder does not contain an undamaged index
        of this version, StoreError if the index cannot be read, and ConfigError if `refuse_foreign` does.
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
        """Open the index in `folder` through links in a scratch folder, which `close` removes.

        An empty index is opened if the index in `folder` cannot be opened, or if `use_empty` is true.
        """
        for _ in range(0 if use_empty else _MAX_ATTEMPTS):
            with suppress(OSError, sqlite3.Error, WindrowError):
                return cls.open_links(fields, version, folder)
        return cls.open_links(fields, version)

    @classmethod
    def open_links(cls, fields: Sequence[IndexField], version: str, folder: Path | None = None) -> Self:
        """Open the index in `folder` through links in a scratch folder; without `folder`, create an empty index."""
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
        return int(self._index.searcher().num_docs)

    def write(self, documents: Iterable[IndexDocument], removed: Iterable[int] = ()) -> int:
        """Write documents, which replace documents with the same ids, and remove documents with the ids `removed`.

        While the index is `fresh`, the ids must differ. Return the number of documents written. A crash leaves either
        all changes or none of them. Each write changes `commit`. `removed` is read after `documents`.
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
        """Return at most `limit` matches of a clause after the first `offset`, the highest scores first.

        If the number field `newest` is given, the highest numbers in it are first, and the scores are 0. Matches with
        the same number are in the order of the index, so that pages do not overlap.
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
        """Return the first `limit` matches of a clause, sorted by score if `scored` is true, then by `field` and id.

        The highest scores and numbers come first. The order in which the documents were written does not matter.
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

    def count(self, clause: Clause) -> int:
        """Count the documents that match a clause."""
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            return int(searcher.search(self._translate.query(clause, searcher), 1, count=True).count or 0)

    def frequency(self, word: str, field: str) -> int:
        """Return the number of documents that have `word` in a field; for several words, the number for the rarest."""
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            tokens = self._translate.tokens(word)
            return min((int(searcher.doc_freq(field, token)) for token in tokens), default=0)

    def suggest(self, frequency: Mapping[str, int], field: str) -> dict[str, Suggestion]:
        """Return suggestions for words that no document has in a field; `frequency` has the document count by word."""
        if all(frequency.values()):
            return {}
        with _map_errors(self.folder):
            searcher = self._index.searcher()

            def count(words: Iterable[str]) -> dict[str, int]:
                return {word: int(searcher.doc_freq(field, word)) for word in words}

            return suggest_words(frequency, count)

    def find_word_forms(self, words: Iterable[str], field: str) -> WordForms:
        """Return the other forms of `words` that occur in a field, in the most frequent languages of the documents."""
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            counts = {tag: count for tag, count in searcher.terms_with_prefix("lang", "") if tag in STEMMERS}
            languages = sorted(counts, key=lambda tag: -counts[tag])[:MAX_STEMMED_LANGUAGES]
            complete = lru_cache(lambda prefix: searcher.terms_with_prefix(field, prefix))
            return find_word_forms(words, languages, complete, _stem)

    def count_by_facet(
        self, clause: Clause, fields: Sequence[str], time_field: str
    ) -> tuple[int, list[dict[str, int]]]:
        """Return how many documents match a clause, and how many of them have each facet value.

        The list has a dict from mark to count for each of `fields`, then a dict from year to count for
        `time_field`, whose times are in UNIX seconds. Years outside `FACET_YEARS` are counted as `other`, and so are
        marks after the `MAX_FACET_VALUES` most frequent ones.
        """
        aggregations: dict[str, Any] = {
            name: {"terms": {"field": name, "size": MAX_FACET_VALUES}} for name in fields
        }  # the time field is not among `fields`, so the names differ
        aggregations[time_field] = {"stats": {"field": time_field}}
        with _map_errors(self.folder):
            searcher = self._index.searcher()
            query = self._translate.query(clause, searcher)
            counts = searcher.aggregate(query, aggregations)
            count, first, last = (counts[time_field][name] for name in ("count", "min", "max"))
            # Only the years between the first and the last are asked for: each costs time, even without documents.
            ranges = [span for span in _YEAR_RANGES if count and span["to"] > first and span["from"] <= last]
            years = {time_field: {"range": {"field": time_field, "ranges": ranges}}}
            buckets = searcher.aggregate(query, years)[time_field]["buckets"] if ranges else []
        by_mark = []
        for name in fields:
            marks = {bucket["key"]: int(bucket["doc_count"]) for bucket in counts[name]["buckets"]}
            other_count = int(counts[name]["sum_other_doc_count"])
            by_mark.append(marks | ({"other": other_count} if other_count else {}))
        by_year: dict[str, int] = {}
        for bucket in buckets:
            if bucket["doc_count"] and "to" in bucket and (year := _YEAR_BY_START.get(int(bucket.get("from", -1)))):
                by_year[year] = int(bucket["doc_count"])
        if other_count := int(count) - sum(by_year.values()):
            by_year["other"] = other_count
        return int(count), [*by_mark, by_year]

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
        builder = tantivy.SchemaBuilder()
        for name, kind in self._fields.items():
            if kind == "words":
                builder.add_text_field(name, tokenizer_name=_ANALYSER_NAME)
            elif kind in {"mark", "facet"}:
                builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=kind == "facet")
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


MAX_STEMMED_LANGUAGES = STEMMED_LANGUAGES.number
"""The maximum number of languages in which forms of a word are looked up. The most frequent ones are used."""
FACET_YEARS = range(1970, 2101)
"""The years by which documents are counted; other years are counted together."""
MAX_FACET_VALUES = FACET_VALUES.number
"""The maximum number of values of a facet that are counted one by one, beginning with the most frequent."""
_YEAR_STARTS = [int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (*FACET_YEARS, FACET_YEARS.stop)]
_YEAR_RANGES = [{"from": start, "to": end} for start, end in pairwise(_YEAR_STARTS)]
_YEAR_BY_START = {start: str(year) for year, start in zip(FACET_YEARS, _YEAR_STARTS, strict=False)}


def find_forms(index: FullTextIndex, query: Query) -> WordForms:
    """Return the other forms of a query's words that occur in the field `main` of an index.

    Excluded words and prefixes are left out.
    """
    terms = (term for term in searched_terms(query.root) if isinstance(term, Word) and not term.prefix)
    return index.find_word_forms(dict.fromkeys(" ".join(index_words(term.text)) for term in terms), "main")


def _stem(language: str, words: Sequence[str]) -> list[str]:
    return list(_stemmer(STEMMERS[language]).analyze(" ".join(words)))


@lru_cache(maxsize=len(STEMMERS))
def _stemmer(name: str) -> Any:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.stemmer(name)).build()


@contextmanager
def open_for_writing(
    folder: Path,
    fields: Sequence[IndexField],
    version: str,
    *,
    wait: Callable[[], bool] = lambda: False,
    anew: bool = False,
) -> Iterator[FullTextIndex]:
    """Lock and open the index in a folder. An index that cannot be used is replaced by an empty one.

    If `anew` is true, it is replaced in any case. For `wait` see `lock_folder`. Raises StoreError if the index cannot
    be written, and ConfigError if the folder is not for an index.
    """
    refuse_foreign(folder)
    with _map_errors(folder), lock_folder(folder, wait):
        yield FullTextIndex(folder, fields, version, fresh=True) if anew else _open_or_rebuild(folder, fields, version)


def _open_or_rebuild(folder: Path, fields: Sequence[IndexField], version: str) -> FullTextIndex:
    """Open the index in a folder, or replace it with an empty one; raise StoreError if it opens only through links."""
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
    """Lock and open the index in a folder, call `fill` with it, and return the result of `fill`.

    If the index is damaged, `fill` is called with an empty index in its place. For `wait` see `lock_folder`.
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
    """Open an index for searches. If it is new, or if `is_behind` returns True, `fill` updates it first.

    If it cannot be written in its folder, or if `in_place` is false, it is updated in a scratch folder. If `anew` is
    true, the present index is not used, because its files are damaged.
    """
    refuse_foreign(folder)
    if not anew:
        with suppress(StoreError):
            index = _open_unchanged(folder, fields, version)
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


_CACHED_INDEXES = 16
"""The maximum number of indexes that stay open between searches. Opening one takes longer than most searches in it."""
_kept: dict[Path, tuple[tuple[object, ...], FullTextIndex]] = {}


def _open_unchanged(folder: Path, fields: Sequence[IndexField], version: str) -> FullTextIndex:
    """Open an index that is only searched, or return the open one of an earlier search if no file has changed since.

    An index whose files have changed is given up first, so that files with removed documents do not stay on disk.
    """
    with _map_errors(folder):
        state = (version, tuple(fields), list_file_states(folder))  # before it is opened, so that a change is noticed
    kept_state, kept_index = _kept.get(folder, (None, None))
    if kept_index is not None and kept_state == state:
        return kept_index
    _kept.pop(folder, None)
    index = FullTextIndex(folder, fields, version)
    _kept[folder] = state, index
    for oldest in [*_kept][:-_CACHED_INDEXES]:
        _kept.pop(oldest, None)
    return index


def _remove_scratch(scratch: tempfile.TemporaryDirectory[str]) -> None:
    """Remove a scratch folder; try again if Tantivy's watcher thread writes a lock file into it at the same time."""
    for _ in range(_MAX_ATTEMPTS):
        with suppress(OSError):
            scratch.cleanup()
            return
    scratch.cleanup()


def _has_note(folder: Path, note: str) -> bool:
    path = folder / NOTE_FILE
    return path.exists() and path.read_text() == note and (folder / TEXT_FOLDER / META_FILE).exists()


@contextmanager
def _map_errors(folder: Path) -> Iterator[None]:
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
