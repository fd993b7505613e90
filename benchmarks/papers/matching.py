"""Papers matched with a catalogue of a million works."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.comparison import Comparison
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.matching import ACCEPTED, STUBS, match_paper, matched_slug, read_paper

WORKS, PAPERS, GOAL = 1_000_000, 10_000, 2_000.0


def matching(works: int = WORKS, papers: int = PAPERS) -> Iterator[Comparison]:
    """Import the works, then match papers, half of which are among them."""
    chance = random.Random(2)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randrange(3, 11))) for _ in range(20_000)]

    def title(number: int) -> str:
        rng = random.Random(number)
        return " ".join(rng.choice(words) for _ in range(8)).capitalize()

    def work(number: int) -> bytes:
        names = [words[number % 20_000].title(), words[number * 7 % 20_000].title()]
        metadata = {"doi": f"10.5555/{number}", "title": title(number), "authors": names, "year": 1990 + number % 30}
        return json.dumps(metadata).encode()

    def seen(number: int) -> dict[str, object]:
        name = f"A. {words[number % 20_000]}"
        return {"title": title(number), "authors": [{"name": name}], "date": str(1990 + number % 30)}

    sample = [seen(chance.randrange(2 * works)) for _ in range(papers)]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(CatalogueIndex(Path(folder) / "catalogue.db", stubs=STUBS)) as index,
    ):
        began = time.perf_counter()
        taken = index.import_file("works", "", (work(number) for number in range(works)))
        assert taken is not None
        assert taken.works == works, taken
        note = f"{works / (time.perf_counter() - began):,.0f} works/s taken in"
        accepted, began = 0, time.perf_counter()
        for metadata in sample:
            paper = read_paper(metadata, matched_slug(str(metadata["title"]), STUBS))
            accepted += match_paper(paper, index.candidates(paper)).status in ACCEPTED
        rate = papers / (time.perf_counter() - began)
    note += f", {accepted:,} of {papers:,} papers matched"
    yield Comparison(f"papers matched at {works:,} works", "papers/s", rate, "the goal", GOAL, 1.0, note=note)
