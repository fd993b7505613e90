"""The adapter of news: an adapter for JSON records that also writes a tree of files after each run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from windrow.adapters.adapter import Explanation, Export
from windrow.adapters.record_search import RecordFaces
from windrow.adapters.records import RecordAdapter
from windrow.caps import Excess
from windrow.collections.news import standard
from windrow.collections.news.adapter import export
from windrow.collections.news.adapter.publish import Publisher, publish_file
from windrow.collections.news.adapter.raw import NewsFolders
from windrow.collections.news.adapter.tree_index import TreeIndex, TreeMark, claimed_aliases
from windrow.config import Workspace
from windrow.contract import Collection
from windrow.digest import hash64
from windrow.engine.check import Fault
from windrow.engine.run import Harvest
from windrow.engine.takedown import TakedownTarget
from windrow.errors import StepError
from windrow.formats.json_page import load_json
from windrow.formats.url import normalise
from windrow.ledger import Ledger
from windrow.model import Limits
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.record_versions import RecordVersion
from windrow.stores.sqlite import store_errors
from windrow.stores.store_mark import StoreMark

_PAGE_SIZE = 500  # attempts that are read from the ledger at a time
_ATTEMPTS_PER_QUERY = 400  # attempts whose statements are read with one query


class NewsAdapter(RecordAdapter):
    """Connects the collection `news` with a workspace."""

    def __init__(self, collection: Collection) -> None:
        super().__init__(collection)
        forms = ("jsonl", "atom", "parquet", "warc")
        help_text = "all articles, the newest as a feed, or all responses as WARC"
        self.EXPORTS = (
            Export(
                "news", forms, help_text, self._export_form, "articles", count_left_out=self._count_left_out,
                find_excess=self._find_feed_excess,
            ),
        )  # fmt: skip

    def harvest(self, workspace: Workspace) -> Harvest:
        """Return what `RecordAdapter.harvest` returns, with a `Publisher` as the function of the step `publish`."""
        base = super().harvest(workspace)
        kinds = {source.name: str(source.options["kind"]) for source in workspace.of(self._collection.name)}
        publisher = Publisher(workspace.ledger, self._path(workspace), self._folders(workspace), kinds)
        return replace(base, derivations={"publish": publisher}, limits=_limits(workspace))

    def _open_store(self, path: Path) -> LateAttemptStore:
        return LateAttemptStore(path, self._collection.columns)

    def _faces(self) -> RecordFaces:
        from windrow.collections.news.adapter.home import ARTICLES  # noqa: PLC0415 loaded when used

        return ARTICLES

    def marks(self, workspace: Workspace, ledger: Ledger) -> Mapping[str, Callable[[], StoreMark]]:
        """Return how to read how far the records and the tree go; a tree of another workspace is not compared."""
        tree = self._folders(workspace).articles
        owner = ledger.sessions.identity()
        return {**super().marks(workspace, ledger), tree.name: lambda: TreeMark(tree).mark().within(owner)}

    def check(self, workspace: Workspace, ledger: Ledger) -> Iterable[Fault]:
        """Yield the faults of the records, and of each written file that is missing, unreadable, not valid or older."""
        yield from super().check(workspace, ledger)
        path, tree = self._path(workspace), self._folders(workspace).articles
        if not path.is_file():
            return
        yield from self._check_unwritten(path)
        hint = "move the file away, then windrow replay; the next run then writes it"
        with closing(TreeIndex(path)) as index:
            for file in index.files():
                if not (tree / file).is_file():
                    yield Fault(file, "was written and does not exist any more", hint.partition(", then ")[2])
                    continue
                faults = (fault for fault in _check_file(tree / file, file) if isinstance(fault, Fault))
                yield from (fault._replace(hint=hint) for fault in faults)
            for file, hashes in index.rewritten():
                if older := _find_older_version(tree / file, hashes):
                    problem = f"is an older copy: it has version {older} of {len(hashes)}"
                    yield Fault(file, problem, hint)

    def _check_unwritten(self, path: Path) -> Iterator[Fault]:
        """Yield a fault for each current record whose article has no file, although its run was written."""
        with closing(LateAttemptStore(path)) as store, closing(TreeIndex(path)) as index, store_errors(path):
            for key, aside_json in store.settled_records(index.last_attempt()):
                aside = json.loads(aside_json or "{}")
                aliases = [*aside.get("aliases", ()), standard.alias(key)]
                if index.find(key, aliases, aside.get("name", "")) is None:
                    yield Fault(key, "has a record and no file", "windrow replay; the next run then writes it")

    TREE = "*/*.json"

    def check_tree(self, folder: Path) -> Iterator[Fault | int]:
        """Check a tree of articles, whichever program wrote it.

        Yield faults, such as violations of the standard, and the size in bytes of each article's file that was read.
        """
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir() or path.name.startswith("_"):
                continue
            if path.suffix != ".json" or path.is_symlink() or not path.is_file() or path.parent.parent != folder:
                yield Fault(name, "is not the file of an article: the path of such a file is DOMAIN/MD5.json")
                continue
            yield from _check_file(path, name)

    def _export_form(self, workspace: Workspace, form: str, out: TextIO) -> int:
        """Write all valid articles, or the newest for "atom", or all kept responses for "warc"; return how many."""
        folders = self._folders(workspace)
        if form == "warc":
            return self._export_warc(workspace, out)
        if form == "atom":
            return export.write_atom(workspace, folders.articles, out)
        return (export.write_parquet if form == "parquet" else export.write_jsonl)(folders.articles, out)

    def _count_left_out(self, workspace: Workspace, form: str) -> int:
        if form == "warc":
            return 0
        path, tree = self._path(workspace), self._folders(workspace).articles
        lost = 0  # as after the tree's disk was not mounted
        if path.is_file():
            with closing(TreeIndex(path)) as index:
                lost = sum(not (tree / file).is_file() for file in index.files())
        return lost + export.count_invalid(tree)

    def _find_feed_excess(self, workspace: Workspace, form: str) -> tuple[Excess, ...]:
        if form != "atom":
            return ()
        count = sum(1 for _ in export.read_articles(self._folders(workspace).articles))
        return export.feed_cap(workspace).find_excess(count)

    def _export_warc(self, workspace: Workspace, out: TextIO) -> int:
        if not workspace.ledger.exists():
            return 0
        count = last_attempt = 0
        with closing(Ledger(workspace.ledger)) as ledger:
            while attempts := ledger.attempts.after(self._collection.name, last_attempt, _PAGE_SIZE):
                for recorded in attempts:
                    if (kept := recorded.attempt.kept) is not None:
                        with (workspace.archive.folder / kept.place.warc).open("rb") as file:
                            file.seek(kept.place.offset)
                            out.buffer.write(file.read(kept.place.length))
                        count += 1
                last_attempt = attempts[-1].seq
        return count

    def explain(self, workspace: Workspace, ledger: Ledger, name: str) -> Explanation | None:
        """Explain a name or, if it is not known, the article at another spelling. Return None if neither is known."""
        explanation = super().explain(workspace, ledger, name)
        urls = self._articles_at(workspace, name) if explanation is None else ()
        return super().explain(workspace, ledger, urls[0]) if urls else explanation

    def takedown_targets(self, workspace: Workspace, ledger: Ledger, name: str) -> Iterator[TakedownTarget]:
        """Yield the targets of a takedown of an article: the addresses of all its versions, and the lists that name it.

        The lists are shared targets, because they name other articles, too.
        """
        urls = self._articles_at(workspace, name)
        addresses = (*(urls or (name,)), *self._addresses_of(workspace, urls))
        own_urls = {hash64(normalise(own_url).url): own_url for own_url in addresses}  # by their numbers on the ledger
        for url in urls or (name,):
            for target in super().takedown_targets(workspace, ledger, url):
                yield target._replace(shared=True) if target.address not in own_urls else target
        for address, url in own_urls.items():
            # an article that was taken down earlier has no record; no host has the number -1
            if urls or ledger.takedowns.of(address, host=-1):
                yield TakedownTarget(url, address, collection=self._collection.name)

    def _addresses_of(self, workspace: Workspace, urls: Sequence[str]) -> tuple[str, ...]:
        with self._store(workspace) as store:
            addresses = [version.url for url in urls for version in store.history(url)] if store else []
        return tuple(dict.fromkeys(addresses))

    def _articles_at(self, workspace: Workspace, url: str) -> tuple[str, ...]:
        """Return the keys of the articles at an address, in any spelling: from the records, or else from the tree."""
        with self._store(workspace) as store:
            if store is None:
                return ()
            with closing(TreeIndex(self._path(workspace))) as index, store_errors(index.path):
                written = index.find(url, claimed_aliases(standard.alias(url)))
            key = store.key_of_alias(standard.alias(url))
            urls = dict.fromkeys(name for name in (url, key, written.url if written else "") if name)
            return tuple(name for name in urls if store.has_record(name)) or ((written.url,) if written else ())

    def remove_taken_down(self, workspace: Workspace, target: TakedownTarget, attempts: Sequence[int]) -> int:
        """Remove the target's articles from records, tree and raw responses.

        Return how many observations were removed.
        """
        urls: set[str] = set()
        with self._store(workspace) as store:
            for start in range(0, len(attempts) if store else 0, _ATTEMPTS_PER_QUERY):
                page = attempts[start : start + _ATTEMPTS_PER_QUERY]
                urls |= {statement.key for statement in store.statements(page)} if store else set()
        if not target.host:  # the target is an address; the attempts may be at lists with other articles
            targets = {url for url in (*urls, target.name) if hash64(normalise(url).url) == target.address}
            target_aliases = {standard.alias(url) for url in targets}
            urls = {url for url in urls | targets if standard.alias(url) in target_aliases}
        if urls:
            self._remove_files(workspace, urls, self._read_otherwise(workspace, urls, attempts) if target.host else {})
        return super().remove_taken_down(workspace, target, attempts)

    def _read_otherwise(
        self, workspace: Workspace, urls: Iterable[str], attempts: Sequence[int]
    ) -> dict[str, RecordVersion]:
        """Return, by address, the latest version of each article that other attempts than `attempts` observed, too."""
        removed = set(attempts)
        with self._store(workspace) as store:
            histories = ((url, store.history(url)) for url in urls if store)
            observed = (
                (url, [version for version in history if version.attempt not in removed]) for url, history in histories
            )
            return {url: versions[-1] for url, versions in observed if versions and versions[-1].value}

    def _remove_files(self, workspace: Workspace, urls: set[str], remaining: Mapping[str, RecordVersion]) -> None:
        """Remove articles from the tree and the raw responses.

        Of an article in `remaining` another source has this version: its file stays if it has this content. Otherwise
        the next run writes the file again.
        """
        folders = self._folders(workspace)
        with closing(LateAttemptStore(self._path(workspace))) as store:
            store.add_late_attempts((version.attempt, url) for url, version in remaining.items())
        with closing(TreeIndex(self._path(workspace))) as index, index.writing_run():
            for url in sorted(urls):
                written = index.find(url, [standard.alias(url)])
                version = remaining.get(url)
                if version and written and written.hash == standard.content_hash(version.value):
                    continue
                # After a replay the index is empty.
                file = written.file if written else f"{standard.domain(url)}/{standard.file_name(url)}"
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
            _limits(workspace), rewrites_changed=bool(values["news.rewrite_changed"]),
        )  # fmt: skip


def _check_file(path: Path, name: str) -> Iterator[Fault | int]:
    """Yield the size in bytes and the faults of an article's file, or only a fault if it is unreadable or too large."""
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= standard.MAX_FILE_SIZE else b""
    except OSError as error:
        yield Fault(name, f"cannot be read: {error.strerror}")
        return
    if size > standard.MAX_FILE_SIZE:
        yield Fault(name, f"has more than {standard.MAX_FILE_SIZE} bytes")
        return
    yield size
    for field, problem in standard.check_file(path.parent.name, path.name, content):
        yield Fault(name, f"{field}: {problem}" if field else problem)


def _find_older_version(path: Path, hashes: Sequence[str]) -> int:
    """Return the number of the version in an article's file, from 1 on, or 0 for the latest or an unknown one.

    `hashes` are those of the versions that windrow wrote: another program may have written the file.
    """
    try:
        article = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, StepError):
        return 0  # `_check_file` says why
    metadata = article.get("metadata") if isinstance(article, dict) else None
    canonical_url = metadata.get("canonical_url") if isinstance(metadata, dict) else None
    contents = [article, article | {"canonical_url": canonical_url}] if isinstance(article, dict) else []
    found_hashes = {standard.content_hash(content) for content in contents}
    versions = [number for number, version_hash in enumerate(hashes, 1) if version_hash in found_hashes]
    return versions[-1] if versions and versions[-1] < len(hashes) else 0


def _limits(workspace: Workspace) -> Limits:
    limits = workspace.limits
    largest = next(setting.value for setting in workspace.values if setting.name == "news.document_size")
    transfer_size, member_size = (min(size, largest) for size in (limits.transfer_size, limits.member_size))
    return replace(limits, transfer_size=transfer_size, member_size=member_size)


def _aliases(article: Mapping[str, Any]) -> set[str]:
    return {standard.alias(text) for name in ("link", "url") if isinstance(text := article.get(name), str)}


def _remove_articles(path: Path, urls: set[str]) -> None:
    """Remove the articles at the given addresses, in any spelling, from the file of a raw response.

    If an address is followed by the name of an article (`standard.split_name`), only the site in the name listed it.
    """
    response = json.loads(path.read_text(encoding="utf-8-sig"))
    list_key = "rows" if isinstance(response, dict) and "rows" in response else "body"  # the body of an envelope
    articles = response.get(list_key) if isinstance(response, dict) else response
    if not isinstance(articles, list):
        return
    aliases = {
        standard.alias(address) for address, name in map(standard.split_name, urls) if _is_file_of(path, name)
    } - {""}
    kept = [article for article in articles if not (isinstance(article, dict) and _aliases(article) & aliases)]
    if len(kept) < len(articles):
        remaining = {**response, list_key: kept} if isinstance(response, dict) else kept
        publish_file(path, json.dumps(remaining, ensure_ascii=False))


def _is_file_of(path: Path, name: str) -> bool:
    """Return whether a file of raw responses is that of the site in an article's name; True if the name is empty.

    >>> _is_file_of(Path("a_example_8080.json"), "wordpress:a.example:8080/blog/7")
    True
    >>> _is_file_of(Path("b_example.json"), "wordpress:a.example/7")
    False
    """
    site = name.partition(":")[2].partition("/")[0].replace(".", "_").replace(":", "_")
    rest = path.stem.removeprefix(site)
    return not site or (rest != path.stem and not rest.strip("_0123456789"))
