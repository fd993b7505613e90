"""Whether what the collection `pages` keeps agrees with the ledger and with itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from windrow.collections.pages.adapter.crawler_books import check_crawler
from windrow.collections.pages.adapter.indexing import SPELLING, behind
from windrow.collections.pages.adapter.open_summary import there
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.fulltext_table import recount
from windrow.collections.pages.database.sound import faults, reached
from windrow.collections.pages.reading import Pile
from windrow.collections.pages.settings import pages_of
from windrow.config import Workspace
from windrow.engine.check import Fault
from windrow.engine.ledger import Ledger
from windrow.query.word import counted

AGAIN = "remove the Summary Database and its index; then: windrow run --from summarise"
INDEX = "windrow run pages --from index"


def check(workspace: Workspace, ledger: Ledger) -> Iterator[Fault]:
    """Look through the Summary Database, count its words again, and compare the crawler's books with the ledger."""
    told = pages_of(workspace.sections)
    for one in ledger.takedowns.open():
        if one.collection == COLLECTION.name:
            yield Fault(one.target, "is being taken down, and that was cut short", "windrow forget finishes it")
    with there(workspace) as engine:
        if engine is not None:
            told_of, last = reached(engine), ledger.attempts.last_visit()
            if told_of > last:
                yield Fault(told.summary.name, f"tells of visit {told_of}; the ledger ends with visit {last}", AGAIN)
            for found in faults(engine, _digest):
                yield Fault(told.summary.name, found, AGAIN)
            for line in _few(recount(engine, counted, SPELLING)):
                yield Fault(told.summary.name, line, INDEX)
            for line in behind(engine, told.index):
                yield Fault(str(told.index), line, INDEX)
    yield from check_crawler(told.crawler, ledger)


def _digest(fields: Sequence[str]) -> bytes:
    return Pile(*fields).digest()


def _few(lines: Iterable[str]) -> Iterator[str]:
    """Tell how many text piles there are of each fault, in place of a line for each."""
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    for line in lines:
        _, _, pile, what = line.split(" ", 3)
        kinds[what] += 1
        first.setdefault(what, pile)
    for what, count in kinds.items():
        yield f"text pile {first[what]} {what}" + (f", and {count - 1:,} others" if count > 1 else "")
