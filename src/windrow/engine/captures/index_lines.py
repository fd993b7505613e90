"""Find the lines of an address in the indexes of a source, and run its rules on them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive.indexed import read_blocks
from windrow.contract import Collection
from windrow.digest import hash64
from windrow.engine.captures.foreign_captures import CDX_NAMES, files_below
from windrow.engine.captures.rules import ExplainedCapture, LeftOutLines, SelectJob, explain_captures, select_lines
from windrow.formats.cdx import parse_line, surt
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.model import CdxLine, Source

_MAX_LINES = 20  # lines of an address that are explained


class IndexedCapture(NamedTuple):
    """A line of an index, and the rule that leaves it out, or None if the source wants it."""

    file: Path
    line: CdxLine
    left_out: LeftOutLines | None


def explain_all(
    ledger: Ledger, collection: Collection, source: Source, options: Mapping[str, Any], *, url: str, piped: Path
) -> list[ExplainedCapture | IndexedCapture]:
    """Return what the rules of a source say of each capture of an address in other collections and in its indexes."""
    captures = explain_captures(ledger, collection, source, options, hash64(url))
    return [*captures, *explain_index_lines(collection, source, options, url, piped)]


def explain_index_lines(
    collection: Collection, source: Source, options: Mapping[str, Any], url: str, piped: Path
) -> list[IndexedCapture]:
    """Return the lines of a normalised address in the indexes of a source, with the results of its rules, at most 20.

    `piped` is the folder of indexes that were piped into earlier runs. All indexes are read, which takes about a second
    for a gigabyte. Raises ArchiveError if one cannot be read.
    """
    if (captures := collection.captures) is None or not (places := captures.inputs(source).cdx):
        return []
    explained: list[IndexedCapture] = []
    for path in _index_files((*places, piped)):
        for line in _lines_of(path, url):
            selection = select_lines(SelectJob(captures, source, options, (line,)))
            explained.append(IndexedCapture(path, line, next(iter(selection.left_out), None)))
            if len(explained) == _MAX_LINES:
                return explained
    return explained


def _index_files(places: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the index files among paths and in folders."""
    for place in places:
        if place.is_dir():
            yield from files_below(place, CDX_NAMES)
        elif place.is_file():
            yield place


def _lines_of(path: Path, url: str) -> Iterator[CdxLine]:
    """Yield the lines of an index whose address normalises to `url`."""
    key = surt(url).encode("utf-8", "replace")
    start = key[: key.find(b")") + 1]  # the host: paths may be spelled in several ways
    for block in read_blocks(path):
        if start not in block.content:
            continue
        for raw_line in block.content.split(b"\n"):
            if start in raw_line:
                line = parse_line(raw_line, block.legend)
                if isinstance(line, CdxLine) and normalise(line.url).url == url:
                    yield line
