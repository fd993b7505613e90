"""Search the pages of one Summary Database. The database answers the filters that the search index cannot answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeAlias
from uuid import UUID

from windrow.adapters.search_answer import SearchAnswer, SearchResult, SnippetMark, snippet_marks
from windrow.clock import from_unix_time, now
from windrow.collections.pages.adapter.lookup import require_summary
from windrow.collections.pages.adapter.page_sources import PageSources
from windrow.collections.pages.adapter.search_index import decode_links, open_to_search
from windrow.collections.pages.database.search_view import NO_LINKS, SummaryReader
from windrow.collections.pages.search.conditions import FROM, PRESENTLY_OPEN, make_condition, make_open_condition
from windrow.collections.pages.search.index_query import (
    SOFT_404S,
    add_origins,
    at_query_time,
    count_kinds,
    folds_groups,
    keep_soft_404s_only,
    make_clause,
    unindexed_filters,
)
from windrow.collections.pages.search.rank import (
    Candidate,
    FoldKey,
    Ranked,
    ScorePart,
    ShownPage,
    add_proximity,
    add_representative,
    choose_snippet,
    compute_parts,
    fold_duplicates,
    sort_ranked,
    spread_hosts,
)
from windrow.collections.pages.settings import Pages
from windrow.config import Workspace
from windrow.contract.registry import columns
from windrow.errors import IndexDamaged
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.query import Query
from windrow.query.clause import NO_FACETS, Clause, FacetCounts, IndexHit
from windrow.query.columns import parse_query
from windrow.query.likeness import (
    PROXIMITY_LENGTH,
    RankingQuery,
    mark_hits,
    prepare_ranking,
    relaxed_queries,
    term_pattern,
)
from windrow.query.tree import And, Filter, Not, SourceOrigins, Word, filters, searched_terms
from windrow.query.word import contains_words, index_words, words
from windrow.query.word_forms import list_forms
from windrow.stores.index.fulltext_index import find_forms
from windrow.stores.index.manifest import IndexManifest, manifest_path
from windrow.stores.sqlite import close_on_failure

BLOCK_SIZE = 40
"""The number of candidates in a block. The candidates of a block are ranked together."""
MAX_TEXTS_READ = 16
"""The maximum number of candidates in a block whose texts are read: those with the highest scores."""
MAX_BLOCKS = 25
"""The maximum number of blocks that are read for a clause. Later pages are not found, and a note says so."""
MAX_MATCHES = 20_000
"""The maximum number of versions that are read for a filter that only the database can answer. Others are not found."""

TEMPORARY_INDEX_NOTE = (
    "the search index was missing or of another version, so it was built for this search only;"
    " to build it permanently: windrow run pages --from index"
)
"""The note in an answer if the index had to be built in a temporary folder."""
Matches: TypeAlias = dict[Filter, tuple[int, ...]]
"""A dict from each filter that only the database can answer to the ids of the versions that match it."""


class PageHit(NamedTuple):
    """A page that a search found.

    `more` is the number of other addresses with the same or nearly the same text; `near` is the number of those whose
    text is only nearly the same. `standing` is the address of their representative, or None if that is the page itself
    or if there is no group. `uncertain` is true for a query about a past time if the page has ended and was last seen
    before that time, if the last attempt up to that time did not find the page, or if the query filters by links and
    the first crawl after that time found other links.
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

    def __init__(
        self,
        summary: Path,
        folder: Path,
        origins_of: Callable[[str], SourceOrigins] = lambda source: SourceOrigins(source, ()),
        source_of: Callable[[str], str] = lambda _url: "",
    ) -> None:
        """Open a Summary Database and the index in `folder`; build the index if it is missing or of another version.

        For the filter `source:`, `origins_of` returns the origins of a source, and `source_of` the source of an address
        at an origin that several sources share.
        """
        self._origins_of = origins_of
        self._summary = SummaryReader(summary, {"windrow_says": contains_words, "windrow_source": source_of})
        self._folder = folder
        self._reopening = Lock()
        with close_on_failure(self._summary.close):
            self._open()

    def _open(self, *, anew: bool = False) -> None:
        """Open the index and its manifest. Build the index again if `anew` is true, or if one of them is damaged."""
        self._index, is_temporary = open_to_search(self._summary, self._folder, anew=anew)
        self._notes = (TEMPORARY_INDEX_NOTE,) if is_temporary else ()
        with close_on_failure(self._index.close):
            try:
                self._has_soft_404s = bool(self._index.count(SOFT_404S))  # an open index does not change
                self._manifest = IndexManifest(manifest_path(self._index.folder), read_only=True)
            except IndexDamaged:
                if anew:
                    raise
                self._index.close()
                self._open(anew=True)

    def __call__(
        self, text: str, *, now: int, offset: int = 0, limit: int = 10, explain: bool = False, facets: bool = False
    ) -> SearchAnswer:
        """Answer a query with at most `limit` results; the first `offset` results are skipped.

        Every text is a valid query. `now` is the present time in UNIX seconds, which is used to compute the freshness
        of pages. The details of a result are a `PageHit`; it contains the parts of its score if `explain` is true.
        With `facets`, the documents that match are counted for each origin (as `source`), language, type and year.
        Raises StoreError if the database or the index cannot be read.
        """
        query = self._parse(text)
        if query.nothing:
            return SearchAnswer(text, offset, (), query.notes, further=False, relaxed=False)
        index = self._index
        try:
            with self._summary.read_transaction():
                return self._answer(text, query, now, offset, limit, explain=explain, facets=facets)
        except IndexDamaged:  # the files were damaged after the index was opened
            with self._reopening:
                if self._index is index:
                    self._open(anew=True)
        with self._summary.read_transaction():
            return self._answer(text, query, now, offset, limit, explain=explain, facets=facets)

    def _parse(self, text: str) -> Query:
        """Parse a query, and complete its filters with the time of the query and with the origins of sources."""
        query = at_query_time(parse_query(text, columns()), has_past_links=self._summary.has_past_links())
        return add_origins(query, self._origins_of)

    def _answer(
        self, text: str, query: Query, now: int, offset: int, limit: int, *, explain: bool, facets: bool
    ) -> SearchAnswer:
        frequencies, document_count = self._count_frequencies(query)
        scorer = prepare_ranking(query, frequencies, document_count, now)
        matches = {leaf: self._find_matches(leaf) for leaf in unindexed_filters(query)}
        notes = [
            f"the filter '{leaf.typed}' matches at least {MAX_MATCHES:,} versions of pages; others are ignored"
            for leaf in matches
            if len(matches[leaf]) == MAX_MATCHES
        ]
        ranked_pages: list[Ranked] = []
        forms: list[str] = []
        is_cut = False
        for relaxed_query, share in relaxed_queries(query):
            clauses = self._yield_clauses(relaxed_query, share, matches, forms)
            ranked_pages, is_cut = self._gather(relaxed_query, clauses, scorer, offset + limit + 1)
            if ranked_pages:
                break
        if is_cut:
            notes.append(
                f"the query matches at least {MAX_BLOCKS * BLOCK_SIZE:,} versions of pages; others are not ranked:"
                " to find them, add words or a filter"
            )
        if ranked_pages and relaxed_query is not query:
            notes.append(
                "no page contains a name such as 'a.b' as it was typed, so its words are searched for separately"
            )
        notes += self._describe_hidden(query, matches)
        hit_pattern = term_pattern([*searched_terms(query.root), *map(Word, forms)])
        shown_pages = self._prepare_pages(query, ranked_pages[offset : offset + limit])
        return SearchAnswer(
            text, offset,
            tuple(_make_result(shown_page, hit_pattern, explain=explain) for shown_page in shown_pages),
            (*query.notes, *notes, *self._notes), further=len(ranked_pages) > offset + limit,
            relaxed=bool(ranked_pages) and share < 1, frequency=frequencies, documents=document_count,
            suggestions=self._index.suggest(frequencies, "main"),
            counts=self._count_facets(query, matches) if facets else NO_FACETS,
        )  # fmt: skip

    def _describe_hidden(self, query: Query, matches: Matches) -> list[str]:
        """Return a list with a note on how many soft 404s match a query but are left out; an empty list if none are."""
        hidden = keep_soft_404s_only(query)
        if hidden is None or not self._has_soft_404s:
            return []
        count = self._index.count(make_clause(hidden, matches))
        note = f"{counted(count, 'page')} hidden as certain or suspected soft 404s: is:soft-404 shows them"
        return [note] if count else []

    def close(self) -> None:
        """Close the database and the index."""
        self._summary.close()
        self._manifest.__exit__()
        self._index.close()

    def _count_facets(self, query: Query, matches: Matches) -> FacetCounts:
        """For each origin (as `source`), language, type and year, count the documents that match a query."""
        for relaxed_query, share in relaxed_queries(query):
            word_forms = find_forms(self._index, relaxed_query) if share == 1 else {}
            clause = make_clause(relaxed_query, matches, share=share, word_forms=word_forms)
            count, counts = self._index.count_by_facet(clause, ("origin", "lang", "type"), "published")
            if count:
                origins, languages, types, years = counts
                languages = {tag: number for tag, number in languages.items() if "-" not in tag}
                facets = {"source": origins, "language": languages, "type": count_kinds(types), "year": years}
                return FacetCounts(count, facets, relaxed=share < 1)
        return NO_FACETS

    def _yield_clauses(self, query: Query, share: float, matches: Matches, forms: list[str]) -> Iterator[Clause]:
        """Yield the clauses to search one after another.

        `share` is the share of the words that must match. If it is 1, a second clause finds pages with other forms of
        the words; these forms are added to `forms`.
        """
        clause = make_clause(query, matches, share=share)
        yield clause
        if share == 1 and (word_forms := find_forms(self._index, query)):
            forms += list_forms(word_forms)
            yield And((make_clause(query, matches, word_forms=word_forms), Not(clause)))

    def _gather(
        self, query: Query, clauses: Iterable[Clause], scorer: RankingQuery, count: int
    ) -> tuple[list[Ranked], bool]:
        """Return at most `count` results, and whether some may be missing because only `MAX_BLOCKS` blocks are read."""
        seen_keys: set[FoldKey] = set()
        host_counts: dict[str, int] = {}
        gathered_pages: list[Ranked] = []
        best_score, is_cut = 0.0, False
        for clause in clauses:
            candidate_count = 0
            for block in self._yield_candidates(query, clause):
                candidate_count += len(block)
                best_score = best_score or max((hit.score for hit in block), default=0.0)
                candidates = self._read_candidates(block, best_score)
                ranked_pages = [Ranked(candidate, compute_parts(scorer, candidate)) for candidate in candidates]
                ranked_pages = self._add_proximities(scorer, sort_ranked(ranked_pages))
                ids = [] if query.history else [hit.id for hit in block]
                representatives = self._summary.find_representatives(ids) if ids else {}
                pages = fold_duplicates(ranked_pages, seen_keys, representatives, by_group=folds_groups(query))
                gathered_pages += spread_hosts(pages, host_counts)
                if len(gathered_pages) >= count:
                    return gathered_pages[:count], False
            is_cut = is_cut or candidate_count >= MAX_BLOCKS * BLOCK_SIZE
        return gathered_pages, is_cut

    def _add_proximities(self, scorer: RankingQuery, ranked_pages: list[Ranked]) -> list[Ranked]:
        """Read the texts of the best pages, add to their scores how close the query's words are, and sort them."""
        best_pages = ranked_pages[:MAX_TEXTS_READ]
        pile_ids = {
            ranked_page.candidate.page.pile_id
            for ranked_page in best_pages
            if ranked_page.candidate.page.pile_id is not None
        }
        texts = self._summary.read_texts(pile_ids, PROXIMITY_LENGTH)
        rescored_pages = []
        for ranked_page in best_pages:
            page = ranked_page.candidate.page._replace(text=texts.get(ranked_page.candidate.page.pile_id or 0, ""))
            candidate = ranked_page.candidate._replace(page=page)
            rescored_pages.append(Ranked(candidate, add_proximity(scorer, candidate, ranked_page.parts)))
        return sort_ranked(rescored_pages) + ranked_pages[MAX_TEXTS_READ:]

    def _yield_candidates(self, query: Query, clause: Clause) -> Iterator[list[IndexHit]]:
        """Yield blocks of candidates, the best first; for a query without words, the last updated first."""
        newest = "" if any(True for _ in searched_terms(query.root)) else "updated"
        for number in range(MAX_BLOCKS):
            block = self._index.search(clause, BLOCK_SIZE, offset=number * BLOCK_SIZE, newest=newest)
            if block:
                yield block
            if len(block) < BLOCK_SIZE:
                return

    def _find_matches(self, leaf: Filter) -> tuple[int, ...]:
        condition = make_condition(leaf)
        relations = self._summary.list_relations()
        sql = f"SELECT g.version_id FROM {FROM} WHERE {condition.sql}"
        queries = " UNION ALL ".join(sql.format(versions=relation) for relation in relations)
        return self._summary.select_ids(f"{queries} LIMIT ?", (*condition.values * len(relations), MAX_MATCHES))

    def _read_candidates(self, block: list[IndexHit], best_score: float) -> list[Candidate]:
        ids = [hit.id for hit in block]
        scores = {hit.id: hit.score for hit in block}
        entries = self._manifest.read_entries(ids)
        return [
            Candidate(
                page, decode_links(entries[page.id]) if page.id in entries else NO_LINKS, scores[page.id], best_score
            )
            for page in self._summary.read_versions(ids, texts=False)
        ]

    def _count_frequencies(self, query: Query) -> tuple[dict[str, int], int]:
        """Return the number of documents with each word of the query, and the number of all documents."""
        query_words = {word for node in searched_terms(query.root) for word in words(node.text)}
        return {word: self._index.frequency(" ".join(index_words(word)), "main") for word in query_words}, len(
            self._index
        )

    def _prepare_pages(self, query: Query, ranked_pages: list[Ranked]) -> Iterator[ShownPage]:
        """Yield the pages to show with their numbers of copies and, for a query about the present, representatives."""
        condition = PRESENTLY_OPEN if query.as_of is None else make_open_condition(query.as_of)
        ids_or_none = [ranked.candidate.page.pile_id for ranked in ranked_pages]
        pile_ids = [pile_id for pile_id in ids_or_none if pile_id is not None]
        copies = self._summary.count_copies(pile_ids, condition.sql, condition.values) if pile_ids else {}
        if query.as_of is not None:
            url_ids = {ranked.candidate.page.url_id for ranked in ranked_pages}
            uncertain_ids = self._summary.find_absent(url_ids, query.as_of)
            if any(leaf.key in {"links-to", "link-text"} for leaf in filters(query.root)):
                uncertain_ids |= self._summary.find_uncertain_links(url_ids, query.as_of)
            for ranked in ranked_pages:
                is_uncertain = ranked.candidate.page.url_id in uncertain_ids
                yield ShownPage(ranked, copies, query.as_of, is_uncertain=is_uncertain)
            return
        if query.history:
            yield from (ShownPage(ranked, copies, None) for ranked in ranked_pages)
            return
        representative_ids = self._summary.find_representatives([ranked.candidate.page.id for ranked in ranked_pages])
        group_sizes = self._summary.count_group_urls(representative_ids.values())
        representatives = self._summary.read_versions(sorted(set(representative_ids.values())), texts=False)
        representative_by_id = {representative.id: representative for representative in representatives}
        has_filters = any(True for _ in filters(query.root))
        for ranked in ranked_pages:
            representative = representative_by_id.get(representative_ids.get(ranked.candidate.page.id, 0))
            shown_page = ShownPage(ranked, copies, None)
            if representative is not None:
                group_size = group_sizes.get(representative.id, 1)
                shown_page = add_representative(shown_page, representative, group_size, may_replace=not has_filters)
            yield shown_page


@contextmanager
def _open_search(workspace: Workspace) -> Iterator[tuple[Search, Callable[[], PageSources]]]:
    with ExitStack() as stack:

        @cache
        def sources() -> PageSources:  # only queries with `source:` and counts by facet need the ledger
            return PageSources(workspace, stack.enter_context(closing(Ledger(workspace.ledger))))

        search_pages = Search(
            require_summary(workspace),
            workspace.section(Pages).index,
            lambda source: sources().origins_of(source),
            lambda url: sources().of_page(url),
        )
        yield stack.enter_context(closing(search_pages)), sources


def search(
    workspace: Workspace, text: str, *, offset: int = 0, limit: int = 10, explain: bool = False, facets: bool = False
) -> SearchAnswer:
    """Search the pages of a workspace, as `Search` does; raise WindrowError if there are no pages yet.

    In the facet `source`, pages are counted under the name of their origin if the origin has no source or several.
    Pages with the same text count separately.
    """
    with _open_search(workspace) as (search_pages, sources):
        answer = search_pages(
            text, now=int(now().timestamp()), offset=offset, limit=limit, explain=explain, facets=facets
        )
        if not answer.counts.documents:
            return answer
        return answer._replace(counts=_count_by_source(answer.counts, sources()))


def _count_by_source(counts: FacetCounts, sources: PageSources) -> FacetCounts:
    """Return the counts with those of origins, in the facet `source`, under the names of their sources."""
    by_source: dict[str, int] = {}
    for origin, count in counts.facets.get("source", {}).items():
        source = sources.of_origin(origin) or origin
        by_source[source] = by_source.get(source, 0) + count
    return counts._replace(facets={**counts.facets, "source": by_source})


def _make_result(shown_page: ShownPage, hit_pattern: re.Pattern[str] | None, *, explain: bool) -> SearchResult:
    page = shown_page.ranked.candidate.page
    title = mark_hits(page.title or page.headline or page.url, hit_pattern)
    snippet = choose_snippet(page.text, page.description or "", hit_pattern)
    copy_count = max(0, shown_page.url_counts.get(page.pile_id, 1) - 1) if page.pile_id is not None else 0
    other_count = max(copy_count, shown_page.group_size - 1)
    hit = PageHit(
        url=page.url,
        title="".join(piece.text for piece in title),
        snippet="".join(piece.text for piece in snippet),
        marks=snippet_marks(snippet),
        description=page.description,
        language=page.language,
        published=from_unix_time(page.created),
        updated=from_unix_time(page.updated),
        first_seen=datetime.fromtimestamp(page.first_seen, UTC),
        last_seen=datetime.fromtimestamp(page.last_seen, UTC),
        end=from_unix_time(page.end),
        more=other_count,
        near=other_count - copy_count,
        standing=None if shown_page.representative == page.url else shown_page.representative,
        uncertain=shown_page.is_uncertain
        or (shown_page.as_of is not None and page.end is not None and page.last_seen < shown_page.as_of),
        score=round(shown_page.ranked.score, 4),
        generation=str(UUID(bytes=page.uuid)),
        parts=shown_page.ranked.parts if explain else (),
    )
    dates = (("updated", page.updated), ("published", page.created), ("seen", page.first_seen))
    kind, date = next((kind, from_unix_time(seconds)) for kind, seconds in dates if seconds is not None)
    period = (f"{kind} {date.date()}" if date else "") + (f", until {hit.end.date()}" if hit.end else "")
    details = " ".join(filter(None, [period, page.language or ""]))
    remarks = tuple(_describe_hit(hit, explain=explain))
    return SearchResult(title, page.url, details, snippet, remarks, "page_result", hit, date)


def _describe_hit(hit: PageHit, *, explain: bool) -> Iterator[str]:
    if hit.uncertain:
        yield "uncertain: at the time that the query names, the page may already have changed or gone"
    if hit.more:
        same = "nearly the same" if hit.near == hit.more else "the same or nearly the same" if hit.near else "the same"
        representative = f", represented by {hit.standing}" if hit.standing else ""
        yield f"and {counted(hit.more, 'more address')} with {same} text{representative}"
    if explain:
        parts = "  ".join(f"{part.name} {part.value:.2f} x {part.weight:g}" for part in hit.parts)
        yield f"score {hit.score:.3f} = {parts}"
