"""Explain what a source's rules decide about captures and index lines of an address, for `windrow why`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive.indexed import last_legend, read_blocks
from windrow.contract import Collection
from windrow.digest import hash64
from windrow.engine.captures.foreign_records import BlockJob
from windrow.engine.captures.piped_indexes import piped_folder
from windrow.engine.captures.rules import ExplainedCapture, LeftOutLines, explain_captures
from windrow.engine.captures.warc_names import CDX_NAMES, files_below
from windrow.formats.cdx import Layout, parse_line, surt
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.ledger.captures import PARTIAL_BODY
from windrow.ledger.typed.captures import RuleRow
from windrow.model import CdxLine, Limits, Source
from windrow.reasons import Reason

_MAX_LINES = 20  # the maximum number of lines of an address that are explained


class IndexedCapture(NamedTuple):
    """A line of an index. `left_out` has the rule that leaves it out, or is None if the source wants the line."""

    file: Path
    line: CdxLine
    left_out: LeftOutLines | None


def explain_all(
    ledger: Ledger, collection: Collection, source: Source, options: Mapping[str, Any], *, url: str, archive: Path
) -> list[ExplainedCapture | IndexedCapture]:
    """Return what a source's rules now decide about captures and index lines of a normalised address.

    They are run on the captures of this ledger from the source's inputs and, as in a run, on the first _MAX_LINES lines
    about the address in its indexes. `archive` has those that were piped into earlier runs. Indexes are read
    until these lines are found, at about a gigabyte a second. Raises ArchiveError if an index cannot be read.
    """
    explained: list[ExplainedCapture | IndexedCapture] = [
        *explain_captures(ledger, collection, source, options, hash64(url))
    ]
    if (captures := collection.captures) is None or not (cdx_paths := captures.inputs(source).cdx):
        return explained
    paths = (*cdx_paths, piped_folder(archive, source.name))
    lines = ((path, *line) for path in _index_files(paths) for line in _lines_of(path, url))
    for path, line, text, layout in islice(lines, _MAX_LINES):
        chosen = BlockJob(captures, source, options, text, layout).run(Limits())
        explained.append(IndexedCapture(path, line, next(iter(chosen.left_out), None)))
    return explained


def unindexed_rules(ledger: Ledger, collection: Collection, source: Source) -> list[RuleRow]:
    """Count the left-out records of a source's WARC files by reason and rule.

    Records that are not captures are not counted. Return [] if the source has indexes, or no WARC files.
    """
    inputs = collection.captures.inputs(source) if collection.captures else None
    if inputs is None or inputs.cdx or not inputs.warc:
        return []
    rules: dict[tuple[Reason, str], RuleRow] = {}
    for index in ledger.captures.indexes(collection.name, source.name):
        for row in ledger.captures.left_out(index.id) if index.name not in inputs.kept else ():
            if (row.reason is Reason.NOT_WANTED and not row.url) or row.rule == PARTIAL_BODY:
                continue  # records that are not captures, such as requests, or that were taken
            earlier = rules.get((row.reason, row.rule))
            lines = row.lines + (earlier.lines if earlier else 0)
            rules[row.reason, row.rule] = (earlier or row)._replace(lines=lines)
    return [*rules.values()]


def _index_files(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from files_below(path, CDX_NAMES)
        elif path.is_file():
            yield path


def _lines_of(path: Path, url: str) -> Iterator[tuple[CdxLine, bytes, Layout | None]]:
    """Yield the lines about a normalised address, each with its text and the layout that its file declares."""
    surt_key = surt(url).encode("utf-8", "replace")
    host_key = surt_key[: surt_key.find(b")") + 1]  # paths may be spelled in several ways
    for block in read_blocks(path):
        if host_key not in block.content:
            continue
        legend = block.legend
        for raw_line in block.content.split(b"\n"):
            if host_key in raw_line:
                line = parse_line(raw_line, legend)
                if isinstance(line, CdxLine) and normalise(line.url).url == url:
                    yield line, raw_line, legend
            else:
                legend = last_legend([raw_line], legend)
