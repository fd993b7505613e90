"""One comparison: our figure beside a peer's, from one run on one machine."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.daemon import Missing


class Comparison(NamedTuple):
    """A figure of ours and of a peer; a ratio above 1 is better than the peer; `better` is `more` or `less`."""

    work: str
    unit: str
    ours: float
    peer: str
    theirs: float | None  # None: the peer is not on this machine
    goal: float | None  # None: only shown beside it
    better: str = "more"  # more | less
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Ours in proportion to the peer's, above 1 if ours is better; None if either was not run."""
        if not self.theirs or not self.ours:
            return None
        return self.ours / self.theirs if self.better == "more" else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None if there is no goal, or the peer was not run."""
        return None if self.ratio is None or self.goal is None else self.ratio >= self.goal

    def line(self) -> str:
        """Return the comparison as a line of text."""
        theirs = "not run" if self.theirs is None else f"{self.theirs:,.1f}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        verdict = {True: "met", False: "MISSED", None: "not run"}[self.met]
        text = f"{self.work}: {self.ours:,.1f} {self.unit}, {self.peer} {theirs}, "
        text += f"ratio {ratio}, " + ("no goal" if self.goal is None else f"goal {self.goal:g}: {verdict}")
        return f"{text} ({self.note})" if self.note else text

    def row(self) -> dict[str, object]:
        """Return the comparison as a JSON object."""
        fields = ("work", "unit", "ours", "peer", "theirs", "ratio", "goal", "met", "note")
        return {name: getattr(self, name) for name in fields}


Comparisons = Mapping[str, Callable[[], Iterator[Comparison]]]
"""The benchmarks of a module by name; each yields a comparison for each figure."""


def show(description: str, comparisons: Comparisons) -> None:
    """Run the comparisons named on the command line (all by default) and print a line each.

    Comparisons that need a program which is not installed are named on standard error; the others are run.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(comparisons)}; all by default")
    parser.add_argument("--json", action="store_true", help="an object a line")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in comparisons]:
        parser.error(f"no such comparison: {unknown[0]}; there are {', '.join(comparisons)}")
    run(comparisons, chosen.names, as_json=chosen.json)


def run(comparisons: Comparisons, names: Sequence[str] = (), *, as_json: bool) -> None:
    """Run comparisons and print a line each."""
    for name, make in comparisons.items():
        if names and name not in names:
            continue
        try:
            for comparison in make():
                print(json.dumps(comparison.row()) if as_json else comparison.line(), flush=True)
        except Missing as missing:
            print(f"{name}: not run: {missing}", file=sys.stderr, flush=True)


def median_of(rates: Sequence[float]) -> float:
    """Return the median of several runs, 0 if there are none."""
    return statistics.median(rates) if rates else 0.0


def spread(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return the least and the greatest rate of both sides' runs as text."""
    ranges = [
        f"{who} {min(runs):,.0f} to {max(runs):,.0f}" for who, runs in (("ours", ours), ("theirs", theirs)) if runs
    ]
    return ", ".join(ranges)
