"""The adapter of papers: that of records, with the table of rows."""

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
from windrow.collections.papers.adapter.exports import exports
from windrow.collections.papers.adapter.rows import (
    Places,
    bring_up_to_date,
    erase_deleted,
    extracted_by_others,
    open_rows,
    places,
)
from windrow.collections.papers.collection import COLLECTION
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.finding import parse_digest, row_key
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
        super().__init__(COLLECTION)
        self.EXPORTS = exports(self._places, self._export)

    def _places(self, workspace: Workspace) -> Places:
        roots = {Path(path) for source in workspace.of(COLLECTION.name) for path in source.options.get("warc", ())}
        options = self._options(workspace)
        return places(workspace, self._path(workspace), options, tuple(sorted(roots)))

    def _open_store(self, path: Path) -> RecordStore:
        return PaperStore(path)

    def require_ready(self, workspace: Workspace) -> None:
        """Check the settings, those of the table as well."""
        super().require_ready(workspace)
        self._places(workspace)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Add the step that writes the rows."""
        settings = self._places(workspace)
        return replace(
            super().harvest(workspace), derivations={"match": lambda pulse: bring_up_to_date(settings, pulse)}
        )

    def _unasked(self, workspace: Workspace) -> Callable[[Sequence[str]], Mapping[str, Reason]] | None:
        settings = self._places(workspace)
        if settings.force:
            return None
        return lambda keys: dict.fromkeys(extracted_by_others(settings, keys), Reason.ALREADY_EXTRACTED)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records, then the rows."""
        replayed = super().replay(workspace, setup, progress)
        if replayed is not None:
            bring_up_to_date(self._places(workspace), lambda: True)
        return replayed

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Check the records, and that every paper has a row."""
        yield from super().check(workspace, ledger)
        settings = self._places(workspace)
        if not settings.store.is_file():
            return
        with ExitStack() as stack:
            store = stack.enter_context(closing(PaperStore(settings.store)))
            if waiting := store.count_stale():
                yield Fault(settings.table, f"the rows of {waiting} papers are not written yet", "windrow run papers")
                return
            table = stack.enter_context(open_rows(settings))
            row_keys = (row_key(parse_digest(key), settings.form) for key in store.papers())
            missing = sum(1 for _ in _missing(row_keys, (key for key, _ in table.scan(["file:meta"]))))
            if missing:
                yield Fault(settings.table, f"{missing} papers have no row", "windrow replay")

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a paper by its digest in any spelling: with its row, and failed index lines with the digest."""
        explanation = super().explain(workspace, ledger, _key(name))
        settings = self._places(workspace)
        if not parse_digest(name):
            return explanation
        if explanation is not None and settings.store.is_file():
            explanation = _with_row(explanation, settings, name)
        claims = list(_failed_claims(ledger, parse_digest(name)))
        if claims and explanation is None:
            explanation = Explanation(_key(name), (), (f"{_key(name)}: no record with these bytes is in papers",))
        if explanation is None or not claims:
            return explanation
        messages = [Message("failed_capture", claim) for claim in claims]
        return explanation._replace(
            lines=(*explanation.lines, *map(_claim_line, claims)), messages=(*explanation.messages, *messages)
        )

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Read one file, or fetch one address, as a run would, but without GROBID."""
        path = Path(address)
        if not path.is_file():
            yield from super().try_address(workspace, address)
            return
        content = path.read_bytes()
        yield FetchedBytes(address, path.name, len(content), digest(content), 0.0)
        options = self._text_options(workspace) | {"grobid": ""}
        task = Task(Item(0, "papers", "attempt", address), cast(Any, io.BytesIO(content)), Limits(), {}, options)
        try:
            observations = self._step.run(task)
        except StepError as error:
            observations = [Skip(error.reason, "", str(error))]
        for observation in observations:
            if isinstance(observation, Observation):
                yield RecordPreview(address, "papers", observation.key, "papers", observation.value or {})
            elif not isinstance(observation, Ask):
                yield DocumentFinding(address, "extract", Level.WARN, str(observation.reason), observation.message)

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield the takedown targets of a name, which may also be a paper's digest in any spelling."""
        return super().takedown_targets(workspace, ledger, _key(name))

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Erase removed rows and records from the files of their stores."""
        settings = self._places(workspace)

        def go_on() -> bool:
            pulse()
            return True

        if settings.store.is_file():
            bring_up_to_date(settings, go_on)
            erase_deleted(settings, pulse)
        return super().clean_stores(workspace, pulse)


def _key(name: str) -> str:
    """Return the key of the record with this digest; the name itself if it is not a digest."""
    return f"sha1:{digest_}" if (digest_ := parse_digest(name)) else name


def _with_row(explanation: Explanation, settings: Places, name: str) -> Explanation:
    with open_rows(settings) as table:
        cells = decode_row(table.get(row_key(parse_digest(name), settings.form)))
    lines = list(_describe_transient_answer(settings, _key(name)))
    lines += [f"  row of {settings.name}:"] + [f"      {name}: {_shown(cells[name])}" for name in sorted(cells)]
    row = {name: content for name, content in cells.items() if not isinstance(content, bytes)}
    return explanation._replace(
        lines=(*explanation.lines, *lines), messages=(*explanation.messages, Message("row", row))
    )


class FailedCapture(NamedTuple):
    """An index line with a `digest` whose record could not be read, or whose bytes have another digest."""

    url: str
    digest: str
    warc: str
    offset: int | None
    reason: str
    message: str


def _failed_claims(ledger: Ledger, digest: str) -> Iterator[FailedCapture]:
    """Yield the failed index lines with this digest, in the line or in the message."""
    for failed in ledger.captures.failed_of_digest(COLLECTION.name, digest, _CLAIMS):
        line = CdxLine(*json.loads(failed.line))
        if parse_digest(line.digest) == digest or digest in failed.message:
            yield FailedCapture(line.url, line.digest, line.warc, line.offset, str(failed.reason), failed.message)


def _claim_line(claim: FailedCapture) -> str:
    place = f"{claim.warc} at {claim.offset}, with the digest {claim.digest or '-'}"
    return f"  an index line for {claim.url} names {place}: {claim.reason}: {claim.message}"


def _describe_transient_answer(settings: Places, key: str) -> Iterator[str]:
    """Yield a line about GROBID's last answer if it is transient: such an answer is not in the row."""
    with closing(PaperStore(settings.store, read_only=True)) as store:
        paper = store.paper(key)
    outcome = (paper.value.get("grobid") or {}) if paper else {}
    if outcome.get("passing"):
        description = f"{outcome['status'].get('reason', '')} {outcome['status'].get('description', '')[:200]}".strip()
        yield f"  GROBID's last answer is transient and is not stored: status {outcome['status_code']}, {description}"


def _missing(paper_keys: Iterable[bytes], table_keys: Iterator[bytes]) -> Iterator[bytes]:
    keys = set(table_keys)
    return (key for key in paper_keys if key not in keys)


def _shown(content: Any) -> str:
    text = f"{len(content)} bytes" if isinstance(content, bytes) else " ".join(str(content).split())
    return text if len(text) <= 160 else f"{text[:160]}..."


ADAPTER = PaperAdapter()
