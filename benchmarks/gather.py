"""One harvest of one site in a process of its own: `python -m benchmarks.gather FOLDER` reads FOLDER/site.json."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path


def write(site: object, into: Path) -> list[str]:
    """Put the order on disk and return the command that carries it out."""
    (into / "site.json").write_text(json.dumps(asdict(site)))  # type: ignore[call-overload]
    return [sys.executable, "-m", "benchmarks.gather", str(into)]


def kept(into: Path) -> tuple[int, int]:
    """Return how many captures the ledger has of a finished harvest, and their bytes."""
    with sqlite3.connect(into / "ledger.sqlite") as ledger:
        count, size = ledger.execute(
            "SELECT count(*), sum(size) FROM attempt WHERE warc <> '' AND reason IS NULL"
        ).fetchone()
    return int(count), int(size or 0)


def main() -> int:
    """Harvest with the settings that a new workspace has."""
    from windrow.engine.runtime import warm_up  # noqa: PLC0415 the other functions are for who starts this

    into = Path(sys.argv[1])
    said = json.loads((into / "site.json").read_text())
    warm_up([said["scheme"]])  # as windrow.collections.drops.adapter.harvest does before it opens the databases

    from benchmarks.collection import EMPTY  # noqa: PLC0415
    from windrow.engine.run import Harvest  # noqa: PLC0415
    from windrow.engine.session import Session, SessionSettings  # noqa: PLC0415
    from windrow.model import Limits, Secret, Site, Source  # noqa: PLC0415

    for name in ("secret", "key"):
        said[name] = Secret(**said[name]) if said[name] else None
    site = Site(**said | {"host_keys": tuple(said["host_keys"])})
    session = Session(SessionSettings(into / "ledger.sqlite", into / "archive", Limits()), "benchmark")
    session.harvest(Harvest(EMPTY, (Source("partner", "empty", site),)))
    code = session.close()
    session.ledger.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
