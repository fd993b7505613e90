"""Hand addresses over between the parts of a divided crawl, as files in a folder that the parts share.

A part leaves one file for each other part: `2-to-5.jsonl` has the pages that part 2 found on hosts of part 5. Each line
is a JSON object with the fields of `HandedPage`. A file is written as a whole after each crawl, so any program may copy
it to another machine at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from windrow.contract import Crawl
from windrow.digest import hash64
from windrow.engine.crawl.source_tally import SourceTally
from windrow.engine.run import HarvestRun
from windrow.formats.url import parts
from windrow.host_part import HostPart
from windrow.ledger import LedgerWriter
from windrow.model import FoundUrl, Source
from windrow.private_files import write_whole
from windrow.reasons import Reason

UNREADABLE_RULE = "lines in files of other parts that are not pages of this part"
"""The rule under which lines are counted that are not valid."""

UNKNOWN_SOURCE_RULE = "pages from other parts of a source that this workspace has not crawled"
"""The rule under which pages are counted whose source is not crawled now and never was."""


_MAX_LINE_CHARACTERS = 1 << 14
"""The number of characters after which a line is cut; an address has at most 2,048."""


class HandedPage(NamedTuple):
    """A page of another part: the source that found it, its address, its kind and its order number (`FoundUrl`)."""

    source: str
    url: str
    kind: int
    order: int


class PartExchange:
    """What the crawl of one part leaves to the other parts, and takes from them."""

    def __init__(self, run: HarvestRun, crawl: Crawl, sources: Mapping[str, Source]) -> None:
        """Prepare the exchange for the sources that are crawled, by name. All have the same part."""
        self._run = run
        self._crawl = crawl
        self._sources = sources
        self._part = next(iter(sources.values())).part
        self._folder = run.settings.part_folder

    def release_hosts(self, writer: LedgerWriter) -> None:
        """Leave hosts that this workspace requested before the crawl was divided to their parts, except assets."""
        for host in self._run.ledger.addresses.hosts_crawled(self._run.collection.name):
            if host.source in self._sources and not self._part.has_origin(host.origin):
                writer.addresses.release_host(host.seq, self._crawl.beside)

    def keep_own(self, writer: LedgerWriter, host: int, urls: Sequence[FoundUrl]) -> list[FoundUrl]:
        """Return those of a host's addresses that this part requests, and store the others as known only.

        An asset is requested by the part that has its page, whatever its host is.
        """
        own = []
        for url in urls:
            if url.kind == self._crawl.beside or self._part.has_origin(url.origin):
                own.append(url)
            else:
                writer.addresses.add_known(host, url)
        return own

    def handed_pages(self, tallies: Mapping[str, SourceTally]) -> Iterator[tuple[str, FoundUrl]]:
        """Yield the pages that other parts found on hosts of this part, each with its source; count other lines."""
        any_tally = next(iter(tallies.values()))
        crawled = {host.source for host in self._run.ledger.addresses.hosts(self._run.collection.name)}
        for place, line in _read_lines(self._folder, self._part.number):
            page = _read_line(line, self._part, self._crawl)
            if page is None:
                any_tally.left_out.add(Reason.BAD_ADDRESS, UNREADABLE_RULE, 1, place)
            elif page.source not in self._sources:
                if page.source in crawled:
                    continue  # only some of the sources are crawled now
                any_tally.left_out.add(Reason.SOURCE_INACTIVE, UNKNOWN_SOURCE_RULE, 1, page.url)
            else:
                digest, origin = hash64(page.url), parts(page.url).origin
                yield page.source, FoundUrl(digest, origin, page.url, page.order, page.kind)

    def hand_over(self, tallies: Mapping[str, SourceTally]) -> None:
        """Count the known pages of other parts as left out, and write the file for each part that has some of them.

        Lines of sources that are not crawled in this run stay in the files.
        """
        lines_by_part: dict[int, list[str]] = {}
        for host in self._run.ledger.addresses.hosts(self._run.collection.name):
            if host.source not in self._sources or self._part.has_origin(host.origin):
                continue
            if pages := self._run.ledger.addresses.known_only(host.seq):
                rule = self._part.describe(host.origin)
                tallies[host.source].left_out.add(Reason.OTHER_PART, rule, len(pages), pages[0].url)
                handed = (HandedPage(host.source, page.url, page.kind, page.place) for page in pages)
                lines = lines_by_part.setdefault(self._part.owner_of(host.origin), [])
                lines += (json.dumps(page._asdict()) + "\n" for page in handed)
        for owner, lines in lines_by_part.items():
            path = self._folder / f"{self._part.number}-to-{owner}.jsonl"
            write_whole(path, [*self._read_other_lines(path), *lines])

    def _read_other_lines(self, path: Path) -> Iterator[str]:
        """Yield the lines of a file of this part whose pages are of sources that are not crawled in this run."""
        if not path.exists():
            return
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                with suppress(KeyError, TypeError, ValueError):  # the file was damaged
                    if json.loads(line)["source"] not in self._sources:
                        yield line


def _read_lines(folder: Path, number: int) -> Iterator[tuple[str, str]]:
    """Yield the lines of the files for the part `number`, each with its place. A file that fails has an empty line."""
    for path in sorted(folder.glob(f"*-to-{number}.jsonl")):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines = iter(partial(file.readline, _MAX_LINE_CHARACTERS), "")
                yield from ((f"{path}:{line_number}", line) for line_number, line in enumerate(lines, 1))
        except OSError as error:
            yield f"{path}: {error.strerror}", ""


def _read_line(line: str, part: HostPart, crawl: Crawl) -> HandedPage | None:
    """Return the page that a line has, or None if it is not a page of `part`, spelled as `crawl` spells addresses."""
    try:
        page = HandedPage(**json.loads(line))
    except (TypeError, ValueError, RecursionError):
        return None
    is_typed = isinstance(page.source, str) and isinstance(page.url, str)
    is_typed = is_typed and type(page.kind) is type(page.order) is int
    return page if is_typed and crawl.normal(page.url) == page.url and part.has_origin(page.url) else None
