from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests import programs
from tests.collections.drops.database.store_queries import dump, publish, stage, withhold
from tests.collections.drops.sample import at, experiment, experiments, load, mouse, specimens, submission
from tests.waiting import until
from windrow.collections.drops.database.table_store import TableStore
from windrow.collections.drops.elements import SUMMARY_COUNTS, TABLES

FIRST = specimens(mouse("s1"), mouse("s2"))
SECOND = specimens(mouse("s1", colony="new"), mouse("s3"))


class StatementKilled(BaseException):
    pass


def killed_after(store: TableStore, count: int, call: Callable[[], Any]) -> bool:
    """Call a function, interrupted at its n-th statement; return whether it was."""
    left = count

    def stop(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StatementKilled

    sa.event.listen(store._engine, "before_cursor_execute", stop)
    try:
        call()
    except StatementKilled:
        return True
    finally:
        sa.event.remove(store._engine, "before_cursor_execute", stop)
    return False


def test_a_call_that_is_cut_off_anywhere_did_nothing(store: TableStore, store_url: str) -> None:
    content = experiments(experiment("e1", "s1"))
    calls: list[Callable[[], Any]] = [
        lambda: stage(store, submission(1, FIRST), load(FIRST)),
        lambda: publish(store, 1, at(1)),
        lambda: stage(store, submission(2, SECOND, "edit"), load(SECOND)),
        lambda: publish(store, 2, at(2)),
        lambda: withhold(store, 2, at(3)),
        lambda: stage(store, submission(3, content), load(content)),
        lambda: store.summarise(at(4)),
    ]
    for number, call in enumerate(calls):
        before = dump(store_url)
        count = 0
        while killed_after(store, count, call):
            assert dump(store_url) == before, (number, count)
            count += 2
        after = dump(store_url)
        assert after != before
        call()
        assert dump(store_url) == after, number


PROGRAM = """
import sys
from pathlib import Path
from tests.collections.drops.database.store_queries import publish, stage
from tests.collections.drops.sample import at, experiment, experiments, load, submission
from windrow.collections.drops.elements import TABLES
from windrow.collections.drops.elements import SUMMARY_COUNTS
from windrow.collections.drops.database.table_store import TableStore

with TableStore(sys.argv[1], TABLES, SUMMARY_COUNTS) as store:
    store.prepare()
    for item in range(1, 31):
        content = experiments(experiment(f"e{item % 7}", "s1", day=f"2024-02-{item % 27 + 1:02}"))
        stage(store, submission(item, content, "add" if item < 8 else "edit"), load(content))
        publish(store, item, at(item))
        store.summarise(at(item))
        Path(sys.argv[2]).touch()
"""


def test_killed_again_and_again_the_store_ends_the_same(tmp_path: Path) -> None:
    def run(url: str, seconds: float | None) -> bool:
        begun = tmp_path / "begun"
        begun.unlink(missing_ok=True)
        program = programs.start("-c", PROGRAM, url, begun)
        if seconds is not None:
            until(begun.exists)
            time.sleep(seconds)
            program.kill()
        return program.wait() == 0

    straight, broken = f"sqlite:///{tmp_path}/straight.db", f"sqlite:///{tmp_path}/broken.db"
    assert run(straight, None)
    for seconds in (0.01, 0.035, 0.08, 0.17):
        run(broken, seconds)
    assert run(broken, None)
    first, second = dump(straight), dump(broken)
    first.pop("overview")
    second.pop("overview")  # has the time of the count
    assert first == second


@pytest.mark.parametrize("count", [0, 3])
def test_an_unprepared_store_can_be_prepared_later(store_url: str, count: int) -> None:
    with TableStore(store_url, TABLES, SUMMARY_COUNTS) as store:
        assert killed_after(store, count, store.prepare)
        store.prepare()
        assert stage(store, submission(1, FIRST), load(FIRST)) == 1
