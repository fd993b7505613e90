"""Benchmarks of the web view: `python -m benchmarks.web_view [NAME ...] [--json]`.

WINDROW_DOCUMENTS is how many pages, events and articles the workspace has (100,000), and ten times as many as zips and
papers. WINDROW_WORKSPACE_FOLDER names a folder in which the workspace is made once, and kept. WINDROW_PAIRS is how many
pairs of runs are compared (7), each of WINDROW_ZIPS zips (150).
"""

from __future__ import annotations

from benchmarks.comparison import Comparisons, show
from benchmarks.web_view.lasting import memory, runs
from benchmarks.web_view.measured import beside, pages

COMPARISONS: Comparisons = {"pages": pages, "beside": beside, "memory": memory, "runs": runs}

if __name__ == "__main__":
    show(__doc__ or "", COMPARISONS)
