"""All benchmarks in turn: `python -m benchmarks [--json]`; `--json` is an object a line."""

from __future__ import annotations

from benchmarks import drops, engine
from benchmarks.comparison import show

if __name__ == "__main__":
    show(__doc__ or "", engine.COMPARISONS | drops.COMPARISONS)
