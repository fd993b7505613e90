"""The adapter: the ready one for records, and what papers can besides, from their table."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from windrow.adapters.adapter import (
    DocumentFinding,
    Explanation,
    FetchedBytes,
    Message,
    RecordPreview,
    ReplayResult,
    TrialPart,
)
from windrow.adapters.records import RecordAdapter
from windrow.collections.papers.adapter import rows
from windrow.collections.papers.adapter.exports import exports
from windrow.collections.papers.adapter.rows import Places, bring_up_to_date, opened, places
from windrow.collections.papers.collection import COLLECTION
from windrow.collections.papers.columns import decoded
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.finding import named, row_key
from windrow.config import Workspace
from windrow.contract import Ask, Observation, Skip, Task
from windrow.digest import digest
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest
from windrow.engine.session import SessionSettings
from windrow.engine.takedown import TakedownTarget
from windrow.errors import StepError
from windrow.ledger import Ledger
from windrow.model import CdxLine, Item, Level, Limits
from windrow.reasons import Reason
from windrow.stores.records import RecordStore

_CLAIMS = 20


class PaperAdapter(RecordAdapter):
    """Joins papers with a workspace."""

    def __init__(self) -> None:
        """Add what is made of the table to what is made of records."""
        super().__init__(COLLECTION)
        self.EXPORTS = exports(self._places, self._export)

    def _places(self, workspace: Workspace) -> Places:
        roots = {Path(one) for source in workspace.of(COLLECTION.name) for one in source.options.get("warc", ())}
        told = self._options(workspace)
        return places(workspace, self._path(workspace), told, tuple(sorted(roots)))

    def _open_store(self, path: Path) -> RecordStore:
        return PaperStore(path)

    def require_ready(self, workspace: Workspace) -> None:
        """Refuse settings of the table that make no sense, too."""
        super().require_ready(workspace)
        self._places(workspace)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Add what writes the rows."""
        where = self._places(workspace)
        return replace(super().harvest(workspace), derivations={"match": lambda pulse: bring_up_to_date(where, pulse)})

    def _unasked(self, workspace: Workspace) -> Callable[[Sequence[str]], Mapping[str, Reason]] | None:
        where = self._places(workspace)
        if where.force:
            return None
        return lambda keys: dict.fromkeys(rows.extracted_by_others(where, keys), Reason.ALREADY_EXTRACTED)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records, then the rows."""
        told = super().replay(workspace, setup, progress)
        if told is not None:
            bring_up_to_date(self._places(workspace), lambda: True)
        return told

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Compare the rows with the records, too."""
        yield from super().check(workspace, ledger)
        where = self._places(workspace)
        if not where.store.is_file():
            return
        with ExitStack() as stack:
            store = stack.enter_context(closing(PaperStore(where.store)))
            if waiting := store.waiting_rows():
                yield Fault(where.table, f"the rows of {waiting} papers are not written yet", "windrow run papers")
                return
            table = stack.enter_context(opened(where))
            wanted = (row_key(named(key), where.form) for key in store.papers())
            missing = sum(1 for _ in _missing(wanted, (key for key, _ in table.scan(["file:meta"]))))
            if missing:
                yield Fault(where.table, f"{missing} papers have no row", "windrow replay")

    def explain(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell the story of a paper by its digest, however that is spelled: its row, and failed lines with it."""
        found = super().explain(workspace, ledger, _key(what))
        where = self._places(workspace)
        if not named(what):
            return found
        if found is not None and where.store.is_file():
            found = _with_row(found, where, what)
        claims = list(_failed_claims(ledger, named(what)))
        if claims and found is None:
            found = Explanation(_key(what), (), (f"{_key(what)}: no record with these bytes is in papers",))
        if found is None or not claims:
            return found
        messages = [Message("failed_capture", one) for one in claims]
        return found._replace(lines=(*found.lines, *map(_claim_line, claims)), messages=(*found.messages, *messages))

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Read one file, or ask for one address, as a run would; GROBID is not asked."""
        path = Path(address)
        if not path.is_file():
            yield from super().try_address(workspace, address)
            return
        content = path.read_bytes()
        yield FetchedBytes(address, path.name, len(content), digest(content), 0.0)
        options = self._spelled_options(workspace) | {"grobid": ""}
        task = Task(Item(0, "papers", "visit", address), cast(Any, io.BytesIO(content)), Limits(), {}, options)
        try:
            made = self._step.run(task)
        except StepError as error:
            made = [Skip(error.reason, "", str(error))]
        for one in made:
            if isinstance(one, Observation):
                yield RecordPreview(address, "papers", one.key, "papers", one.value or {})
            elif not isinstance(one, Ask):
                yield DocumentFinding(address, "extract", Level.WARN, str(one.reason), one.message)

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield what is meant by a paper's digest too, however that is spelled."""
        return super().takedown_targets(workspace, ledger, _key(name))

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Leave nothing of what was removed in the rows, nor in the records' file."""
        where = self._places(workspace)

        def go_on() -> bool:
            pulse()
            return True

        if where.store.is_file():
            bring_up_to_date(where, go_on)
            rows.scour(where, pulse)
        return super().clean_stores(workspace, pulse)


def _key(name: str) -> str:
    """Return the key of a record that a person means; what is no digest is what it was."""
    return f"sha1:{digest_}" if (digest_ := named(name)) else name


def _with_row(found: Explanation, where: Places, what: str) -> Explanation:
    with opened(where) as table:
        cells = decoded(table.get(row_key(named(what), where.form)))
    lines = list(_passing(where, _key(what)))
    lines += [f"  row of {where.name}:"] + [f"      {name}: {_shown(cells[name])}" for name in sorted(cells)]
    said = {name: value for name, value in cells.items() if not isinstance(value, bytes)}
    return found._replace(lines=(*found.lines, *lines), messages=(*found.messages, Message("row", said)))


class FailedCapture(NamedTuple):
    """A line of an index whose record could not be had, and that claims a `digest`, or whose bytes have it."""

    url: str
    digest: str
    warc: str
    offset: int | None
    reason: str
    message: str


def _failed_claims(ledger: Ledger, digest: str) -> Iterator[FailedCapture]:
    """Yield the failed lines that speak of a digest; a line whose address only has it in it does not."""
    for one in ledger.captures.failed_of_digest(COLLECTION.name, digest, _CLAIMS):
        line = CdxLine(*json.loads(one.line))
        if named(line.digest) == digest or digest in one.message:
            yield FailedCapture(line.url, line.digest, line.warc, line.offset, str(one.reason), one.message)


def _claim_line(one: FailedCapture) -> str:
    place = f"{one.warc} at {one.offset}, with the digest {one.digest or '-'}"
    return f"  an index line for {one.url} names {place}: {one.reason}: {one.message}"


def _passing(where: Places, key: str) -> Iterator[str]:
    """Say what GROBID answered that tells of its server, and is not stored in the row."""
    with closing(PaperStore(where.store, read_only=True)) as store:
        one = store.paper(key)
    said = (one.value.get("grobid") or {}) if one else {}
    if said.get("passing"):
        told = f"{said['status'].get('reason', '')} {said['status'].get('description', '')[:200]}".strip()
        yield f"  GROBID's last answer tells of its server, and is not stored: status {said['status_code']}, {told}"


def _missing(wanted: Iterable[bytes], there: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what is wanted and not there; both rows are in the order of keys, but for forms that sort otherwise."""
    found = set(there)
    return (key for key in wanted if key not in found)


def _shown(value: Any) -> str:
    text = f"{len(value)} bytes" if isinstance(value, bytes) else " ".join(str(value).split())
    return text if len(text) <= 160 else f"{text[:160]}..."


ADAPTER = PaperAdapter()
