"""Search the pages of one Summary Database: the index beside it where there is one, else its full-text table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from windrow.collections.pages.database.search_view import NO_LINKS, IncomingLinks, SummaryReader
from windrow.collections.pages.search.ask import FIELDS, VERSION, ask, copies, unindexed
from windrow.collections.pages.search.condition import FROM, condition, dated, known, some, spoken, whole
from windrow.collections.pages.search.rank import (
    Candidate,
    Ranked,
    Result,
    ResultPage,
    Shown,
    folded,
    grouped,
    nearer,
    ordered,
    parts,
    shown,
    spread,
)
from windrow.query import Query, parse
from windrow.query.clause import IndexHit
from windrow.query.likeness import LOOKED_AT, Sought, attempts, least, sought
from windrow.query.snippet import pattern
from windrow.query.tree import Filter, filters, wanted
from windrow.query.word import address_text, pieces, says, words
from windrow.stores.index.folder import ROLL
from windrow.stores.index.fulltext_index import FullTextIndex, IndexManifest, ManifestEntry, current, there

if TYPE_CHECKING:
    import sqlalchemy as sa


def open_index(folder: Path) -> FullTextIndex:
    """Open the index of pages."""
    return FullTextIndex(folder, FIELDS, VERSION)


def is_current(folder: Path) -> bool:
    """Say whether an index of pages that this version can ask is in the folder."""
    return there() and roll_path(folder).exists() and current(folder, FIELDS, VERSION)


def roll_path(folder: Path) -> Path:
    """Return where the roll of an index is."""
    return folder / ROLL


def links_of(rolled: ManifestEntry) -> IncomingLinks:
    """Read the links that the roll remembers of a page."""
    if rolled.anchors == "[]":
        return NO_LINKS
    return IncomingLinks(rolled.links, tuple((text, count) for text, count in json.loads(rolled.anchors)))


BLOCK = 40
"""Candidates that are ranked together. Each page of results is cut from the same blocks, so pages never overlap."""
READ = 16
"""Of these, the best whose texts are read."""
BLOCKS = 25
"""Blocks that are looked at; nobody reads further, and a filter is the better way there."""
MOST = 20_000
"""Generations that a filter which only the database can answer may find."""

# Weights of the columns as the standard's own search has them (text_pile_id, any, title, description, ...).
BM25 = "bm25(full_text_entity_index, 0, 0, 5.0, 1.5, 1.0, 0.75, 4.0, 2.1, 0.2, 0.0)"
# Made once each: within the joins they would be asked again for every version.
_TEXTS_SCORED = f"""s AS MATERIALIZED (
  SELECT rowid AS pile, -{BM25} AS score FROM full_text_entity_index WHERE full_text_entity_index MATCH ?)"""
# The same for what others call a page: all else of its own row is ranked by the text, or by its parts.
_PAGES_SCORED = """t AS MATERIALIZED (
  SELECT rowid AS page, -bm25(windrow_page_text, 0, 0, 0, 1.0, 4.0) AS score FROM windrow_page_text
  WHERE windrow_page_text MATCH ?)"""
# Grouped, though each is there once: that has an order by which it is looked up, and without it is read for each row.
_BY_TEXT = "LEFT JOIN (SELECT pile, max(score) AS score FROM s GROUP BY pile) s ON s.pile = g.text_pile_id"
_BY_PAGE = "LEFT JOIN (SELECT page, max(score) AS score FROM t GROUP BY page) t ON t.page = g.version_id"
_MATCHED = f"""
SELECT g.version_id AS id, {{score}} AS score, -{{score}} AS place FROM {FROM} {{scored}} WHERE {{where}}
"""
_TEXT, _BOTH = "coalesce(s.score, 0)", "(coalesce(s.score, 0) + coalesce(t.score, 0))"
_LISTED = f"""
SELECT g.version_id AS id, 0 AS score,
  -coalesce(g.time_updated_unix_utc, g.time_created_unix_utc, g.first_seen_unix_utc) AS place
FROM {FROM} WHERE {{where}}
"""
_ORDERED = "SELECT id, score FROM ({parts}) ORDER BY place, id LIMIT ? OFFSET ?"
_FREQUENCY = "SELECT count(*), 0 FROM full_text_entity_index WHERE full_text_entity_index MATCH ?"


Among: TypeAlias = dict[Filter, tuple[int, ...]]
"""The generations that filters find which only the database can answer."""


class Search:
    """Searches one Summary Database; may be kept open and asked again."""

    def __init__(self, place: Path | sa.Engine, folder: Path | None = None) -> None:
        """Open the index in `folder`, where this version made it and the extra `search` is installed.

        `place` is the database's file, or an engine that has it open.
        """
        file = place if isinstance(place, Path) else Path(place.url.database or "")
        self._summary = SummaryReader(file, {"windrow_says": says, "windrow_address": address_text})
        self._beside = self._roll = None
        if folder is not None and is_current(folder):
            self._beside, self._roll = open_index(folder), IndexManifest(roll_path(folder))

    def __call__(self, text: str, *, now: int, offset: int = 0, limit: int = 10) -> ResultPage:
        """Answer a query; `now` is the present in UNIX seconds, for what wants new pages.

        Any text is a query. Raises StoreError where the database or the index cannot be read.
        """
        query = dated(parse(text), links=self._summary.keeps_links())
        if query.nothing:
            return ResultPage((), offset, further=False, relaxed=False, notes=query.notes)
        with self._summary.held():
            return self._answer(query, now, offset, limit)

    def _answer(self, query: Query, now: int, offset: int, limit: int) -> ResultPage:
        frequency, documents = self._frequencies(query)
        prepared = sought(query, frequency, documents, now)
        among = {one: self._ids(one) for one in unindexed(query)} if self._beside is not None else {}
        cut = [
            f"'{one.typed}' fits more than {MOST:,} pages; others are left out"
            for one in among
            if len(among[one]) == MOST
        ]
        found: list[Ranked] = []
        for attempt, share in attempts(query):
            found = self._gather(attempt, prepared, offset + limit + 1, share, among)
            if found:
                break
        if found and attempt is not query:
            cut.append("no page has a name such as 'a.b' as it was typed, so its words are searched for one by one")
        page = found[offset : offset + limit]
        further, relaxed = len(found) > offset + limit, bool(found) and share < 1
        notes = (*query.notes, *cut)
        return ResultPage(self._shown(query, page), offset, further, relaxed, notes, frequency, documents)

    def close(self) -> None:
        """Close the database and the roll."""
        self._summary.close()
        if self._roll is not None:
            self._roll.__exit__()

    def _gather(self, query: Query, prepared: Sought, need: int, share: float, among: Among) -> list[Ranked]:
        """Return the first `need` results, or all there are."""
        seen: set[tuple[str, int]] = set()
        hosts: dict[str, int] = {}
        found: list[Ranked] = []
        best = 0.0
        fold = not query.history
        for block in self._blocks(query, share, among):
            best = best or max((one.score for one in block), default=0.0)
            ranked = [Ranked(one, parts(prepared, one)) for one in self._candidates(block, best)]
            ranked = self._nearer(prepared, ordered(ranked))
            standing = self._summary.standing([one.id for one in block]) if fold else {}
            found += spread(folded(ranked, seen, standing), hosts)
            if len(found) >= need:
                break
        return found[:need]

    def _nearer(self, prepared: Sought, ranked: list[Ranked]) -> list[Ranked]:
        """Read the texts of the best and look how near the words stand in them."""
        best = ranked[:READ]
        piles = {one.candidate.page.pile for one in best if one.candidate.page.pile is not None}
        texts = self._summary.texts(piles, LOOKED_AT)
        near = []
        for one in best:
            page = one.candidate.page._replace(text=texts.get(one.candidate.page.pile or 0, ""))
            candidate = one.candidate._replace(page=page)
            near.append(Ranked(candidate, nearer(prepared, candidate, one.parts)))
        return ordered(near) + ranked[READ:]

    def _blocks(self, query: Query, share: float, among: Among) -> Iterator[list[IndexHit]]:
        """Yield candidates, best first."""
        listed = not any(True for _ in wanted(query.root))
        if self._beside is not None:
            clause = ask(query, among, share=share)
        for number in range(BLOCKS):
            if self._beside is not None:
                newest = "updated" if listed else ""
                block = self._beside.search(clause, BLOCK, offset=number * BLOCK, newest=newest)
            else:
                block = self._matched(query, number * BLOCK, share)
            if block:
                yield block
            if len(block) < BLOCK:
                return

    def _matched(self, query: Query, offset: int, share: float) -> list[IndexHit]:
        own = self._summary.has_page_texts()
        made = some(query, least(query, share), own=own) if share < 1 else whole(query, own=own)
        where = made.sql if copies(query) else f"{made.sql} AND NOT g.marked_duplicate"
        ranked = spoken(query)
        sql, made_first, matched = _LISTED, "", tuple[str, ...]()
        if ranked is not None:
            called = spoken(query, ("address", "called")) if own else None
            scored, score = (_BY_TEXT, _TEXT) if called is None else (f"{_BY_TEXT} {_BY_PAGE}", _BOTH)
            sql = _MATCHED.replace("{scored}", scored).replace("{score}", score)
            made_first = f"WITH {_TEXTS_SCORED}" + ("" if called is None else f", {_PAGES_SCORED}")
            matched = (ranked,) if called is None else (ranked, called)
        relations = self._summary.relations()[0 if query.history else -1 :]
        parts = " UNION ALL ".join(sql.format(where=where, versions=one) for one in relations)
        values = (*matched, *made.values * len(relations))
        told = self._summary.ask(f"{made_first} {_ORDERED.format(parts=parts)}", (*values, BLOCK, offset))
        return [IndexHit(*one) for one in told]

    def _ids(self, leaf: Filter) -> tuple[int, ...]:
        made = condition(leaf)
        relations = self._summary.relations()
        sql = f"SELECT g.version_id, 0 FROM {FROM} WHERE {made.sql}"
        parts = " UNION ALL ".join(sql.format(versions=one) for one in relations)
        values = (*made.values * len(relations), MOST)
        return tuple(one.id for one in self._summary.ask(f"{parts} LIMIT ?", values))

    def _candidates(self, block: list[IndexHit], best: float) -> list[Candidate]:
        ids = [one.id for one in block]
        scores = {one.id: one.score for one in block}
        rolled = self._roll.named(ids) if self._roll is not None else {}
        if self._roll is None:
            pages = self._summary.generations(ids, texts=False)
            links = self._summary.links({page.url_id for page in pages})
            return [Candidate(page, links[page.url_id], scores[page.id], best) for page in pages]
        return [
            Candidate(page, links_of(rolled[page.id]) if page.id in rolled else NO_LINKS, scores[page.id], best)
            for page in self._summary.generations(ids, texts=False)
        ]

    def _frequencies(self, query: Query) -> tuple[dict[str, int], int]:
        found = {word for one in wanted(query.root) for word in words(one.text)}
        if self._beside is not None:
            return {word: self._beside.frequency(" ".join(pieces(word)), "main") for word in found}, len(self._beside)
        count = self._summary.ask("SELECT count(*), 0 FROM full_text_entity_index_docsize", ())[0].id
        asked = {word: f'"{" ".join(pieces(word))}"' for word in found}
        return {word: self._summary.ask(_FREQUENCY, (text,))[0].id for word, text in asked.items()}, count

    def _shown(self, query: Query, page: list[Ranked]) -> tuple[Result, ...]:
        alive = known(query.as_of) if query.as_of is not None else None
        sql, values = (alive.sql, alive.values) if alive else ("g.confirmed_end_unix_utc IS NULL", ())
        piles = [one.candidate.page.pile for one in page if one.candidate.page.pile is not None]
        alike = self._summary.alike(piles, sql, values) if piles else {}
        find = pattern(wanted(query.root))
        if query.as_of is not None:
            absent = self._summary.absent({one.candidate.page.url_id for one in page}, query.as_of)
            return tuple(
                shown(Shown(one, alike, query.as_of, absent=one.candidate.page.url_id in absent), find) for one in page
            )
        if query.history:
            return tuple(shown(Shown(one, alike, None), find) for one in page)
        standing = self._summary.standing([one.candidate.page.id for one in page])
        sizes = self._summary.sizes(standing.values())
        others = {one.id: one for one in self._summary.generations(sorted(set(standing.values())), texts=False)}
        free = not any(True for _ in filters(query.root))
        results = []
        for one in page:
            other = others.get(standing.get(one.candidate.page.id, 0))
            told = Shown(one, alike, None)
            results.append(
                shown(told if other is None else grouped(told, other, sizes.get(other.id, 1), free=free), find)
            )
        return tuple(results)
