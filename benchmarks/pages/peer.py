"""The peers of search: FTS5 with the standard's weights, and Tantivy with its defaults."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tantivy

from windrow.query import parse
from windrow.query.tree import Phrase, Word, searched_terms, searched_text
from windrow.query.word import index_words

COLUMNS = ("title", "description", "text", "secondary_text", "big_headlines", "small_headlines")
# Weights of the columns as the standard's own search has them (text_pile_id, any, title, description, ...).
BM25 = "bm25(full_text_entity_index, 0, 0, 5.0, 1.5, 1.0, 0.75, 4.0, 2.1, 0.2, 0.0)"
_PLAIN = f"""
SELECT rowid, {BM25} AS score FROM full_text_entity_index WHERE full_text_entity_index MATCH ? ORDER BY score LIMIT 10
"""
_KNOWN = f"""
SELECT u.str_url FROM (
  SELECT rowid AS pile, {BM25} AS score FROM full_text_entity_index WHERE full_text_entity_index MATCH ?
) s JOIN entity_generation g ON g.text_pile_id = s.pile JOIN url u USING (url_id)
WHERE g.confirmed_end_unix_utc IS NULL AND NOT g.marked_duplicate ORDER BY s.score LIMIT 10
"""


def _expression(text: str) -> str:
    """Return the words and phrases of a query, all of which must be found."""
    return " AND ".join(f"({_scoped(node)})" for node in searched_terms(parse(text).root))


def _scoped(leaf: Word | Phrase) -> str:
    """Return the expression of a leaf's words, in their order, in the columns that have words of a page."""
    text, prefix = searched_text(leaf)
    return f'{{{" ".join(COLUMNS)}}} : "{" ".join(index_words(text))}"{" *" if prefix else ""}'


class Fts5:
    """FTS5's own bm25 query over the standard's table."""

    def __init__(self, path: Path) -> None:
        """Open the database."""
        self.link = sqlite3.connect(path)
        self.link.execute("PRAGMA cache_size = -65536").close()

    def ids(self, text: str) -> list[int]:
        """Return the best ten rows, by the words alone."""
        return [row[0] for row in self.link.execute(_PLAIN, (_expression(text),))]

    def urls(self, text: str, *, either: bool) -> list[str]:
        """Return the best ten pages; `either` looks for any of the words where no page has them all."""
        links = [row[0] for row in self.link.execute(_KNOWN, (_expression(text),))]
        words = [row.text.replace('"', '""') for row in searched_terms(parse(text).root)]
        if links or not either or len(words) < 2:
            return links
        return [row[0] for row in self.link.execute(_KNOWN, (" OR ".join(f'"{word}"' for word in words),))]

    def size(self) -> int:
        """Return the bytes of the full-text table, its texts among them."""
        sql = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'full_text_entity_index%'"
        return int(self.link.execute(sql).fetchone()[0])


class Tantivy:
    """Title and body with their positions and stored text, as in the first example of its documentation."""

    def __init__(self, folder: Path, rows: Iterable[tuple[int, str, str]]) -> None:
        """Index the rows: id, title, text."""
        folder.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("id", stored=True)
        builder.add_text_field("title", stored=True)
        builder.add_text_field("body", stored=True)
        self.folder = folder
        self.index = tantivy.Index(builder.build(), str(folder))
        writer: Any = self.index.writer(128_000_000, 1)
        for number, title, text in rows:
            writer.add_document(tantivy.Document(id=number, title=title, body=text))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()

    def ids(self, text: str) -> list[int]:
        """Return the best ten documents."""
        searcher = self.index.searcher()
        schema = self.index.schema
        parts = []
        for node in searched_terms(parse(text).root):
            words = node.text.split()
            clauses = []
            for field, weight in (("title", 5.0), ("body", 1.0)):
                if isinstance(node, Phrase):
                    query = tantivy.Query.phrase_query(schema, field, list(words))
                elif isinstance(node, Word) and node.prefix:
                    query = tantivy.Query.regex_query(schema, field, f"{words[0]}.*")
                else:
                    query = tantivy.Query.term_query(schema, field, words[0])
                clauses.append((tantivy.Occur.Should, tantivy.Query.boost_query(query, weight)))
            parts.append((tantivy.Occur.Must, tantivy.Query.boolean_query(clauses)))
        hits = searcher.search(tantivy.Query.boolean_query(parts), 10, count=False).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    def size(self) -> int:
        """Return the bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.iterdir())
