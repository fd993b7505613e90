"""A complete adapter for collections of JSON records: `ADAPTER = RecordAdapter(COLLECTION)`.

The records are in one SQLite file (`windrow.stores.records`). Its path is the setting `NAME.store` if the collection
declares it (`windrow.settings.setting.store_of`), otherwise `NAME.db` in the workspace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from windrow.adapters import record_changes, record_search, record_story
from windrow.adapters.adapter import (
    ALL_FACTS,
    CHANGED,
    Comparison,
    Explanation,
    Export,
    Message,
    ReplayResult,
    SourceChange,
    Window,
    refuse_lost_store,
    refuse_without_contact,
)
from windrow.adapters.replay import VersionFile, replay_versions
from windrow.adapters.search_answer import SearchAnswer
from windrow.adapters.selection import CountsUnrepaired
from windrow.adapters.shown_records import ShowsRecords
from windrow.adapters.takedown import named_origins
from windrow.adapters.trial import TrialPart
from windrow.adapters.trial_reading import RecordTrial, read_apart
from windrow.config import Workspace
from windrow.contract import Collection, Settle
from windrow.digest import hash64
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.replay import settle_unread
from windrow.engine.requests.answers import allowed_origins
from windrow.engine.requests.services import is_archived, service_sources
from windrow.engine.requests.waiting import ServiceWait, service_wait
from windrow.engine.run import Harvest, SessionSettings
from windrow.engine.sample import sample_address
from windrow.engine.session import Session
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.errors import UsageError, WindrowError
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.url import describe_bad_address, normalise, normalise_typed, parts
from windrow.ledger import Ledger
from windrow.ledger.typed.addresses import AddressRow
from windrow.model import Limits, Site, Source
from windrow.query.columns import check_columns
from windrow.reasons import Reason
from windrow.stores.index.folder import index_folder
from windrow.stores.record_versions import Removal
from windrow.stores.records import RecordStore
from windrow.stores.store_mark import StoreMark


class RecordAdapter(CountsUnrepaired, ShowsRecords):
    """The adapter of a collection that finds its records by requests or in captures."""

    _after_rebuild = ""  # what else an operator must do after a run built a store again
    _removal: Removal | None = None  # how a record states that its subject is gone, if any does

    def __init__(self, collection: Collection) -> None:
        """Take a collection with the discovery `Requests`, `Captures` or both, and with one Settle step."""
        check_columns(collection.columns)
        self._collection = collection
        self._step = next(step for step in collection.steps if isinstance(step, Settle))
        self._name = collection.name
        self._open_rebuilt: Callable[[Path], RecordStore] = RecordStore  # opens the store that a replay builds
        export = Export(collection.name, ("jsonl",), "a line for each version of each record", self._export)
        self.EXPORTS: tuple[Export, ...] = (export,)

    # The methods of every adapter.

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest that the configuration describes, with its store opened."""
        return Harvest(
            self._collection,
            workspace.of(self._name),
            options=self._options(workspace),
            services=self._services(workspace),
            unasked=self._unasked(workspace),
            version_store=self._open_store(self._path(workspace)),  # last, so that a failure leaves nothing open
        )

    def require_ready(self, workspace: Workspace) -> None:
        """Raise ConfigError if a setting of a service or source is not valid, or a necessary contact is missing."""
        self._services(workspace)
        for source in workspace.of(self._name):
            if not source.active:
                continue
            if source.site.host and allowed_origins(self._collection, source):
                refuse_without_contact(workspace, source.site.host)
            for remote in self._collection.inputs(source).remote:
                if remote.secret is None:  # a key tells the server who makes the request
                    refuse_without_contact(workspace, remote.site.host)

    def check_source(self, workspace: Workspace, source: Source) -> None:
        """Accept every source, since sources may share an origin."""
        del workspace, source

    def update_projection(self, workspace: Workspace, ledger: Ledger) -> None:
        """Do nothing, since the collection has no projection besides its records."""
        del workspace, ledger

    def marks(self, workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
        """Return how to read the number of the last attempt in the store, and of which ledger it is."""
        del ledger
        return {self._path(workspace).name: partial(self._read_mark, workspace)}

    def _read_mark(self, workspace: Workspace) -> StoreMark:
        with self._store(workspace) as store:
            return StoreMark(store.owner(), store.checkpoint()) if store is not None else StoreMark()

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield faults in the store and its index."""
        path = self._path(workspace)
        hint = f"remove {path}; the next windrow run builds it again{self._after_rebuild}"
        if not path.is_file():
            if ledger.attempts.after(self._name, 0, 1):
                yield Fault(path.name, "does not exist", f"windrow run rebuilds it{self._after_rebuild}")
            return
        with closing(self._open_store(path)) as store:
            yield from (Fault(path.name, line, hint) for line in store.faults())
            index_hint = f"windrow search --collection {self._name} WORD"
            yield from (Fault(index_folder(path).name, line, index_hint) for line in store.index_faults())

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the store from the captures and replace the old one. Return None if no store exists."""
        old_path = self._path(workspace)

        def build(session: Session, new_path: Path) -> None:
            sources = self._replayed_sources(workspace, session.ledger)
            rebuilt = Harvest(
                self._collection, sources, options=self._options(workspace),
                version_store=RecordStore(new_path),
                services=self._services(workspace),
                unasked=self._unasked(workspace),
                reread=True,
            )  # fmt: skip
            # The answers of services are read from the archive: only services whose answers are not archived are asked.
            services = tuple(replace(service, active=not is_archived(service)) for service in rebuilt.services)
            session.run_harvest(replace(rebuilt, services=services), fetch=False)
            if not session.stops:
                with (
                    closing(self._open_store(old_path)) as old_store,
                    closing(self._open_rebuilt(new_path)) as new_store,
                ):
                    names = {source.name for source in sources}
                    damaged = [number for number, why in rebuilt.unread.items() if why is Reason.DISK_FAILED]
                    new_store.carry_over(old_store, names, damaged)
                    undone = old_store.undone_attempts() - new_store.undone_attempts()
                    attempts = session.ledger.attempts.by_numbers(sorted(undone))
                    new_store.copy_undone(old_store, [each.seq for each in attempts if each.source not in names])
                    poorer_attempts = record_changes.attempts_with_lost_records(old_store, new_store, rebuilt.unread)
                settle_unread(session.ledger, self._collection, rebuilt.unread, poorer_attempts, old_path)

        def finish(session: Session) -> None:
            with closing(self._open_store(old_path)) as store:
                store.update_index(lambda: not session.stops)

        file = VersionFile(self._name, old_path, build, record_changes.count_versions, finish)
        return replay_versions(file, setup, progress)

    def _replayed_sources(self, workspace: Workspace, ledger: Ledger) -> tuple[Source, ...]:
        """Return the sources whose captures a replay reads. A subclass may add sources that are not configured now."""
        del ledger
        return workspace.of(self._name)

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Fetch, follow and read one address, without asking services. Raise UsageError if it is not a web address."""
        first_url = normalise(address).url
        if not first_url:
            raise UsageError(describe_bad_address(address), hint="windrow try --help")
        limits = workspace.limits if workspace else Limits()
        limits = replace(limits, transfer_size=min(limits.transfer_size, 1 << 28))

        def access(requested_url: str) -> Source:
            refuse_without_contact(workspace, parts(requested_url).host)
            return self._source_at(workspace, requested_url, first_url)

        answer = sample_address(access, first_url, limits)
        source = self._source_at(workspace, answer.url, first_url)
        job = RecordTrial(self._collection, answer, source, self._text_options(workspace))
        yield from read_apart(workspace, self._collection, job, limits)

    # The optional methods.

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield the changes of records within the window: new, changed and gone."""
        with self._store(workspace) as store:
            if store is not None:
                yield from record_changes.changes(store, ledger, self._name, window, self._removal)

    def first_of_newest(self, workspace: Workspace, window: Window, most: int) -> int:
        """Return the first of the facts that show the newest `most` changes, or 0 if there are fewer."""
        with self._store(workspace) as store:
            return store.first_of_newest(window.facts or ALL_FACTS, window.shown_by, most) if store else 0

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count, by source and kind, the changes that the sessions in `facts` (first, last) wrote or failed to read."""
        return self._count_changes(workspace, ledger, facts, by_attempt=False)

    def content_of_attempts(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]]:
        """Count, by source and kind, the changes of records that the attempts in `facts` (first, last) observed."""
        return self._count_changes(workspace, ledger, facts, by_attempt=True)

    def compare(self, workspace: Workspace, name: str, since: str, until: str, *, context: int) -> Comparison | None:
        """Compare two versions of the record with this key or alias; return None if there is no such record."""
        with self._store(workspace) as store:
            key = name if store is None or store.has_record(name) else store.key_of_alias(name)
            return record_changes.compare(store, key, since, until, context=context) if store and key else None

    def _count_changes(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int], *, by_attempt: bool
    ) -> Mapping[str, Counter[str]]:
        with self._store(workspace) as store:
            counts = store.count_changes(facts, self._removal, by_attempt=by_attempt) if store is not None else {}
        for source, number in ledger.unread.changed(self._name, facts, by_session=not by_attempt).items():
            counts.setdefault(source, Counter())[CHANGED] += number
        return {source.name: Counter[str]() for source in workspace.of(self._name)} | counts

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Return a dict from source name to the number of its current records; {} without a store."""
        with self._store(workspace) as store:
            return store.count_by_source() if store is not None else {}

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return how many attempts wait for services, since when and why, or None if none waits or no store exists."""
        with self._store(workspace) as store:
            services = [service.name for service in self._services(workspace)]
            return service_wait(ledger, self._name, store, services) if store is not None else None

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a record by its key, an address or a host, or return None if the name is not known.

        Records that were skipped or taken down are explained too.
        """
        with self._store(workspace) as store:
            if store is not None and store.has_record(name):
                return record_story.explain_record(ledger, self._name, store, name)
            skipped = store.skipped(key=name) if store else []
            if skipped:
                lines = [f"{name}: no record was read from it"]
                lines += [f"  {skip.url}: {skip.reason} {skip.message}".rstrip() for skip in skipped]
                return Explanation(name, tuple(Message("skipped", skip) for skip in skipped), tuple(lines))
            address = self._find_address(ledger, name)
            if address is None:
                explanation = (
                    record_story.explain_taken_down(ledger, self._name, store, name) if store is not None else None
                )
                explanation = explanation or self._explain_not_taken(workspace, ledger, name, is_known=False)
                explanation = explanation or record_story.explain_host(ledger, self._name, name)
                return explanation or record_story.explain_unindexed(workspace, ledger, self._collection, name)
            explanations = [
                record_story.explain_address(ledger, self._name, store, address_of_source)
                for address_of_source in ledger.addresses.of_sources(self._name, address.digest)
            ]
            explanations += filter(None, [self._explain_not_taken(workspace, ledger, name, is_known=True)])
            messages = tuple(message for explanation in explanations for message in explanation.messages)
            lines = [line for explanation in explanations for line in explanation.lines]
            return Explanation(address, messages, tuple(lines))

    def _explain_not_taken(
        self, workspace: Workspace, ledger: Ledger, name: str, *, is_known: bool
    ) -> Explanation | None:
        sources, options = workspace.of(self._name), self._options(workspace)
        archive = workspace.archive.folder
        return record_story.explain_not_taken(
            ledger, self._collection, sources, options, name, archive=archive, is_known=is_known
        )

    def _find_address(self, ledger: Ledger, name: str) -> AddressRow | None:
        return ledger.addresses.get(self._name, hash64(url)) if (url := normalise_typed(name)) else None

    def search(
        self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool, facets: bool = False
    ) -> SearchAnswer:
        """Search the current records. Raises WindrowError if there is no store yet."""
        with self._store(workspace) as store:
            name, hint = self._name, f"windrow run {self._name}"
            if store is None:
                raise WindrowError(f"there are no records of {name} yet", hint=hint, reason=Reason.NOT_FOUND)
            return record_search.search(store, name, text, offset=offset, limit=limit, explain=explain, facets=facets)

    def _export(self, workspace: Workspace, form: str, stream: TextIO) -> int:
        del form
        with self._store(workspace) as store:
            return record_story.write_versions(store.versions(), stream) if store else 0

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Accept every takedown, since the store is windrow's own file."""
        del workspace

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield the targets that `name` refers to: a record's addresses, an address, or a source's or a host's."""
        with self._store(workspace) as store:
            attempts = store.attempts_of(name) if store else []
            if store and not attempts and self._find_address(ledger, name) is None:
                attempts = store.taken_down(name)
        for recorded in ledger.attempts.by_numbers(attempts):
            yield TakedownTarget(recorded.attempt.url, recorded.attempt.target, 0, self._name)
        if attempts:
            return
        if address := self._find_address(ledger, name):
            yield TakedownTarget(address.url, address.digest, 0, self._name)
            return
        for origin, source in named_origins(workspace, ledger, self._name, name, host_name=name):
            target = f"the requests of {source} to {origin.origin}" if source else origin.origin
            yield TakedownTarget(target, 0, origin.seq, self._name)

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove what was read from these attempts, and return the number of observations removed."""
        del target
        with self._store(workspace) as store:
            return store.forget(attempts) if store else 0

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Erase removed data from the store and its index. Return a message for each file in which some remains."""
        with self._store(workspace) as store:
            if store is not None:
                store.rebuild_index(pulse)
                if not store.erase_deleted(pulse):
                    return (kept_by_reader(self._path(workspace)),)
        return ()

    # Settings.

    def _path(self, workspace: Workspace) -> Path:
        path = self._settings(workspace).get(f"{self._name}.store")
        return Path(path) if path else workspace.root / f"{self._name}.db"

    def _settings(self, workspace: Workspace | None) -> dict[str, Any]:
        return {setting.name: setting.value for setting in workspace.values} if workspace else {}

    def _options(self, workspace: Workspace | None) -> dict[str, Any]:
        prefix = f"{self._name}."
        settings = self._settings(workspace)
        return {name.removeprefix(prefix): setting for name, setting in settings.items() if name.startswith(prefix)}

    def _text_options(self, workspace: Workspace | None) -> dict[str, str]:
        return {name: str(setting) for name, setting in self._options(workspace).items()}

    def _services(self, workspace: Workspace) -> tuple[Source, ...]:
        return service_sources(self._collection, self._settings(workspace), workspace.root, workspace.user_agent)

    def _unasked(self, workspace: Workspace) -> Callable[[Sequence[str]], Mapping[str, Reason]] | None:
        """Return a function from keys to the reasons why services must not get certain keys; None: they may get all."""
        del workspace
        return None

    def _source_at(self, workspace: Workspace | None, url: str, first_url: str) -> Source:
        """Return the source for an address. A new source may request the host of `first_url` even if it is private."""
        origin = parts(url).origin
        sources = workspace.of(self._name) if workspace else ()
        matching = [source for source in sources if origin in allowed_origins(self._collection, source)]
        if matching:  # of several sources at one origin, the source with the longest matching base
            return max(
                matching, key=lambda source: len(source.site.base) if url.startswith(source.site.address("")) else 0
            )
        address, agent = parts(url), workspace.user_agent if workspace else "windrow"
        allowed = read_allowed((), parts(first_url).host)
        site = Site(address.scheme, address.host.strip("[]"), address.port, agent=agent, allowed=allowed)
        return Source("try", self._name, site)

    def _open_store(self, path: Path) -> RecordStore:
        """Open the store; a subclass whose store is of another class overrides this."""
        return RecordStore(path, self._collection.columns)

    @contextmanager
    def _store(self, workspace: Workspace) -> Iterator[RecordStore | None]:
        """Open the store, or yield None before the first run; raise StoreError if it was moved away or deleted."""
        path = self._path(workspace)
        if not path.is_file():
            refuse_lost_store(workspace, self._name, path)
        with closing(self._open_store(path)) if path.is_file() else nullcontext() as store:
            yield store
