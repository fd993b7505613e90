"""The adapter of papers: an adapter for JSON records that also writes the table of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from windrow.adapters.adapter import Explanation, Message, ReplayResult
from windrow.adapters.record_search import ShownCollection
from windrow.adapters.records import RecordAdapter
from windrow.adapters.shown_records import list_sources
from windrow.adapters.trial import TrialPart
from windrow.adapters.trial_reading import RecordTrial, read_apart
from windrow.collections.papers.adapter.exports import make_exports
from windrow.collections.papers.adapter.rows import (
    PaperSettings,
    bring_up_to_date,
    clean_former_tables,
    erase_deleted,
    extracted_by_others,
    find_altered_rows,
    is_up_to_date,
    open_rows,
    read_marks,
    read_settings,
)
from windrow.collections.papers.capture_rules import select
from windrow.collections.papers.collection import COLLECTION, GROBID
from windrow.collections.papers.columns import decode_row
from windrow.collections.papers.database.store import PaperStore
from windrow.collections.papers.row_keys import hex_of, parse_digest, row_key
from windrow.config import Workspace
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.sample import SampledAnswer
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.formats.text import counted, spell_value
from windrow.ledger import Ledger
from windrow.model import CdxLine, Limits
from windrow.reasons import Reason
from windrow.stores.records import RecordStore
from windrow.stores.store_mark import StoreMark

if TYPE_CHECKING:
    from windrow.adapters.home import Home, HomeView, PictureBytes

_MAX_FAILED_CAPTURES = 20  # that `why` shows


class PaperAdapter(RecordAdapter):
    """Connects the collection `papers` with a workspace."""

    def __init__(self) -> None:
        super().__init__(COLLECTION)
        self._open_rebuilt = PaperStore
        self.EXPORTS = make_exports(self._paper_settings, self._export)

    def _paper_settings(self, workspace: Workspace) -> PaperSettings:
        folders = {Path(path) for source in workspace.of(COLLECTION.name) for path in source.options.get("warc", ())}
        options = self._options(workspace)
        return read_settings(workspace, self._path(workspace), options, tuple(sorted(folders)))

    def _open_store(self, path: Path) -> RecordStore:
        return PaperStore(path, COLLECTION.columns)

    def require_ready(self, workspace: Workspace) -> None:
        """Raise an error if a setting or a rule of a source is not valid, for example if a media type is not known."""
        super().require_ready(workspace)
        for source in workspace.of(COLLECTION.name):
            select(source, {})
        self._paper_settings(workspace)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return what `RecordAdapter.harvest` returns, with `bring_up_to_date` as the function for the step `match`."""
        settings = self._paper_settings(workspace)
        return replace(
            super().harvest(workspace), derivations={"match": lambda pulse: bring_up_to_date(settings, pulse)}
        )

    def _unasked(self, workspace: Workspace) -> Callable[[Sequence[str]], Mapping[str, Reason]] | None:
        """Return a function that finds out which papers are not sent to GROBID, and why.

        Return None if all papers are sent.
        """
        settings = self._paper_settings(workspace)
        if settings.force_existing:
            return None
        return lambda keys: dict.fromkeys(extracted_by_others(settings, keys), Reason.ALREADY_EXTRACTED)

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the records from the captures, then update the rows; return None if no store exists."""
        replayed = super().replay(workspace, setup, progress)
        if replayed is not None:
            bring_up_to_date(self._paper_settings(workspace), lambda: True)
        return replayed

    def ask_again(
        self, workspace: Workspace, service: str, names: Sequence[str], reason: str, *, dry_run: bool
    ) -> list[str]:
        """Let the next run send the papers with these digests to GROBID again; return the keys of their records.

        `PaperStore.ask_again` explains `reason`, `dry_run` and empty `names`. For any other service, no keys are
        returned.
        """
        path = self._path(workspace)
        if service != GROBID or not path.is_file():
            return []
        with closing(PaperStore(path)) as store:
            return store.ask_again([_key(name) for name in names], reason, dry_run=dry_run)

    def marks(self, workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
        """Return how to read how far the records, the table and the register of its rows go."""
        return {**super().marks(workspace, ledger), **read_marks(self._paper_settings(workspace), ledger)}

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield the faults of the records, and faults for rows that are missing, altered, or not up to date."""
        yield from super().check(workspace, ledger)
        settings = self._paper_settings(workspace)
        if not settings.store.is_file():
            return
        with ExitStack() as stack:
            store = stack.enter_context(closing(PaperStore(settings.store)))
            if count := store.count_stale():
                yield Fault(
                    settings.table, f"the rows of {counted(count, 'paper')} are not written yet", "windrow run papers"
                )
                return
            if not is_up_to_date(settings):
                message = "the rows are not compared: they were written before the settings or the catalogue changed"
                yield Fault(settings.table, message, "windrow run papers")
                return
            table = stack.enter_context(open_rows(settings))
            differing = list(find_altered_rows(settings, store, table, ledger))
            altered = [(key, columns) for key, columns in differing if columns]
            if missing_count := len(differing) - len(altered):
                yield Fault(settings.table, f"{counted(missing_count, 'paper')} without a row", "windrow replay")
            if altered:
                key, columns = altered[0]
                message = f"{counted(len(altered), 'row')} with altered cells, such as that of {key}: "
                yield Fault(settings.table, message + ", ".join(columns), "windrow replay")

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a record. A paper may be named by its digest in any spelling, also by the one that an index has.

        The explanation also has the row of the paper, and the index lines with its digest whose records could not be
        read. Return None if there is neither a record nor such a line.
        """
        explanation = super().explain(workspace, ledger, _key(name))
        if explanation is None and (key := self._decoded_key(workspace, ledger, parse_digest(name))):
            explanation, name = super().explain(workspace, ledger, key), key
        settings = self._paper_settings(workspace)
        if not parse_digest(name):
            return explanation
        if explanation is not None and settings.store.is_file():
            explanation = _with_row(explanation, settings, name)
        failures = list(_failed_captures(ledger, parse_digest(name)))
        if failures and explanation is None:
            explanation = Explanation(_key(name), (), (f"{_key(name)}: papers has no record with this digest",))
        if explanation is None or not failures:
            return explanation
        messages = [Message("failed_capture", failure) for failure in failures]
        return explanation._replace(
            lines=(*explanation.lines, *map(_failure_line, failures)), messages=(*explanation.messages, *messages)
        )

    def _decoded_key(self, workspace: Workspace, ledger: Ledger, sent_digest: str) -> str:
        """Return the key of the paper whose bytes had this digest in a coding, such as gzip; "" if there is none."""
        response = ledger.imports.payload(f"sha1:{sent_digest}") if sent_digest else None
        with self._store(workspace) as store:
            if response is None or store is None:
                return ""
            statements = store.statements(ledger.attempts.at_place(response.place))
        return next((statement.key for statement in statements if statement.json), "")

    def home(self, workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
        """Return the list of papers, of all sources or one, those that have words, or the paper `view.name`."""
        from windrow.adapters.record_home import show_home  # noqa: PLC0415 loaded when used
        from windrow.collections.papers.adapter.home import faces_of  # noqa: PLC0415 loaded when used

        sources = list_sources(workspace, ledger, COLLECTION.name)
        with self._store(workspace) as store:
            faces = faces_of(self._paper_settings(workspace), cast("PaperStore | None", store))
            shown = ShownCollection(COLLECTION.name, sources, faces)
            return show_home(store, ledger, shown, view._replace(name=_key(view.name)))

    def knows(self, workspace: Workspace, ledger: Ledger, name: str) -> bool:
        """Return whether there is a paper with this digest, in any spelling."""
        return super().knows(workspace, ledger, _key(name))

    def picture(self, workspace: Workspace, name: str) -> PictureBytes:
        """Return the picture of a paper's first page, if `papers.thumbnails` had it drawn."""
        from windrow.collections.papers.adapter.home import picture_of  # noqa: PLC0415 loaded when used

        with self._store(workspace) as store:
            return picture_of(cast("PaperStore | None", store), _key(name))

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Read a paper from a file or an address, and yield what was read. Nothing is sent to GROBID.

        A PDF in a file is read by the embedded extractor, and so is a PDF at an address if GROBID is not configured. If
        GROBID is configured, the record of a PDF at an address is incomplete, and a finding names the request that a
        run would make.
        """
        path = Path(address)
        if not path.is_file():
            yield from super().try_address(workspace, address)
            return
        limits = workspace.limits if workspace else Limits()
        answer = SampledAnswer(address, path.read_bytes(), 200, {}, 0.0)
        job = RecordTrial(COLLECTION, answer, None, self._text_options(workspace) | {"grobid": ""})
        yield from read_apart(workspace, COLLECTION, job, limits)

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield the takedown targets for `name`, which may also be the digest of a paper in any spelling."""
        return super().takedown_targets(workspace, ledger, _key(name))

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Update the rows; erase removed rows and records; return a message for each file that still has such data."""
        settings = self._paper_settings(workspace)

        def pulse_and_continue() -> bool:
            pulse()
            return True

        remaining: tuple[str, ...] = ()
        if settings.store.is_file():
            bring_up_to_date(settings, pulse_and_continue)
            remaining = tuple(clean_former_tables(settings, pulse))
            remaining += tuple(map(kept_by_reader, erase_deleted(settings, pulse)))
        return remaining + super().clean_stores(workspace, pulse)


def _key(name: str) -> str:
    """Return the key of the record with the digest `name`, or `name` itself if it is not a digest."""
    return f"sha1:{digest_}" if (digest_ := parse_digest(name)) else name


def _with_row(explanation: Explanation, settings: PaperSettings, name: str) -> Explanation:
    with open_rows(settings) as table:
        cells = decode_row(table.get(row_key(parse_digest(name), settings.key_form)))
    lines = list(_describe_transient_answer(settings, _key(name)))
    lines += [f"  row of {settings.table_name}:"]
    lines += [f"      {column}: {_shortened(cells[column])}" for column in sorted(cells)]
    row = {column: content for column, content in cells.items() if not isinstance(content, bytes)}
    return explanation._replace(
        lines=(*explanation.lines, *lines), messages=(*explanation.messages, Message("row", row))
    )


class FailedCapture(NamedTuple):
    """An index line whose record could not be read, or has a digest that differs from the line's."""

    url: str
    digest: str
    warc: str
    offset: int | None
    reason: str
    message: str


def _failed_captures(ledger: Ledger, digest: str) -> Iterator[FailedCapture]:
    spellings = (digest, digest.lower(), hex_of(digest), hex_of(digest).upper())
    claims = (ledger.captures.failed_of_digest(COLLECTION.name, text, _MAX_FAILED_CAPTURES) for text in spellings)
    for failed in [*dict.fromkeys(chain.from_iterable(claims))][:_MAX_FAILED_CAPTURES]:
        line = CdxLine(*json.loads(failed.line))
        if parse_digest(line.digest) == digest or digest in failed.message:
            yield FailedCapture(line.url, line.digest, line.warc, line.offset, str(failed.reason), failed.message)


def _failure_line(failed: FailedCapture) -> str:
    location = f"the record at byte {failed.offset} of {failed.warc}, with the digest {failed.digest or '-'}"
    return f"  an index line for {failed.url} names {location}: {failed.reason}: {failed.message}"


def _describe_transient_answer(settings: PaperSettings, key: str) -> Iterator[str]:
    """Yield a line about GROBID's last outcome if it is transient; the row does not contain transient outcomes."""
    with closing(PaperStore(settings.store, read_only=True)) as store:
        paper = store.paper(key)
    outcome = (paper.value.get("grobid") or {}) if paper else {}
    if outcome.get("passing"):
        description = f"{outcome['status'].get('reason', '')} {outcome['status'].get('description', '')[:200]}".strip()
        yield f"  GROBID's last answer is transient and not in the row: status {outcome['status_code']}, {description}"


def _shortened(content: Any) -> str:
    text = f"{len(content)} bytes" if isinstance(content, bytes) else " ".join(spell_value(content).split())
    return text if len(text) <= 160 else f"{text[:160]}..."


ADAPTER = PaperAdapter()
