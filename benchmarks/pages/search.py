"""Search beside plain FTS5 and Tantivy: the rank of the known page, and the speed.

    python -m benchmarks.pages.search [known] [speed] [--json]

The real pages are read from WINDROW_SHARED/data/extraction where that is there. WINDROW_DOCUMENTS is how
many documents the speed is measured on (100,000).
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison import Comparison, Comparisons, show
from benchmarks.daemon import Missing
from benchmarks.pages.corpus import NOW, Vocabulary, documents
from benchmarks.pages.filler import Filler
from benchmarks.pages.labelled import HOSTS, Known, mixed
from benchmarks.pages.peer import Fts5, Tantivy
from benchmarks.shared import shared
from windrow.collections.pages.adapter.search import Search
from windrow.collections.pages.adapter.search_index import index_pages
from windrow.collections.pages.database.fulltext_table import fill
from windrow.collections.pages.search.index_query import FIELDS, VERSION
from windrow.stores.index.fulltext_index import FullTextIndex

DOCUMENTS = int(os.environ.get("WINDROW_DOCUMENTS", "100000"))
ROUNDS = 5


def known(hosts: int = HOSTS) -> Iterator[Comparison]:
    """Compare the mean reciprocal rank at ten of known pages, by kind of query."""
    try:
        labelled = mixed(shared("extraction"), hosts)
    except Missing:
        labelled = mixed(None, hosts)
    with tempfile.TemporaryDirectory() as temporary:
        path, folder = Path(temporary) / "summary.sqlite", Path(temporary) / "index"
        with closing(Filler(path)) as filler:
            filler.add(labelled.pages)
        index_pages(path, folder)
        peer, ours = Fts5(path), Search(path, folder)
        ranks = {
            "ours": _ranks(labelled.queries, lambda text: [page.url for page in ours(text, now=NOW).results]),
            "either": _ranks(labelled.queries, lambda text: peer.urls(text, either=True)),
            "plain": _ranks(labelled.queries, lambda text: peer.urls(text, either=False)),
        }
        for kind, numbers in ranks["ours"].items():
            for name, words in (("either", "FTS5 bm25, any word where none has all"), ("plain", "FTS5 bm25")):
                theirs = statistics.mean(ranks[name][kind])
                note = f"{len(numbers)} queries"
                work = f"search, known page by {kind}"
                mean = statistics.mean(numbers)
                yield Comparison(work, "MRR@10 x 1000", mean * 1000, words, theirs * 1000, 1.0, note=note)
        ours.close()
        peer.link.close()


def _ranks(queries: tuple[Known, ...], search: Callable[[str], list[str]]) -> dict[str, list[float]]:
    """Return the reciprocal rank of each query's page, by kind and over all."""
    ranks = defaultdict[str, list[float]](list)
    for query in queries:
        ids = search(f" {query.query} ")[:10]
        rank = 1 / (ids.index(query.url) + 1) if query.url in ids else 0.0
        ranks[query.kind].append(rank)
        ranks["all kinds"].append(rank)
    return ranks


class FilteredQuery(NamedTuple):
    """A query, and filters that only our search applies."""

    kind: str
    text: str
    filters: str = ""


def questions(seed: int = 5) -> list[FilteredQuery]:
    """Return 300 queries: common and rare words, two and three of them, phrases, beginnings; a third with filters."""
    vocabulary = Vocabulary(1)
    words, chance = vocabulary.words, random.Random(seed)
    queries = [FilteredQuery("common", words[rank]) for rank in range(50)]
    queries += [FilteredQuery("rare", chance.choice(words[5_000:40_000])) for _ in range(50)]
    queries += [FilteredQuery("two", f"{chance.choice(words[:200])} {chance.choice(words[:3_000])}") for _ in range(60)]
    queries += [FilteredQuery("three", " ".join(chance.sample(words[:300], 3))) for _ in range(50)]
    queries += [FilteredQuery("phrase", '"{} {}"'.format(*chance.sample(words[:600], 2))) for _ in range(50)]
    queries += [FilteredQuery("beginning", f"{chance.choice(words[:5_000])[:3]}*") for _ in range(40)]
    filters = ("lang:de", "site:site7.example", "before:2024", "after:2024-06 lang:en", "-lang:fr", "as-of:2022-06-01")
    return [
        page._replace(filters=chance.choice(filters)) if number % 3 == 0 else page
        for number, page in enumerate(queries)
    ]


def speed(count: int = DOCUMENTS, rounds: int = ROUNDS) -> Iterator[Comparison]:
    """Compare the median and the 99th percentile of milliseconds for a query, and the size of the indexes."""
    with tempfile.TemporaryDirectory() as temporary:
        path, folder = Path(temporary) / "summary.sqlite", Path(temporary) / "index"
        with closing(Filler(path)) as filler:
            filler.add(documents(count))
        fill(path, lambda *_: {}, version=VERSION)  # words are not counted: searches do not need them
        started = time.perf_counter()
        index_pages(path, folder)
        built = time.perf_counter() - started
        peer, ours = Fts5(path), Search(path, folder)
        sql = "SELECT text_pile_id, title, text FROM full_text_entity_index"
        tantivy = Tantivy(Path(temporary) / "tantivy", peer.link.execute(sql))
        asked = questions()
        searches: dict[str, Callable[[FilteredQuery], object]] = {
            "ours": lambda query: ours(f"{query.text} {query.filters}", now=NOW),
            "FTS5 bm25": lambda query: peer.ids(query.text),
            "Tantivy": lambda query: tantivy.ids(query.text),
        }
        taken: dict[str, list[list[float]]] = {name: [] for name in searches}
        for _ in range(rounds):
            for name, search in searches.items():
                taken[name].append(_times(search, asked))
        yield from _compared(taken, asked, count)
        size = FullTextIndex(folder, FIELDS, VERSION).size() / 1e6
        note = f"built in {built:.0f} s"
        yield Comparison("search, index", "MB", size, "FTS5", peer.size() / 1e6, 2.0, "less", note)
        yield Comparison("search, index", "MB", size, "Tantivy", tantivy.size() / 1e6, 1.0, "less", note)
        ours.close()
        peer.link.close()


def _times(search: Callable[[FilteredQuery], object], asked: list[FilteredQuery]) -> list[float]:
    """Return the milliseconds of each query."""
    times = []
    for query in asked:
        started = time.perf_counter()
        search(query)
        times.append((time.perf_counter() - started) * 1000)
    return times


def _compared(taken: dict[str, list[list[float]]], asked: list[FilteredQuery], count: int) -> Iterator[Comparison]:
    """Compare each query's median of all rounds, so that other work on the machine affects all alike."""
    usual = {name: [statistics.median(times) for times in zip(*rounds, strict=True)] for name, rounds in taken.items()}
    for share, goals in ((50, (0.0, 0.0)), (99, (10.0, 0.0))):  # the goal is for p99 beside FTS5; the others are shown
        rounds = [_at(times, share) for times in taken["ours"]]
        note = f"{count:,} documents; ours with filters, folding and snippets; single rounds {min(rounds):.1f} to "
        note += f"{max(rounds):.1f}"
        ours = _at(usual["ours"], share)
        for name, goal in zip(("FTS5 bm25", "Tantivy"), goals, strict=True):
            yield Comparison(f"search, p{share}", "ms", ours, name, _at(usual[name], share), goal, "less", note)
    for kind in dict.fromkeys(query.kind for query in asked):
        mine = [number for number, query in enumerate(asked) if query.kind == kind]
        median = {name: statistics.median(times[number] for number in mine) for name, times in usual.items()}
        yield Comparison(f"search, {kind}, p50", "ms", median["ours"], "FTS5 bm25", median["FTS5 bm25"], 0.0, "less")


def _at(times: list[float], share: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * share // 100)]


COMPARISONS: Comparisons = {"known": known, "speed": speed}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
