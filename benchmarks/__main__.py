"""All benchmarks in turn: `python -m benchmarks [NAME ...] [--json]`; `--json` is an object a line.

A comparison of a collection is named with its collection: `"news speed"` is `speed` of `python -m benchmarks.news`.
"""

from __future__ import annotations

from benchmarks import drops, engine
from benchmarks.comparison import Comparisons, show
from benchmarks.events import __main__ as events
from benchmarks.news import __main__ as news
from benchmarks.pages import __main__ as pages
from benchmarks.papers import __main__ as papers
from benchmarks.web_view import __main__ as web_view

_COLLECTIONS = {"events": events, "news": news, "pages": pages, "papers": papers, "web view": web_view}

COMPARISONS: Comparisons = {
    **engine.COMPARISONS,
    **drops.COMPARISONS,
    **{f"{room} {name}": run for room, module in _COLLECTIONS.items() for name, run in module.COMPARISONS.items()},
}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
