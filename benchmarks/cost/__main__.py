"""Compare what windrow's work costs with its pins: `python -m benchmarks.cost [--write]`; `--write` sets new pins."""

from __future__ import annotations

import argparse
import sys

from benchmarks.cost.measured import ROOMS
from benchmarks.cost.pins import PYTHON, START, differences, faults, measure, pinned, write


def main() -> int:
    """Measure and compare, or write the pins; return 1 if a figure differs from its pin or cannot be compared here."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--write", action="store_true", help="pin what it costs now")
    chosen = parser.parse_args()
    if differing := differences(sqlite=not chosen.write):
        print(
            f"the pins are those of Python {PYTHON} with the versions of requirements/dev.txt; here "
            f"{', '.join(differing)}: make an environment of them (make .venv/dev.stamp)",
            file=sys.stderr,
        )
        return 1
    before = pinned()
    if chosen.write:
        write()
    wrong = []
    for room in (*ROOMS, START):
        figures = measure(room) if not chosen.write else pinned()[room]
        for name, figure in figures.items():
            print(f"{name}: {before.get(room, {}).get(name, 0):,} -> {figure:,}")
        wrong += list(faults(figures, before.get(room, {})))
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong) and not chosen.write


if __name__ == "__main__":
    sys.exit(main())
