"""The adapter of news: that of JSON records, which also writes a tree of files after each run."""

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
from windrow.collections.news.feed import MAX_BYTES
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.digest import hash64
from windrow.engine.check import Fault
from windrow.engine.run import Harvest
from windrow.engine.takedown import TakedownTarget
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.model import Limits
from windrow.stores.late_attempts import LateAttemptStore


class NewsAdapter(RecordAdapter):
    """Connects the collection `news` with a workspace."""

    def __init__(self, collection: Collection) -> None:
        super().__init__(collection)
        forms = ("jsonl", "atom", "parquet", "warc")
        self.EXPORTS = (Export("news", forms, "its articles, or all replies as WARC", self._write, "articles"),)

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return the harvest of the configuration, with the publisher of the tree as its derivation."""
        base = super().harvest(workspace)
        kinds = {source.name: str(source.options["kind"]) for source in workspace.of(self._collection.name)}
        publisher = Publisher(workspace.ledger, self._path(workspace), self._folders(workspace), kinds)
        return replace(base, derivations={"publish": publisher}, limits=_limits(workspace))

    def _open_store(self, path: Path) -> LateAttemptStore:
        return LateAttemptStore(path)

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Check the records, and that the file of each article exists."""
        yield from super().check(workspace, ledger)
        path, tree = self._path(workspace), self._folders(workspace).articles
        if not path.is_file():
            return
        with closing(TreeIndex(path)) as index:
            for file in index.files():
                if not (tree / file).is_file():
                    yield Fault(file, "was written and is missing", "windrow replay, then the next run writes it")

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Check a tree of any program against the standard: yield faults, and the size of each file in bytes."""
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir() or path.name.startswith("_"):
                continue
            if path.suffix != ".json" or path.is_symlink() or not path.is_file() or path.parent.parent != folder:
                yield Fault(name, "is not an article; articles are DOMAIN/MD5.json")
                continue
            if path.stat().st_size > standard.MAX_BYTES:
                yield Fault(name, f"has more than {standard.MAX_BYTES} bytes")
                continue
            content = path.read_bytes()
            yield len(content)
            for field, problem in standard.check_file(path.parent.name, path.name, content):
                yield Fault(name, f"{field}: {problem}" if field else problem)

    def _write(self, workspace: Workspace, form: str, out: TextIO) -> int:
        folders = self._folders(workspace)
        if form == "warc":
            return self._warc(workspace, out)
        if form == "atom":
            return export.atom(workspace, folders.articles, out)
        return (export.parquet if form == "parquet" else export.jsonl)(folders.articles, out)

    def _warc(self, workspace: Workspace, out: TextIO) -> int:
        """Write the WARC records of all responses, as they are in the archive; return how many."""
        if not workspace.ledger.exists():
            return 0
        count = last = 0
        with closing(Ledger(workspace.ledger)) as ledger:
            while attempts := ledger.attempts.after(self._collection.name, last, 500):
                for recorded in attempts:
                    if (kept := recorded.attempt.kept) is not None:
                        with (workspace.archive.folder / kept.place.warc).open("rb") as file:
                            file.seek(kept.place.offset)
                            out.buffer.write(file.read(kept.place.length))
                        count += 1
                last = attempts[-1].seq
        return count

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain an address, or an article by any spelling of its address."""
        explanation = super().explain(workspace, ledger, name)
        urls = self._articles_at(workspace, name) if explanation is None else ()
        return super().explain(workspace, ledger, urls[0]) if urls else explanation

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield an article's addresses, and, as shared targets, the lists in which it is one of several articles."""
        urls = self._articles_at(workspace, name)
        addresses = (*(urls or (name,)), *self._addresses_of(workspace, urls))
        own_urls = {hash64(normalise(own_url).url): own_url for own_url in addresses}
        for url in urls or (name,):
            for target in super().takedown_targets(workspace, ledger, url):
                yield target._replace(shared=True) if target.address not in own_urls else target
        for address, url in own_urls.items():
            if urls or ledger.takedowns.of(address, -1):  # an article that was taken down before has no record
                yield TakedownTarget(url, address, 0, self._collection.name)

    def _addresses_of(self, workspace: Workspace, urls: Sequence[str]) -> tuple[str, ...]:
        """Return all addresses that versions of these articles have."""
        with self._store(workspace) as store:
            addresses = [version.url for url in urls for version in store.history(url)] if store else []
        return tuple(dict.fromkeys(addresses))

    def _articles_at(self, workspace: Workspace, url: str) -> tuple[str, ...]:
        """Return the addresses of an article in the records and in the tree, or () if there is no such article."""
        with self._store(workspace) as store:
            if store is None:
                return ()
            with closing(TreeIndex(self._path(workspace))) as index:
                known = index.find([standard.alias(url)])
            key = store.key_of_alias(standard.alias(url))
            names = dict.fromkeys(name for name in (url, key, known.url if known else "") if name)
            return tuple(name for name in names if store.has_record(name)) or ((known.url,) if known else ())

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove what was read at attempts from the records, from the tree and from the directories of runs."""
        urls: set[str] = set()
        with self._store(workspace) as store:
            for start in range(0, len(attempts) if store else 0, 400):
                urls |= (
                    {statement.key for statement in store.statements(attempts[start : start + 400])} if store else set()
                )
        if not target.host:  # of a list with other articles, remove only this one
            urls = {url for url in (*urls, target.name) if hash64(normalise(url).url) == target.address}
        if urls:
            self._unwrite(workspace, urls)
        return super().remove_taken_down(workspace, target, attempts)

    def _unwrite(self, workspace: Workspace, urls: set[str]) -> None:
        folders = self._folders(workspace)
        with closing(TreeIndex(self._path(workspace))) as index, index.run():
            for url in sorted(urls):
                written = index.find([standard.alias(url)])
                file = (
                    written.file if written else f"{standard.domain(url)}/{standard.file_name(url)}"
                )  # after a replay
                (folders.articles / file).unlink(missing_ok=True)
                if written is not None:
                    index.remove(written.id)
        for path in folders.raw.glob("*/*/*.json"):
            _remove_articles(path, urls)
        os.sync()

    def _folders(self, workspace: Workspace) -> NewsFolders:
        values = self._settings(workspace)
        return NewsFolders(
            Path(values["news.article_folder"]), Path(values["news.raw_folder"]), workspace.archive.folder,
            _limits(workspace), update=bool(values["news.rewrite_changed"]),
        )  # fmt: skip


def _limits(workspace: Workspace) -> Limits:
    """Return the limits of the workspace, lowered to the size that is parsed in memory."""
    limits = workspace.limits
    return replace(
        limits, transfer_size=min(limits.transfer_size, MAX_BYTES), member_size=min(limits.member_size, MAX_BYTES)
    )


def _remove_articles(path: Path, urls: set[str]) -> None:
    """Rewrite a raw response without the articles that have these addresses."""
    reply = json.loads(path.read_text(encoding="utf-8-sig"))
    name = "rows" if isinstance(reply, dict) and "rows" in reply else "body"  # the body of an envelope
    rows = reply.get(name) if isinstance(reply, dict) else reply
    if not isinstance(rows, list):
        return
    kept = [row for row in rows if not (isinstance(row, dict) and {row.get("link"), row.get("url")} & urls)]
    if len(kept) < len(rows):
        part = path.with_name(f".{path.name}.part")
        remaining = {**reply, name: kept} if isinstance(reply, dict) else kept
        part.write_text(json.dumps(remaining, ensure_ascii=False), encoding="utf-8")
        part.replace(path)
