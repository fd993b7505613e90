"""Search the pages of one Summary Database: the search index finds words, the database answers other filters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeAlias
from uuid import UUID

from windrow.adapters.adapter import SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.clock import now
from windrow.collections.pages.adapter.lookup import require_summary, to_datetime
from windrow.collections.pages.adapter.search_index import links_of, open_to_search
from windrow.collections.pages.database.search_view import NO_LINKS, SummaryReader
from windrow.collections.pages.search.ask import FROM, ask, at_query_time, condition, known, unindexed_filters
from windrow.collections.pages.search.rank import (
    Candidate,
    Ranked,
    ScorePart,
    ShownPage,
    add_proximity,
    choose_snippet,
    fold_duplicates,
    parts,
    show_representative,
    sort_ranked,
    spread_hosts,
)
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.errors import IndexDamaged
from windrow.query import Query, parse
from windrow.query.clause import IndexHit
from windrow.query.likeness import LOOKED_AT, Sought, attempts, marked, pattern, sought
from windrow.query.tree import Filter, filters, wanted
from windrow.query.word import pieces, says, words
from windrow.stores.index.manifest import IndexManifest, manifest_path
from windrow.stores.sqlite import close_on_failure

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


class PageHit(NamedTuple):
    """A page found.

    `more` is the number of other addresses with the same text, `near` the number of those whose text is only nearly the
    same, and `standing` their representative, if that is another address. `uncertain` is true if the time asked for is
    after the page was last seen, and before it was found gone or changed.
    """

    url: str
    title: str
    snippet: str
    marks: tuple[SnippetMark, ...]
    description: str | None
    language: str | None
    published: datetime | None
    updated: datetime | None
    first_seen: datetime
    last_seen: datetime
    end: datetime | None
    more: int
    near: int
    standing: str | None
    uncertain: bool
    score: float
    generation: str
    parts: tuple[ScorePart, ...] = ()
    collection: str = "pages"


class Search:
    """Searches one Summary Database; may be kept open for many queries."""

    def __init__(self, summary: Path, folder: Path) -> None:
        """Open the index in `folder`; if it is missing or of another version, it is built first."""
        self._summary = SummaryReader(summary, {"windrow_says": says})
        self._folder = folder
        self._mending = Lock()
        with close_on_failure(self._summary.close):
            self._open()

    def _open(self, *, anew: bool = False) -> None:
        self._index, unkept = open_to_search(self._summary, self._folder, anew=anew)
        self._notes = (UNKEPT,) if unkept else ()
        with close_on_failure(self._index.close):
            try:
                self._manifest = IndexManifest(manifest_path(self._index.folder), read_only=True)
            except IndexDamaged:
                if anew:
                    raise
                self._index.close()
                self._open(anew=True)

    def __call__(self, text: str, *, now: int, offset: int = 0, limit: int = 10, explain: bool = False) -> SearchAnswer:
        """Answer a query; `now` is the present time in UNIX seconds, by which new pages are preferred.

        Any text is a query. The details of a result are a `PageHit`; with `explain`, it has the parts of its score.
        Raises StoreError if the database or the index cannot be read.
        """
        query = at_query_time(parse(text), links=self._summary.keeps_links())
        if query.nothing:
            return SearchAnswer(text, offset, (), query.notes, further=False, relaxed=False)
        index = self._index
        try:
            with self._summary.held():
                return self._answer(text, query, now, offset, limit, explain=explain)
        except IndexDamaged:  # its files were sound when it was opened
            with self._mending:
                if self._index is index:
                    self._open(anew=True)
        with self._summary.held():
            return self._answer(text, query, now, offset, limit, explain=explain)

    def _answer(self, text: str, query: Query, now: int, offset: int, limit: int, *, explain: bool) -> SearchAnswer:
        frequency, documents = self._frequencies(query)
        prepared = sought(query, frequency, documents, now)
        matches = {leaf: self._ids(leaf) for leaf in unindexed_filters(query)}
        cut = [
            f"'{leaf.typed}' fits more than {MOST:,} pages; others are left out"
            for leaf in matches
            if len(matches[leaf]) == MOST
        ]
        ranked_pages: list[Ranked] = []
        for attempt, share in attempts(query):
            ranked_pages = self._gather(attempt, prepared, offset + limit + 1, share, matches)
            if ranked_pages:
                break
        if ranked_pages and attempt is not query:
            cut.append("no page has a name such as 'a.b' as it was typed, so its words are searched for one by one")
        page = ranked_pages[offset : offset + limit]
        further, relaxed = len(ranked_pages) > offset + limit, bool(ranked_pages) and share < 1
        notes = (*query.notes, *cut, *self._notes)
        find = pattern(wanted(query.root))
        results = tuple(_result(shown_page, find, explain=explain) for shown_page in self._shown(query, page))
        return SearchAnswer(text, offset, results, notes, further, relaxed, frequency, documents)

    def close(self) -> None:
        """Close the database and the index."""
        self._summary.close()
        self._manifest.__exit__()
        self._index.close()

    def _gather(self, query: Query, prepared: Sought, count: int, share: float, matches: Among) -> list[Ranked]:
        """Return the first `need` results, or all if there are fewer."""
        seen: set[tuple[str, int]] = set()
        hosts: dict[str, int] = {}
        gathered: list[Ranked] = []
        best = 0.0
        fold = not query.history
        for block in self._yield_candidates(query, share, matches):
            best = best or max((hit.score for hit in block), default=0.0)
            ranked = [Ranked(candidate, parts(prepared, candidate)) for candidate in self._candidates(block, best)]
            ranked = self._add_proximities(prepared, sort_ranked(ranked))
            representatives = self._summary.standing([hit.id for hit in block]) if fold else {}
            gathered += spread_hosts(fold_duplicates(ranked, seen, representatives), hosts)
            if len(gathered) >= count:
                break
        return gathered[:count]

    def _add_proximities(self, prepared: Sought, ranked: list[Ranked]) -> list[Ranked]:
        """Read the texts of the best pages and score the distance of the words in them."""
        best = ranked[:READ]
        piles = {
            ranked_page.candidate.page.pile_id for ranked_page in best if ranked_page.candidate.page.pile_id is not None
        }
        texts = self._summary.texts(piles, LOOKED_AT)
        rescored = []
        for ranked_page in best:
            page = ranked_page.candidate.page._replace(text=texts.get(ranked_page.candidate.page.pile_id or 0, ""))
            candidate = ranked_page.candidate._replace(page=page)
            rescored.append(Ranked(candidate, add_proximity(prepared, candidate, ranked_page.parts)))
        return sort_ranked(rescored) + ranked[READ:]

    def _yield_candidates(self, query: Query, share: float, matches: Among) -> Iterator[list[IndexHit]]:
        """Yield candidates, best first."""
        newest = "" if any(True for _ in wanted(query.root)) else "updated"
        clause = ask(query, matches, share=share)
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
        entries = self._manifest.read_entries(ids)
        return [
            Candidate(page, links_of(entries[page.id]) if page.id in entries else NO_LINKS, scores[page.id], best)
            for page in self._summary.generations(ids, texts=False)
        ]

    def _frequencies(self, query: Query) -> tuple[dict[str, int], int]:
        query_words = {word for node in wanted(query.root) for word in words(node.text)}
        return {word: self._index.frequency(" ".join(pieces(word)), "main") for word in query_words}, len(self._index)

    def _shown(self, query: Query, page: list[Ranked]) -> Iterator[ShownPage]:
        alive = known(query.as_of) if query.as_of is not None else None
        sql, values = (alive.sql, alive.values) if alive else ("g.confirmed_end_unix_utc IS NULL", ())
        piles = [
            ranked_page.candidate.page.pile_id for ranked_page in page if ranked_page.candidate.page.pile_id is not None
        ]
        copies = self._summary.alike(piles, sql, values) if piles else {}
        if query.as_of is not None:
            absent = self._summary.absent({ranked.candidate.page.url_id for ranked in page}, query.as_of)
            yield from (
                ShownPage(ranked, copies, query.as_of, absent=ranked.candidate.page.url_id in absent) for ranked in page
            )
            return
        if query.history:
            yield from (ShownPage(ranked, copies, None) for ranked in page)
            return
        representatives = self._summary.standing([ranked.candidate.page.id for ranked in page])
        sizes = self._summary.sizes(representatives.values())
        other_ids = {
            generation.id: generation
            for generation in self._summary.generations(sorted(set(representatives.values())), texts=False)
        }
        free = not any(True for _ in filters(query.root))
        for ranked in page:
            representative = other_ids.get(representatives.get(ranked.candidate.page.id, 0))
            shown_page = ShownPage(ranked, copies, None)
            if representative is not None:
                group = sizes.get(representative.id, 1)
                shown_page = show_representative(shown_page, representative, group, free=free)
            yield shown_page


def search(workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False) -> SearchAnswer:
    """Search the pages of a workspace; any text is a query. Raises WindrowError if there are no pages yet."""
    with closing(Search(require_summary(workspace), workspace.section(Pages).index)) as searched:
        return searched(text, now=int(now().timestamp()), offset=offset, limit=limit, explain=explain)


def _result(shown_page: ShownPage, find: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    """Convert a page to a result as of all collections; without a title, it is named by its headline or address."""
    page = shown_page.ranked.candidate.page
    title = marked(page.title or page.headline or page.url, find)
    snippet = choose_snippet(page.text, page.description or "", find)
    same_text = max(0, shown_page.alike.get(page.pile_id, 1) - 1) if page.pile_id is not None else 0
    other_count = max(same_text, shown_page.group - 1)
    hit = PageHit(
        url=page.url,
        title="".join(piece.text for piece in title),
        snippet="".join(piece.text for piece in snippet),
        marks=snippet_marks(snippet),
        description=page.description,
        language=page.language,
        published=to_datetime(page.created),
        updated=to_datetime(page.updated),
        first_seen=datetime.fromtimestamp(page.first_seen, UTC),
        last_seen=datetime.fromtimestamp(page.last_seen, UTC),
        end=to_datetime(page.end),
        more=other_count,
        near=other_count - same_text,
        standing=shown_page.standing if shown_page.standing != page.url else None,
        uncertain=shown_page.absent
        or (shown_page.as_of is not None and page.end is not None and page.last_seen < shown_page.as_of),
        score=round(shown_page.ranked.score, 4),
        generation=str(UUID(bytes=page.uuid)),
        parts=shown_page.ranked.parts if explain else (),
    )
    dates = (("updated", page.updated), ("published", page.created), ("seen", page.first_seen))
    kind, date = next((kind, to_datetime(seconds)) for kind, seconds in dates if seconds is not None)
    dated = (f"{kind} {date:%Y-%m-%d}" if date else "") + (f", until {hit.end:%Y-%m-%d}" if hit.end else "")
    details = " ".join(filter(None, [dated, page.language or ""]))
    return SearchResult(
        title, page.url, details, snippet, tuple(_remarks(hit, explain=explain)), "page_result", hit, date
    )


def _remarks(hit: PageHit, *, explain: bool) -> Iterator[str]:
    if hit.uncertain:
        yield "not sure: it was seen before that time, and found changed or gone after it"
    if hit.more:
        nearly = " or nearly" if 0 < hit.near < hit.more else ", nearly" if hit.near else ""
        foremost = f", foremost {hit.standing}" if hit.standing else ""
        yield f"and {hit.more:,} more with the same text{nearly}{foremost}"
    if explain:
        parts = "  ".join(f"{part.name} {part.value:.2f} x {part.weight:g}" for part in hit.parts)
        yield f"score {hit.score:.3f} = {parts}"
