"""Judging many documents at once does what judging each alone does."""

from __future__ import annotations

import random
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from tests.collections.drops.database.store_queries import history_of, stage
from tests.collections.drops.sample import at, load, mouse, specimens, submission
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import SUMMARY_COUNTS, TABLES
from windrow.reasons import Reason


class Document(NamedTuple):
    """A document that is withheld if it refers to something unknown."""

    item: int
    content: bytes
    action: str
    sort_key: str
    asks: Mapping[str, AbstractSet[str]]

    def decide(self, known: Mapping[str, AbstractSet[str]]) -> Reason | None:
        lacking = any(known[question] != keys for question, keys in self.asks.items())
        return Reason.INTEGRITY_FATAL if lacking else None


def documents(rng: random.Random, count: int) -> list[Document]:
    """Make documents, most of them new; the others share records, bytes or references with earlier ones."""
    documents_made = []
    for item in range(1, count + 1):
        odd = rng.random() < 0.5
        names = [f"s{rng.randrange(6)}" if odd else f"new{item}", *([f"s{rng.randrange(6)}"] if odd else [])]
        content = specimens(*(mouse(name, colony=f"c{rng.randrange(2)}") for name in names))
        action = rng.choice(["add", "add", "add", "edit", "delete"]) if odd else "add"
        question = rng.choice(["specimen", "specimen:current"])
        asks = {question: {f"H_{rng.choice(['s1', 's2', f'new{item - 1}'])}"}} if rng.random() < 0.4 else {}
        documents_made.append(Document(item, content, action, str(rng.randrange(3)), asks))
    return documents_made


def test_many_documents_judged_at_once_end_as_each_alone_would(store: TableStore, tmp_path: Path) -> None:
    rng = random.Random(73)
    batch = documents(rng, 48)
    staged = [
        (
            submission(document.item, document.content, document.action, sort_key=document.sort_key),
            load(document.content),
        )
        for document in batch
    ]
    with TableStore(f"sqlite:///{tmp_path}/alone.db", TABLES, SUMMARY_COUNTS) as alone:
        alone.prepare()
        ids = [stage(alone, *document) for document in staged]
        assert store.stage_all(staged[:5]) + store.stage_all(staged)[5:] == ids
        judged, place = [], 0
        while place < len(batch):
            size = rng.randrange(1, 20)
            judged += store.judge(batch[place : place + size], at(2))
            place += size
        assert judged == [alone.judge([document], at(2))[0] for document in batch]
        assert any(published is None for published in judged)
        assert any(published and published.findings for published in judged)
        for number in [f"new{item}" for item in range(1, 49)] + [f"s{item}" for item in range(6)]:
            assert sorted(history_of(store, "specimen", f"H_{number}")) == sorted(
                history_of(alone, "specimen", f"H_{number}")
            )
        assert store.judge(batch, at(3)) == [
            alone.judge([document], at(3))[0] for document in batch
        ]  # once more changes nothing
        assert store.summarise(at(4)) == alone.summarise(at(4))
