"""Search the pages of one Summary Database: the search index finds words, the database answers other filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from windrow.collections.pages.adapter.search_index import links_of, open_to_search
from windrow.collections.pages.database.search_view import NO_LINKS, SummaryReader
from windrow.collections.pages.search.ask import ask, unindexed_filters
from windrow.collections.pages.search.condition import FROM, at_query_time, condition, known
from windrow.collections.pages.search.rank import (
    Candidate,
    Ranked,
    Result,
    ResultPage,
    ShownPage,
    add_proximity,
    fold_duplicates,
    make_result,
    parts,
    show_representative,
    sort_ranked,
    spread_hosts,
)
from windrow.errors import IndexDamaged
from windrow.query import Query, parse
from windrow.query.clause import IndexHit
from windrow.query.likeness import LOOKED_AT, Sought, attempts, sought
from windrow.query.snippet import pattern
from windrow.query.tree import Filter, filters, wanted
from windrow.query.word import pieces, says, words
from windrow.stores.index.manifest import IndexManifest, roll_path
from windrow.stores.sqlite import close_on_failure

if TYPE_CHECKING:
    import sqlalchemy as sa

BLOCK = 40
"""Candidates that are ranked together. Each page of results is cut from the same blocks, so pages never overlap."""
READ = 16
"""The best of them, whose texts are read."""
BLOCKS = 25
"""Most blocks that are read; to find later pages, a filter is better."""
MOST = 20_000
"""Most generations of a filter that only the database can answer."""

UNKEPT = (
    "the search index is not there, or of another version, and was made for this search alone;"
    " windrow run pages --from index makes one that stays"
)
"""Told where the folder of the index cannot be written."""
Among: TypeAlias = dict[Filter, tuple[int, ...]]
"""The generations that match each filter which only the database can answer."""


class Search:
    """Searches one Summary Database; may be kept open for many queries."""

    def __init__(self, place: Path | sa.Engine, folder: Path) -> None:
        """Open the index in `folder`; where there is none that this version can ask, it is made first.

        `place` is the database's file, or an engine that has it open.
        """
        file = place if isinstance(place, Path) else Path(place.url.database or "")
        self._summary = SummaryReader(file, {"windrow_says": says})
        self._folder = folder
        self._mending = Lock()
        with close_on_failure(self._summary.close):
            self._open()

    def _open(self, *, anew: bool = False) -> None:
        self._index, unkept = open_to_search(self._summary, self._folder, anew=anew)
        self._notes = (UNKEPT,) if unkept else ()
        with close_on_failure(self._index.close):
            try:
                self._roll = IndexManifest(roll_path(self._index.folder), read_only=True)
            except IndexDamaged:
                if anew:
                    raise
                self._index.close()
                self._open(anew=True)

    def __call__(self, text: str, *, now: int, offset: int = 0, limit: int = 10) -> ResultPage:
        """Answer a query; `now` is the present in UNIX seconds, for what wants new pages.

        Any text is a query. Raises StoreError where the database or the index cannot be read.
        """
        query = at_query_time(parse(text), links=self._summary.keeps_links())
        if query.nothing:
            return ResultPage((), offset, further=False, relaxed=False, notes=query.notes)
        index = self._index
        try:
            with self._summary.held():
                return self._answer(query, now, offset, limit)
        except IndexDamaged:  # its files were sound when it was opened
            with self._mending:
                if self._index is index:
                    self._open(anew=True)
        with self._summary.held():
            return self._answer(query, now, offset, limit)

    def _answer(self, query: Query, now: int, offset: int, limit: int) -> ResultPage:
        frequency, documents = self._frequencies(query)
        prepared = sought(query, frequency, documents, now)
        among = {leaf: self._ids(leaf) for leaf in unindexed_filters(query)}
        cut = [
            f"'{leaf.typed}' fits more than {MOST:,} pages; others are left out"
            for leaf in among
            if len(among[leaf]) == MOST
        ]
        ranked_pages: list[Ranked] = []
        for attempt, share in attempts(query):
            ranked_pages = self._gather(attempt, prepared, offset + limit + 1, share, among)
            if ranked_pages:
                break
        if ranked_pages and attempt is not query:
            cut.append("no page has a name such as 'a.b' as it was typed, so its words are searched for one by one")
        page = ranked_pages[offset : offset + limit]
        further, relaxed = len(ranked_pages) > offset + limit, bool(ranked_pages) and share < 1
        notes = (*query.notes, *cut, *self._notes)
        return ResultPage(self._shown(query, page), offset, further, relaxed, notes, frequency, documents)

    def close(self) -> None:
        """Close the database and the index."""
        self._summary.close()
        self._roll.__exit__()
        self._index.close()

    def _gather(self, query: Query, prepared: Sought, need: int, share: float, among: Among) -> list[Ranked]:
        """Return the first `need` results, or all if there are fewer."""
        seen: set[tuple[str, int]] = set()
        hosts: dict[str, int] = {}
        gathered: list[Ranked] = []
        best = 0.0
        fold = not query.history
        for block in self._blocks(query, share, among):
            best = best or max((hit.score for hit in block), default=0.0)
            ranked = [Ranked(candidate, parts(prepared, candidate)) for candidate in self._candidates(block, best)]
            ranked = self._nearer(prepared, sort_ranked(ranked))
            standing = self._summary.standing([hit.id for hit in block]) if fold else {}
            gathered += spread_hosts(fold_duplicates(ranked, seen, standing), hosts)
            if len(gathered) >= need:
                break
        return gathered[:need]

    def _nearer(self, prepared: Sought, ranked: list[Ranked]) -> list[Ranked]:
        """Read the texts of the best pages and score the distance of the words in them."""
        best = ranked[:READ]
        piles = {ranked_page.candidate.page.pile for ranked_page in best if ranked_page.candidate.page.pile is not None}
        texts = self._summary.texts(piles, LOOKED_AT)
        near = []
        for ranked_page in best:
            page = ranked_page.candidate.page._replace(text=texts.get(ranked_page.candidate.page.pile or 0, ""))
            candidate = ranked_page.candidate._replace(page=page)
            near.append(Ranked(candidate, add_proximity(prepared, candidate, ranked_page.parts)))
        return sort_ranked(near) + ranked[READ:]

    def _blocks(self, query: Query, share: float, among: Among) -> Iterator[list[IndexHit]]:
        """Yield candidates, best first."""
        newest = "" if any(True for _ in wanted(query.root)) else "updated"
        clause = ask(query, among, share=share)
        for number in range(BLOCKS):
            block = self._index.search(clause, BLOCK, offset=number * BLOCK, newest=newest)
            if block:
                yield block
            if len(block) < BLOCK:
                return

    def _ids(self, leaf: Filter) -> tuple[int, ...]:
        leaf_condition = condition(leaf)
        relations = self._summary.relations()
        sql = f"SELECT g.version_id FROM {FROM} WHERE {leaf_condition.sql}"
        parts = " UNION ALL ".join(sql.format(versions=relation) for relation in relations)
        values = (*leaf_condition.values * len(relations), MOST)
        return self._summary.numbers(f"{parts} LIMIT ?", values)

    def _candidates(self, block: list[IndexHit], best: float) -> list[Candidate]:
        ids = [hit.id for hit in block]
        scores = {hit.id: hit.score for hit in block}
        rolled = self._roll.named(ids)
        return [
            Candidate(page, links_of(rolled[page.id]) if page.id in rolled else NO_LINKS, scores[page.id], best)
            for page in self._summary.generations(ids, texts=False)
        ]

    def _frequencies(self, query: Query) -> tuple[dict[str, int], int]:
        query_words = {word for node in wanted(query.root) for word in words(node.text)}
        return {word: self._index.frequency(" ".join(pieces(word)), "main") for word in query_words}, len(self._index)

    def _shown(self, query: Query, page: list[Ranked]) -> tuple[Result, ...]:
        alive = known(query.as_of) if query.as_of is not None else None
        sql, values = (alive.sql, alive.values) if alive else ("g.confirmed_end_unix_utc IS NULL", ())
        piles = [ranked_page.candidate.page.pile for ranked_page in page if ranked_page.candidate.page.pile is not None]
        alike = self._summary.alike(piles, sql, values) if piles else {}
        find = pattern(wanted(query.root))
        if query.as_of is not None:
            absent = self._summary.absent({ranked_page.candidate.page.url_id for ranked_page in page}, query.as_of)
            return tuple(
                make_result(
                    ShownPage(ranked_page, alike, query.as_of, absent=ranked_page.candidate.page.url_id in absent), find
                )
                for ranked_page in page
            )
        if query.history:
            return tuple(make_result(ShownPage(ranked_page, alike, None), find) for ranked_page in page)
        standing = self._summary.standing([ranked_page.candidate.page.id for ranked_page in page])
        sizes = self._summary.sizes(standing.values())
        others = {
            generation.id: generation
            for generation in self._summary.generations(sorted(set(standing.values())), texts=False)
        }
        free = not any(True for _ in filters(query.root))
        results = []
        for ranked_page in page:
            representative = others.get(standing.get(ranked_page.candidate.page.id, 0))
            shown_page = ShownPage(ranked_page, alike, None)
            results.append(
                make_result(
                    shown_page
                    if representative is None
                    else show_representative(shown_page, representative, sizes.get(representative.id, 1), free=free),
                    find,
                )
            )
        return tuple(results)
