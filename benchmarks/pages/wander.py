"""One crawl in a process of its own: `python -m benchmarks.pages.wander FOLDER` reads FOLDER/order.json."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path


def write(seeds: Sequence[str], into: Path) -> list[str]:
    """Write the seeds to disk, a site for each, and return the command that crawls them."""
    (into / "order.json").write_text(json.dumps({"seeds": list(seeds)}))
    return [sys.executable, "-m", "benchmarks.pages.wander", str(into)]


def kept(into: Path) -> tuple[int, int]:
    """Return the number of stored pages on the ledger, and of their addresses."""
    with closing(sqlite3.connect(into / "ledger.sqlite")) as ledger, ledger:
        rows = ledger.execute(
            "SELECT count(*), count(DISTINCT address) FROM attempt WHERE kind = 0 AND status = 200 AND warc <> ''"
        ).fetchone()
    return int(rows[0]), int(rows[1])


def main() -> int:
    """Crawl with the settings that a new workspace has, but without delay."""
    from windrow.engine.runtime import warm_up  # noqa: PLC0415 the other functions are for who starts this

    into = Path(sys.argv[1])
    warm_up(modules=["benchmarks.pages.walked"])  # as the session itself does, but sooner

    from benchmarks.pages.walked import WALKED, source  # noqa: PLC0415
    from windrow.engine.run import Harvest, SessionSettings  # noqa: PLC0415
    from windrow.engine.session import Session  # noqa: PLC0415
    from windrow.model import Limits  # noqa: PLC0415

    sources = tuple(map(source, json.loads((into / "order.json").read_text())["seeds"]))
    session = Session(SessionSettings(into / "ledger.sqlite", into / "archive", Limits()), "benchmark")
    session.run_harvest(Harvest(WALKED, sources))
    code = session.close()
    session.ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
