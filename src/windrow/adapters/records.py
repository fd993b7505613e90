"""A ready adapter for collections of JSON records: `ADAPTER = RecordAdapter(COLLECTION)` is all that they need.

The records are in one SQLite file (`windrow.stores.records`), named by the setting `NAME.store` where the collection
declares it (`windrow.settings.setting.store_of`), else `NAME.db` in the workspace.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from windrow.adapters import record_changes, record_story
from windrow.adapters.adapter import (
    DocumentFinding,
    DocumentReport,
    Explanation,
    Export,
    FetchedBytes,
    Message,
    RecordPreview,
    ReplayResult,
    SearchAnswer,
    SourceChange,
    TrialPart,
    Window,
    refuse_without_contact,
)
from windrow.adapters.replay import VersionFile, replay_versions
from windrow.adapters.takedown import named_origins
from windrow.clock import now
from windrow.config import Workspace
from windrow.config.workspace import replay_folder
from windrow.contract import Answer, Ask, Collection, FollowResult, Observation, Request, Settle, Skip, Task, results_of
from windrow.digest import digest, number
from windrow.engine.captures.rules import explain_captures
from windrow.engine.check import Fault
from windrow.engine.progress import Progress
from windrow.engine.replay import settle_unread
from windrow.engine.requests.answers import allowed_origins, body_of
from windrow.engine.requests.services import is_archived, service_sources
from windrow.engine.requests.waiting import ServiceWait, service_wait, waits_told
from windrow.engine.run import Harvest
from windrow.engine.sample import sample_address
from windrow.engine.session import Session, SessionSettings
from windrow.engine.takedown import TakedownTarget, kept_by_reader
from windrow.errors import DiskFull, StoreError, UsageError, WindrowError
from windrow.fetch.politeness.guard import read_allowed
from windrow.formats.text import counted, show
from windrow.formats.url import normalise, parts
from windrow.ledger import ELSEWHERE, Ledger
from windrow.ledger.typed.addresses import AddressRow
from windrow.model import Item, Level, Limits, Site, Source
from windrow.reasons import Reason
from windrow.stores.index.folder import index_folder
from windrow.stores.records import RecordStore
from windrow.stores.sqlite import remove_scratch

_SHOWN = 20
"""Visits, and versions, that `windrow why` tells of one thing."""


class RecordAdapter:
    """Joins a collection that finds by requests or captures, and settles records, with a workspace."""

    def __init__(self, collection: Collection) -> None:
        """Join this collection; its discovery is `Requests`, `Captures` or both, and it has one Settle step."""
        self._collection = collection
        self._step = next(step for step in collection.steps if isinstance(step, Settle))
        name = collection.name
        self.EXPORTS: tuple[Export, ...] = (
            Export(name, ("jsonl",), "a line for each version of each record", self._export),
        )

    # What every collection answers.

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes, its store opened."""
        return Harvest(
            self._collection,
            workspace.of(self._collection.name),
            options=self._options(workspace),
            services=self._services(workspace),
            unasked=self._unasked(workspace),
            version_store=self._open_store(self._path(workspace)),  # last: what fails before leaves nothing open
        )

    def require_ready(self, workspace: Workspace) -> None:
        """Refuse services without a good address, and to ask other machines without a contact in the user agent."""
        self._services(workspace)
        for one in workspace.of(self._collection.name):
            if not one.active:
                continue
            if one.site.host and allowed_origins(self._collection, one):
                refuse_without_contact(workspace, one.site.host)
            for remote in self._collection.inputs(one).remote:
                if remote.secret is None:  # with a key its owner is known
                    refuse_without_contact(workspace, remote.site.host)

    def check_source(self, workspace: Workspace, source: Source) -> None:
        """Refuse none: sources may share an origin."""
        del workspace, source

    def update_projection(self, workspace: Workspace, ledger: Ledger) -> None:
        """Do nothing: there are no books beside the records."""
        del workspace, ledger

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Look through the store, and compare how far it got with the ledger."""
        path = self._path(workspace)
        again = f"remove {path}; the next windrow run makes it anew"
        with self._store(workspace) as store:
            if store is None:
                return
            reached, last = store.checkpoint(), ledger.attempts.last_visit()
            if reached > last:
                yield Fault(path.name, f"tells of visit {reached}; the ledger ends with visit {last}", again)
            for line in store.faults():
                yield Fault(path.name, line, again)
            for line in store.index_faults():
                yield Fault(index_folder(path).name, line, f"windrow search --collection {self._collection.name} WORD")

    def replay(self, workspace: Workspace, setup: SessionSettings, progress: Progress) -> ReplayResult | None:
        """Rebuild the store from the captures beside the old one, compare, and swap; None where there is none yet."""
        old = self._path(workspace)

        def build(session: Session, new: Path) -> None:
            sources = self._sources_read_again(workspace, session.ledger)
            made = Harvest(
                self._collection, sources, options=self._options(workspace),
                version_store=RecordStore(new),
                services=self._services(workspace),
                unasked=self._unasked(workspace),
                reread=True,
            )  # fmt: skip
            # Asks were answered already: nobody is asked again but for answers that are not archived.
            services = tuple(replace(service, active=not is_archived(service)) for service in made.services)
            session.harvest(replace(made, services=services), fetch=False)
            if not session.stops:
                with closing(self._open_store(old)) as before, closing(RecordStore(new)) as after:
                    after.carry_over(before, {source.name for source in sources})
                    lost = record_changes.visits_saying_less(before, after, made.unread)
                settle_unread(session.ledger, self._collection, made.unread, lost, old)

        def finish(session: Session) -> None:
            with closing(self._open_store(old)) as store:
                store.update_index(lambda: not session.stops)

        file = VersionFile(self._collection.name, old, build, record_changes.count_versions, finish)
        return replay_versions(file, setup, progress)

    def _sources_read_again(self, workspace: Workspace, ledger: Ledger) -> tuple[Source, ...]:
        """Return the sources whose captures a replay reads; a collection may remember those that were taken out."""
        del ledger
        return workspace.of(self._collection.name)

    def try_address(self, workspace: Workspace | None, address: str) -> Iterator[TrialPart]:
        """Ask for one address by GET, follow it and take the step on what comes; services are not asked."""
        first = normalise(address).url
        if not first:
            raise UsageError(f"{address[:200]!r} is not an address of the web", hint="windrow try --help")
        limits = replace(workspace.limits if workspace else Limits(), transfer_size=1 << 28)

        def access(hop: str) -> Source:
            refuse_without_contact(workspace, parts(hop).host)
            return self._source_at(workspace, hop, first)

        answer = sample_address(access, first, limits)
        url = answer.url
        content = body_of(io.BytesIO(answer.body), answer.fields, limits).read()
        yield FetchedBytes(url, url, len(content), digest(content), round(answer.seconds, 3))
        source = self._source_at(workspace, url, first)
        asked = Answer(Request(url), answer.status, answer.fields, io.BytesIO(content), now())
        follow = self._collection.follow
        result = follow(source, {}, asked) if follow else FollowResult()
        item = Item(0, self._collection.name, "visit", url)
        task = Task(item, io.BytesIO(content), limits, {}, self._spelled_options(workspace), fields=answer.fields,
                    source=source, visited=asked.at, offers=result.offers, request=asked.request)  # fmt: skip
        results = results_of(self._step.run(task))
        if result.skip and any(isinstance(one, Observation) for one in results):
            result = FollowResult()  # a document that leads to nothing, and is one by itself, such as an article
        yield from record_story.follow_notes(url, self._collection.phases[0], result)
        count = 0
        for one in results:
            if isinstance(one, Observation):
                count += 1
                yield RecordPreview(url, self._collection.name, one.key, self._collection.name, one.value or {})
            elif isinstance(one, Skip):
                yield DocumentFinding(
                    url, self._step.phase, Level.WARN, str(one.reason), one.message or one.reason.meaning
                )
            elif isinstance(one, Ask):
                told = f"{one.name}: {one.method} {one.path} to {one.service}; a run asks it"
                yield DocumentFinding(url, self._step.phase, Level.NOTE, "Ask", told)
        yield DocumentReport(
            url, self._collection.name, len(content), digest(content), self._step.phase, result.skip, count
        )

    # What it can besides.

    def changes(self, workspace: Workspace, ledger: Ledger, window: Window) -> Iterator[SourceChange]:
        """Yield the records that came, changed or went."""
        with self._store(workspace) as store:
            if store is not None:
                yield from record_changes.changes(store, ledger, self._collection.name, window, self._away)

    def content(self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]) -> Mapping[str, Counter[str]]:
        """Count the records of each source that came, changed or went, as sessions between two facts wrote it."""
        del ledger
        return self._content(workspace, facts, visited=False)

    def content_of_visits(
        self, workspace: Workspace, ledger: Ledger, facts: tuple[int, int]
    ) -> Mapping[str, Counter[str]]:
        """Count the records of each source that came, changed or went, as visits between two facts said it."""
        del ledger
        return self._content(workspace, facts, visited=True)

    def _content(self, workspace: Workspace, facts: tuple[int, int], *, visited: bool) -> Mapping[str, Counter[str]]:
        with self._store(workspace) as store:
            told = record_changes.content(store, facts, self._away, visited=visited) if store is not None else {}
        return {one.name: told.get(one.name, Counter()) for one in workspace.of(self._collection.name)}

    def _away(self, value: Any) -> str:
        """Say in some words that the thing of a record is gone, where the value tells that; empty for any other."""
        del value
        return ""

    def holdings(self, workspace: Workspace) -> Mapping[str, int]:
        """Count the records of each source that are there now."""
        with self._store(workspace) as store:
            return store.count_by_source() if store is not None else {}

    def waits(self, workspace: Workspace, ledger: Ledger) -> ServiceWait | None:
        """Return what documents wait for of services."""
        with self._store(workspace) as store:
            services = [service.name for service in self._services(workspace)]
            return service_wait(ledger, self._collection.name, store, services) if store is not None else None

    def explain(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell the history of a record, by its key; or what became of an address, and what it led to."""
        with self._store(workspace) as store:
            if store is not None and store.has_record(what):
                return self._explain_record(ledger, store, what)
            skipped = store.skipped(key=what) if store else []
            if skipped:
                lines = [f"{what}: nothing was made of it"]
                lines += [f"  {one.url}: {one.reason} {one.message}".rstrip() for one in skipped]
                return Explanation(what, tuple(Message("skipped", one) for one in skipped), tuple(lines))
            row = self._address(ledger, what)
            if row is None:
                gone = self._explain_taken_down(ledger, store, what) if store is not None else None
                return gone or self._explain_not_taken(workspace, ledger, what)
            told = [
                self._explain_address(ledger, store, source)
                for source in ledger.addresses.of_sources(self._collection.name, row.digest)
            ]
            messages = [message for one in told for message in one.messages]
            return Explanation(row, tuple(messages), tuple(line for one in told for line in one.lines))

    def _explain_taken_down(self, ledger: Ledger, store: RecordStore, key: str) -> Explanation | None:
        """Tell of a record that is gone since the addresses that told of it were taken down."""
        lines, messages = [f"{key}: a record of {self._collection.name}, taken down"], []
        found = ledger.attempts.visits_named(store.taken_down(key))
        for url in dict.fromkeys(one.attempt.url for one in found):
            row = ledger.addresses.get(self._collection.name, number(url))
            for grave in ledger.takedowns.of(number(url), row.host if row else -1):
                lines += record_story.takedown_lines(grave)
                messages.append(Message("tombstone", grave, omit_empty=True))
        return Explanation(key, tuple(messages), tuple(dict.fromkeys(lines))) if messages else None

    def _explain_not_taken(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell of an address that others keep why no source took it."""
        url = normalise(what).url if what.startswith(("http://", "https://")) else ""
        lines, messages = [], []
        for source in workspace.of(self._collection.name) if url else ():
            for capture in explain_captures(ledger, self._collection, source, self._options(workspace), number(url)):
                line, told = record_story.describe_capture(source.name, capture)
                lines.append(line)
                messages.append(Message("capture", told))
        if not lines:
            return None
        return Explanation(url, tuple(messages), (f"{url}: nothing of it is in {self._collection.name}", *lines))

    def _address(self, ledger: Ledger, what: str) -> AddressRow | None:
        url = normalise(what).url if what.startswith(("http://", "https://")) else ""
        return ledger.addresses.get(self._collection.name, number(url)) if url else None

    def _explain_record(self, ledger: Ledger, store: RecordStore, key: str) -> Explanation:
        history = store.history(key)
        lines = [f"{key}: a record of {self._collection.name}, {record_story.standing(history[-1])}"]
        for one in [one for one in history if one.change != "same"][-_SHOWN:]:
            lines.append(f"  {show(one.at)}  {one.change}  {one.url}")
            found = ledger.attempts.visits_named([one.visit])
            if found and (kept := found[0].attempt.kept):
                lines.append(
                    f"      from visit {one.visit}: {kept.place.warc} at {kept.place.offset}, {kept.digest[:19]}"
                )
        waits = waits_told(ledger, self._collection.name, store.pending_asks([one.visit for one in history[-_SHOWN:]]))
        lines += [wait.line for wait in waits]
        again = [one.at for one in history if one.change == "same"]
        same = len(again)
        if again:
            lines.append(f"  seen without a change {counted(same, 'time')}, last {show(again[-1])}")
        messages = [
            Message("record", {"key": key, "collection": self._collection.name, "versions": len(history) - same})
        ]
        messages += [*(Message("version", one) for one in history), *(Message(*wait[1:]) for wait in waits)]
        return Explanation(key, tuple(messages), tuple(lines))

    def _explain_address(self, ledger: Ledger, store: RecordStore | None, row: AddressRow) -> Explanation:
        visits = ledger.attempts.of_address(row.host, row.digest)[-_SHOWN:]
        captures = {one.seq: ledger.captures.captured(one.seq) for one in visits}
        graves = ledger.takedowns.of(row.digest, row.host)
        indexed = any(capture is not None and capture.found_in for capture in captures.values())
        taken = row.pause == ELSEWHERE or (bool(graves) and indexed)  # a takedown clears the pause
        lines = [f"{row.url}: {'taken' if taken else 'asked'} for {self._collection.name}, source {row.source}"]
        if row.via_url:
            lines.append(f"  found at {row.via_url}")
        messages = [Message("address", record_story.address_told(row))]
        lines += [line for grave in graves for line in record_story.takedown_lines(grave)]
        messages += [Message("tombstone", grave, omit_empty=True) for grave in graves]
        for visit in visits:
            came = f"status {visit.status}" if visit.status else "no answer"
            why = f"; {visit.reason}: {visit.message}" if visit.reason else ""
            lines.append(
                f"  {show(visit.started)}  {came}{why}" + (f"  {visit.warc} at {visit.offset}" if visit.warc else "")
            )
            messages.append(Message("visit", visit, omit_empty=True))
            if captured := captures[visit.seq]:
                whose = f"as {captured.collection}:{captured.source} kept it in visit {captured.original}"
                if not captured.original:  # the record of another maker
                    whose = f"from {captured.warc} at {captured.offset}"
                lines.append(f"      nobody was asked: it was taken {whose}")
                messages.append(Message("captured", captured))
            if followed := ledger.requests.followed(visit.seq):
                led = f"{counted(followed.requests, 'request')} and {counted(followed.offers, 'offer')}"
                told = f"led to {led}, {followed.fresh} of them new"
                lines.append(f"      {told}" + (f"; {followed.ending}" if followed.ending else ""))
                if followed.reason:
                    lines.append(f"      of no use: {followed.reason}")
                lines += [f"      {one.kind}: {one.message}" for one in followed.told()]
                messages.append(Message("followed", followed))
            made = store.keys_of(visit.seq, _SHOWN + 1) if store is not None else []
            lines += record_story.made_lines(made, _SHOWN)
            messages += [Message("visit_record", {"visit": visit.seq, "key": key}) for key in made[:_SHOWN]]
        if store is not None:
            waits = waits_told(ledger, self._collection.name, store.pending_asks([one.seq for one in visits]))
            lines += [wait.line for wait in waits]
            messages += [Message(*wait[1:]) for wait in waits]
            for one in store.skipped(url=row.url):
                lines.append(f"  skipped {one.key or 'the document'}: {one.reason} {one.message}".rstrip())
                messages.append(Message("skipped", one))
        if row.due is not None:
            lines.append(
                "  due next" if row.due <= 1 else f"  due again at {show(datetime.fromtimestamp(row.due, UTC))}"
            )
        return Explanation(row, tuple(messages), tuple(lines))

    def search(self, workspace: Workspace, text: str, *, offset: int, limit: int, explain: bool) -> SearchAnswer:
        """Search the records as they are now, by the texts that the collection gave them."""
        name, path = self._collection.name, self._path(workspace)
        if not path.is_file():
            raise WindrowError(f"there are no records of {name} yet", hint=f"windrow run {name}")
        with closing(self._open_to_search(path)) as store:
            return record_story.search(store, name, text, offset=offset, limit=limit, explain=explain)

    def _export(self, workspace: Workspace, form: str, out: TextIO) -> int:
        """Write a line of JSON for each version of each record."""
        del form
        with self._store(workspace) as store:
            return record_story.write_versions(store.versions(), out) if store else 0

    def refuse_takedown(self, workspace: Workspace) -> None:
        """Refuse none: the store is a file of its own."""
        del workspace

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield what is meant by an address, a host, a source, or a record: the addresses that told of it."""
        with self._store(workspace) as store:
            visits = store.visits_of(name) if store else []
            if store and not visits and self._address(ledger, name) is None:
                visits = store.taken_down(name)
        for one in ledger.attempts.visits_named(visits):
            yield TakedownTarget(one.attempt.url, one.attempt.target, 0, self._collection.name)
        if visits:
            return
        if row := self._address(ledger, name):
            yield TakedownTarget(row.url, row.digest, 0, self._collection.name)
            return
        for origin, source in named_origins(workspace, ledger, self._collection.name, name, name):
            what = f"what {source} asked of {origin.origin}" if source else origin.origin
            yield TakedownTarget(what, 0, origin.seq, self._collection.name)

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, visits: Sequence[int]) -> int:
        """Remove what visits told; return how many observations that were."""
        del target
        with self._store(workspace) as store:
            return store.forget(visits) if store else 0

    def clean_stores(self, workspace: Workspace, pulse: Callable[[], None]) -> tuple[str, ...]:
        """Leave nothing of what was removed in the store's files; tell where something stays."""
        path = self._path(workspace)
        remove_scratch(replay_folder(path), [path.name])
        with self._store(workspace) as store:
            if store is not None:
                store.rebuild_index(pulse)
                if not store.erase_deleted(pulse):
                    return (kept_by_reader(path),)
        return ()

    # Its settings.

    def _path(self, workspace: Workspace) -> Path:
        told = self._values(workspace).get(f"{self._collection.name}.store")
        return Path(told) if told else workspace.root / f"{self._collection.name}.db"

    def _values(self, workspace: Workspace | None) -> dict[str, Any]:
        return {one.name: one.value for one in workspace.values} if workspace else {}

    def _options(self, workspace: Workspace | None) -> dict[str, Any]:
        """Return the collection's own settings by name: its steps are given them as texts."""
        prefix = f"{self._collection.name}."
        values = self._values(workspace)
        return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}

    def _spelled_options(self, workspace: Workspace | None) -> dict[str, str]:
        return {name: str(value) for name, value in self._options(workspace).items()}

    def _services(self, workspace: Workspace) -> tuple[Source, ...]:
        return service_sources(self._collection, self._values(workspace), workspace.root, workspace.user_agent)

    def _unasked(self, workspace: Workspace) -> Callable[[Sequence[str]], Mapping[str, Reason]] | None:
        """Return what says for which records, by their keys, no service is to be asked, and why."""
        del workspace
        return None

    def _source_at(self, workspace: Workspace | None, url: str, named: str) -> Source:
        """Return the source that has an address, else one that reaches no private number but that of `named`."""
        origin = parts(url).origin
        sources = workspace.of(self._collection.name) if workspace else ()
        mine = [source for source in sources if origin in allowed_origins(self._collection, source)]
        if mine:  # of several at one origin the one whose address is nearest to this
            return max(mine, key=lambda one: len(one.site.base) if url.startswith(one.site.address("")) else 0)
        where, agent = parts(url), workspace.user_agent if workspace else "windrow"
        allowed = read_allowed((), parts(named).host)
        site = Site(where.scheme, where.host.strip("[]"), where.port, agent=agent, allowed=allowed)
        return Source("try", self._collection.name, site)

    def _open_store(self, path: Path) -> RecordStore:
        """Open the store; one that keeps more beside its records opens a store of its own kind."""
        return RecordStore(path)

    def _open_to_search(self, path: Path) -> RecordStore:
        """Open the store; where it cannot be written, it is searched as it is."""
        try:
            return self._open_store(path)
        except (StoreError, DiskFull):
            return RecordStore(path, read_only=True)

    @contextmanager
    def _store(self, workspace: Workspace) -> Iterator[RecordStore | None]:
        path = self._path(workspace)
        if not path.is_file():
            yield None
            return
        store = self._open_store(path)
        try:
            yield store
        finally:
            store.close()
