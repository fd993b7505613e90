"""One harvest of one site in a process of its own: `python -m benchmarks.gather FOLDER` reads FOLDER/site.json.

FOLDER/spent.json then tells the seconds, by the clock, that the listing and the ledger's transactions took.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any


def write(site: object, into: Path) -> list[str]:
    """Write the site's description to disk and return the command that harvests it."""
    (into / "site.json").write_text(json.dumps(asdict(site)))  # type: ignore[call-overload]
    return [sys.executable, "-m", "benchmarks.gather", str(into)]


def count_captures(into: Path) -> tuple[int, int]:
    """Return the number and bytes of a finished harvest's captures, by its ledger."""
    with closing(sqlite3.connect(into / "ledger.sqlite")) as ledger, ledger:
        count, size = ledger.execute(
            "SELECT count(*), sum(size) FROM attempt WHERE warc <> '' AND reason IS NULL"
        ).fetchone()
    return int(count), int(size or 0)


def read_part_seconds(into: Path) -> dict[str, float]:
    """Return the seconds of a finished harvest's parts."""
    seconds: dict[str, float] = json.loads((into / "spent.json").read_text())
    return seconds


class PartTimes:
    """Seconds by the clock in the listing and in the ledger; a listing's writes count as the ledger's."""

    def __init__(self) -> None:
        """Start at zero."""
        self.seconds = {"listing": 0.0, "ledger": 0.0}

    def watch(self, database: Any) -> None:
        """Time a ledger's transactions and the listing from now on."""
        from windrow.engine.listed import listing  # noqa: PLC0415

        inner_list, inner_transaction = listing.list_all, database.transaction

        def list_all(run: Any) -> set[str]:
            before, began = self.seconds["ledger"], time.perf_counter()
            down = inner_list(run)
            self.seconds["listing"] += time.perf_counter() - began - (self.seconds["ledger"] - before)
            return down

        def transaction() -> AbstractContextManager[None]:
            return self._counted(inner_transaction())

        listing.list_all = list_all
        database.transaction = transaction

    @contextmanager
    def _counted(self, transaction: AbstractContextManager[None]) -> Iterator[None]:
        began = time.perf_counter()
        try:
            with transaction:
                yield
        finally:
            self.seconds["ledger"] += time.perf_counter() - began


def main() -> int:
    """Harvest with the settings that a new workspace has."""
    from windrow.engine.runtime import warm_up  # noqa: PLC0415 the other functions are for who starts this

    into = Path(sys.argv[1])
    description = json.loads((into / "site.json").read_text())
    warm_up([description["scheme"]])  # as windrow.collections.drops.adapter.harvest does before it opens the databases

    from benchmarks.collection import EMPTY  # noqa: PLC0415
    from windrow.engine.run import Harvest, SessionSettings  # noqa: PLC0415
    from windrow.engine.session import Session  # noqa: PLC0415
    from windrow.model import Allowed, Limits, Secret, Site, Source  # noqa: PLC0415

    for name in ("secret", "key"):
        description[name] = Secret(**description[name]) if description[name] else None
    site = Site(**description | {"host_keys": tuple(description["host_keys"]), "allowed": Allowed(everything=True)})
    session = Session(SessionSettings(into / "ledger.sqlite", into / "archive", Limits()), "benchmark")
    parts = PartTimes()
    parts.watch(session.ledger.database)
    session.run_harvest(Harvest(EMPTY, (Source("partner", "empty", site),)))
    code = session.close()
    session.ledger.close()
    (into / "spent.json").write_text(json.dumps(parts.seconds))
    return code


if __name__ == "__main__":
    sys.exit(main())
