"""The adapter of news: that of records, and a tree of files which is written after each run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from windrow.adapters.adapter import Explanation, Export
from windrow.adapters.records import RecordAdapter
from windrow.collections.news import standard
from windrow.collections.news.adapter import export
from windrow.collections.news.adapter.publish import NewsFolders, Publisher
from windrow.collections.news.adapter.tree_index import TreeIndex
from windrow.collections.news.feed import LARGEST
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.digest import number
from windrow.engine.check import Fault
from windrow.engine.run import Harvest
from windrow.engine.takedown import TakedownTarget
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.model import Limits
from windrow.stores.late_visits import LateVisitStore


class NewsAdapter(RecordAdapter):
    """Joins the collection with a workspace."""

    def __init__(self, collection: Collection) -> None:
        """Join the collection."""
        super().__init__(collection)
        forms = ("jsonl", "atom", "parquet", "warc")
        self.EXPORTS = (Export("news", forms, "its articles, or all replies as WARC", self._write, "articles"),)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Make the harvest that the configuration describes, and what writes the tree after it."""
        made = super().harvest(workspace)
        kinds = {one.name: str(one.options["kind"]) for one in workspace.of(self._collection.name)}
        publisher = Publisher(workspace.ledger, self._path(workspace), self._folders(workspace), kinds)
        return replace(made, derivations={"publish": publisher}, limits=_limits(workspace))

    def _open_store(self, path: Path) -> LateVisitStore:
        return LateVisitStore(path)

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Look through the store, and whether the articles that were written are there and valid."""
        yield from super().check(workspace, ledger)
        path, tree = self._path(workspace), self._folders(workspace).articles
        if not path.is_file():
            return
        with closing(TreeIndex(path)) as index:
            for file in index.files():
                if not (tree / file).is_file():
                    yield Fault(file, "was written and is not there", "windrow replay, then the next run writes it")

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Judge a tree by the standard, whoever wrote it: yield faults, and the bytes of each file."""
        for path in sorted(folder.rglob("*")):
            where = str(path.relative_to(folder))
            if path.is_dir() or path.name.startswith("_"):
                continue
            if path.suffix != ".json" or path.is_symlink() or not path.is_file() or path.parent.parent != folder:
                yield Fault(where, "is no article: wanted DOMAIN/MD5.json")
                continue
            if path.stat().st_size > standard.LARGEST:
                yield Fault(where, f"has more than {standard.LARGEST} bytes")
                continue
            content = path.read_bytes()
            yield len(content)
            for field, what in standard.judge_file(path.parent.name, path.name, content):
                yield Fault(where, f"{field}: {what}" if field else what)

    def _write(self, workspace: Workspace, form: str, out: TextIO) -> int:
        folders = self._folders(workspace)
        if form == "warc":
            return self._warc(workspace, out)
        if form == "atom":
            return export.atom(workspace, folders.articles, out)
        return (export.parquet if form == "parquet" else export.jsonl)(folders.articles, out)

    def _warc(self, workspace: Workspace, out: TextIO) -> int:
        """Write the records of all replies, as they lie in the archive."""
        if not workspace.ledger.exists():
            return 0
        count = last = 0
        with closing(Ledger(workspace.ledger)) as ledger:
            while visits := ledger.attempts.visits_after(self._collection.name, last, 500):
                for one in visits:
                    if (kept := one.attempt.kept) is not None:
                        with (workspace.archive.folder / kept.place.warc).open("rb") as file:
                            file.seek(kept.place.offset)
                            out.buffer.write(file.read(kept.place.length))
                        count += 1
                last = visits[-1].seq
        return count

    def explain(self, workspace: Workspace, ledger: Ledger, what: str) -> Explanation | None:
        """Tell the history of an article by any spelling of its address; or what became of an address."""
        found = super().explain(workspace, ledger, what)
        urls = self._articles_at(workspace, what) if found is None else ()
        return super().explain(workspace, ledger, urls[0]) if urls else found

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Take down an article at all its addresses, and what came of lists that told of it: those have others too."""
        urls = self._articles_at(workspace, name)
        own = {number(normalise(one).url): one for one in (*(urls or (name,)), *self._addresses_of(workspace, urls))}
        for url in urls or (name,):
            for one in super().takedown_targets(workspace, ledger, url):
                yield one._replace(shared=True) if one.address not in own else one
        for address, url in own.items():
            if urls or ledger.takedowns.of(address, -1):  # one that was taken down has no record any more
                yield TakedownTarget(url, address, 0, self._collection.name)

    def _addresses_of(self, workspace: Workspace, urls: Sequence[str]) -> tuple[str, ...]:
        """Return the spellings of their addresses at which articles were met."""
        with self._store(workspace) as store:
            told = [one.url for url in urls for one in store.history(url)] if store else []
        return tuple(dict.fromkeys(told))

    def _articles_at(self, workspace: Workspace, url: str) -> tuple[str, ...]:
        """Return the addresses by which records and the tree know an article; none where there is no such article."""
        with self._store(workspace) as store:
            if store is None:
                return ()
            with closing(TreeIndex(self._path(workspace))) as index:
                known = index.find([standard.alias(url)])
            key = store.key_of_alias(standard.alias(url))
            names = dict.fromkeys(one for one in (url, key, known.url if known else "") if one)
            return tuple(name for name in names if store.known(name)) or ((known.url,) if known else ())

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, visits: Sequence[int]) -> int:
        """Remove what visits said from the store, and what was written of it from both trees."""
        urls: set[str] = set()
        with self._store(workspace) as store:
            for start in range(0, len(visits) if store else 0, 400):
                urls |= (
                    {statement.key for statement in store.statements(visits[start : start + 400])} if store else set()
                )
        if not target.host:  # of a list that has others too, only what is named
            urls = {url for url in (*urls, target.name) if number(normalise(url).url) == target.address}
        if urls:
            self._unwrite(workspace, urls)
        return super().remove_taken_down(workspace, target, visits)

    def _unwrite(self, workspace: Workspace, urls: set[str]) -> None:
        folders = self._folders(workspace)
        with closing(TreeIndex(self._path(workspace))) as index, index.run():
            for url in sorted(urls):
                known = index.find([standard.alias(url)])
                file = known.file if known else f"{standard.domain(url)}/{standard.file_name(url)}"  # after a replay
                (folders.articles / file).unlink(missing_ok=True)
                if known is not None:
                    index.remove(known.id)
        for path in folders.raw.glob("*/*/*.json"):
            _leave_out(path, urls)
        os.sync()

    def _folders(self, workspace: Workspace) -> NewsFolders:
        values = self._values(workspace)
        return NewsFolders(
            Path(values["news.tree"]), Path(values["news.raw"]), workspace.archive.folder, _limits(workspace),
            update=bool(values["news.update"]),
        )  # fmt: skip


def _limits(workspace: Workspace) -> Limits:
    """Return how large answers may be: lists and pages are read as a whole."""
    limits = workspace.limits
    return replace(limits, transfer=min(limits.transfer, LARGEST), member=min(limits.member, LARGEST))


def _leave_out(path: Path, urls: set[str]) -> None:
    """Write a raw reply anew without what it says of these addresses."""
    told = json.loads(path.read_text(encoding="utf-8-sig"))
    name = "rows" if isinstance(told, dict) and "rows" in told else "body"  # the body of an envelope
    rows = told.get(name) if isinstance(told, dict) else told
    if not isinstance(rows, list):
        return
    kept = [row for row in rows if not (isinstance(row, dict) and {row.get("link"), row.get("url")} & urls)]
    if len(kept) < len(rows):
        part = path.with_name(f".{path.name}.part")
        rest = {**told, name: kept} if isinstance(told, dict) else kept
        part.write_text(json.dumps(rest, ensure_ascii=False), encoding="utf-8")
        part.replace(path)
