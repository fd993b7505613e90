"""Judging many documents at once does what judging each alone does."""

from __future__ import annotations

import random
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from tests.collections.drops.sample import at, load, mouse, specimens, submission
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import SUMMARY, TABLES
from windrow.reasons import Reason


class Document(NamedTuple):
    """One that is withheld where it asks for what is not known."""

    item: int
    content: bytes
    action: str
    sort_key: str
    asks: Mapping[str, AbstractSet[str]]

    def decide(self, known: Mapping[str, AbstractSet[str]]) -> Reason | None:
        lacking = any(known[question] != keys for question, keys in self.asks.items())
        return Reason.INTEGRITY_FATAL if lacking else None


def documents(dice: random.Random, count: int) -> list[Document]:
    """Make documents of which most are new; the others share records, bytes or questions with those before."""
    documents_made = []
    for item in range(1, count + 1):
        odd = dice.random() < 0.5
        names = [f"s{dice.randrange(6)}" if odd else f"new{item}", *([f"s{dice.randrange(6)}"] if odd else [])]
        content = specimens(*(mouse(name, colony=f"c{dice.randrange(2)}") for name in names))
        action = dice.choice(["add", "add", "add", "edit", "delete"]) if odd else "add"
        question = dice.choice(["specimen", "specimen:current"])
        asks = {question: {f"H_{dice.choice(['s1', 's2', f'new{item - 1}'])}"}} if dice.random() < 0.4 else {}
        documents_made.append(Document(item, content, action, str(dice.randrange(3)), asks))
    return documents_made


def test_many_documents_judged_at_once_end_as_each_alone_would(store: TableStore, tmp_path: Path) -> None:
    dice = random.Random(73)
    batch = documents(dice, 48)
    staged = [
        (
            submission(document.item, document.content, document.action, sort_key=document.sort_key),
            load(document.content),
        )
        for document in batch
    ]
    with TableStore(f"sqlite:///{tmp_path}/alone.db", TABLES, SUMMARY) as alone:
        alone.prepare()
        ids = [alone.stage(*document) for document in staged]
        assert store.stage_all(staged[:5]) + store.stage_all(staged)[5:] == ids
        judged, place = [], 0
        while place < len(batch):
            size = dice.randrange(1, 20)
            judged += store.judge(batch[place : place + size], at(2))
            place += size
        assert judged == [alone.judge([document], at(2))[0] for document in batch]
        assert any(published is None for published in judged)
        assert any(published and published.findings for published in judged)
        for number in [f"new{item}" for item in range(1, 49)] + [f"s{item}" for item in range(6)]:
            assert sorted(store.history("specimen", f"H_{number}")) == sorted(alone.history("specimen", f"H_{number}"))
        assert store.judge(batch, at(3)) == [
            alone.judge([document], at(3))[0] for document in batch
        ]  # once more changes nothing
        assert store.summarise(at(4)) == alone.summarise(at(4))
