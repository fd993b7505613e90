"""Write what each run brought: a file for each new article, and the raw replies and summaries of the run.

All of it follows from the ledger and the records. What a killed run left half written is written again by the next one:
files are put in place whole, a run's directory comes with all that is in it, and what was written is noted last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from windrow.collections.news import standard
from windrow.collections.news.adapter.raw import RawRun, refusal_of
from windrow.collections.news.adapter.tree_index import TreeIndex, WrittenArticle
from windrow.collections.news.article import distinct
from windrow.collections.news.collection import KINDS
from windrow.collections.news.discover import HOME, KNOWN, kind_of
from windrow.collections.news.feed import ARTICLE
from windrow.collections.news.wordpress_gone import NUMBERS
from windrow.contract import CAPTURED, REQUEST, ROBOTS
from windrow.engine.run import Derived
from windrow.errors import DiskFull, StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.rows import Followed
from windrow.model import Limits, Recorded
from windrow.reasons import Reason
from windrow.stores.late_visits import LateVisitStore
from windrow.stores.records import RecordStore, VisitStatement

_PAGE = 200
_DISK_FULL = 28


class NewsFolders(NamedTuple):
    """Where the tree of articles and the raw replies are written, and where the replies are kept."""

    articles: Path
    raw: Path
    archive: Path
    limits: Limits
    update: bool


@dataclass
class Publisher:
    """Brings the trees up to date with the records."""

    ledger: Path
    records: Path
    trees: NewsFolders
    kinds: Mapping[str, str]
    """What each source is told to be."""

    def __call__(self, pulse: Callable[[], bool]) -> Derived:
        """Write the runs that were not written yet, the oldest first; return what was done, and whose lists failed."""
        ledger = Ledger(self.ledger)
        with closing(ledger), closing(LateVisitStore(self.records)) as store, closing(TreeIndex(self.records)) as index:
            new = runs = 0
            failed: dict[str, str] = {}
            try:
                visits = _visits(ledger, index.upto(), _upto(ledger, store))
                for session, some in groupby(visits, key=lambda visit: visit.session):
                    if not pulse():
                        break
                    writing = _Writing(ledger, store, index, self, session)
                    new += writing.write(some, pulse)
                    failed = writing.failed()  # of the last run: what an earlier one met says nothing of today
                    runs += 1
                while pulse() and (late := store.late_visits(_PAGE)):
                    new += _Writing(ledger, store, index, self, 0).write_late(ledger.attempts.visits_named(late))
                    store.remove_late_visits(late)
            except OSError as error:
                kind = DiskFull if error.errno == _DISK_FULL else StoreError
                raise kind(f"the tree of articles cannot be written: {error}") from error
        return Derived(f"publish: {counted(new, 'new article')} of {counted(runs, 'run')}", failed)


def _upto(ledger: Ledger, store: RecordStore) -> int:
    """Return up to which visit all is read: that a host gave no rules, and was asked nothing, is no document."""
    read = store.checkpoint()
    return read if ledger.attempts.visits_after("news", read, 1) else ledger.attempts.last_visit()


def _visits(ledger: Ledger, after: int, upto: int) -> Iterator[Recorded]:
    while visits := ledger.attempts.visits_logged("news", after, _PAGE):
        for visit in visits:
            if visit.recorded.seq > upto:
                return
            yield visit.recorded
        after = visits[-1].recorded.seq


class _Writing:
    """One run while it is written."""

    def __init__(self, ledger: Ledger, store: LateVisitStore, index: TreeIndex, told: Publisher, session: int) -> None:
        self._kinds = told.kinds
        self._ledger = ledger
        self._store = store
        self._index = index
        self._trees = told.trees
        self._session = session
        self._raw: dict[str, RawRun] = {}
        self._refused: dict[str, str] = {}  # by source, why its first list of no use was of none
        self._heard: set[str] = set()  # sources of which some list was of use

    def failed(self) -> dict[str, str]:
        """Return the sources whose lists were all of no use, and why."""
        return {source: why for source, why in self._refused.items() if source not in self._heard}

    def write(self, visits: Iterable[Recorded], pulse: Callable[[], bool]) -> int:
        """Write a run; return how many articles are new."""
        last, opened = 0, datetime.now(UTC)
        with self._index.run():
            for page in _pages(visits):
                told: dict[int, list[VisitStatement]] = {}
                for statement in self._store.statements([one.seq for one in page]):
                    told.setdefault(statement.visit, []).append(statement)
                for visit in page:
                    last, opened = visit.seq, visit.opened
                    if visit.attempt.kind in {REQUEST, CAPTURED}:
                        self._visit(visit, told.get(visit.seq, []))
                    elif visit.attempt.kind == ROBOTS:
                        self._take_rules(visit)
                pulse()
            os.sync()  # before it is noted that these files are there
            for kind in sorted(self._raw, key=KINDS.index):
                epoch = self._index.epoch(self._session, kind, int(opened.timestamp()))
                self._index.take(self._session, kind, self._raw[kind].finish(self._trees.raw, epoch))
            self._index.reach(last)
        return sum(one.counts["articles_new"] for one in self._raw.values())

    def write_late(self, visits: Iterable[Recorded]) -> int:
        """Write the articles of answers that were not read in their own run, whose directory stays as it is.

        A file that is there changes only by what is the latest that was said. Returns how many are new.
        """
        new = 0
        with self._index.run():
            for visit in visits:
                kind = kind_of(self._name(visit))
                for each in self._store.statements([visit.seq]) if kind in KINDS else ():
                    new += self._told(each, visit, kind, update=self._store.is_latest(each))[0] == "articles_new"
            os.sync()
        return new

    def _name(self, one: Recorded) -> str:
        """Return what the discovery calls a request; empty for an article that a list names."""
        asked = self._ledger.requests.asked(one.seq)
        return str(json.loads(asked.context).get("name", "")) if asked and asked.context else ""

    def _visit(self, one: Recorded, told: list[VisitStatement]) -> None:
        name = self._name(one)
        kind, followed = kind_of(name), self._ledger.requests.followed(one.seq)
        if followed is not None and name and not name.endswith(f".{ARTICLE}"):
            self._hear(one, followed)
        if name == HOME:
            kind = self._kind_of_home(one, followed)
        if kind not in KINDS:
            return
        raw = self._run_of(kind, one)
        if name != NUMBERS:  # numbers are no posts
            is_article = not name or name.endswith(f".{ARTICLE}")
            raw.take(one, followed, self._ledger.captures, is_article=is_article)
        if not told and (why := _failure(one, name)):
            if self._index.is_first(f"{kind} {one.attempt.url}"):
                raw.count("errors", why, one.attempt.url)
            return
        for each in told:
            spelling = "" if each.reason else each.url
            if not self._index.is_first(f"{kind} {one.source} {each.key} {spelling}"):
                continue  # listed by a page that overlaps another one of this run
            raw.count(*self._told(each, one, kind), one.attempt.url)

    def _kind_of_home(self, one: Recorded, followed: Followed | None) -> str:
        """Return whose directory tells of a front page: none where it only says what the site offers elsewhere."""
        if not _is_there(one) or (followed is not None and followed.reason is not None):
            return "page"  # what the site offers is not known: how it did is told all the same
        if followed is None or followed.ending in {"", KNOWN}:
            return ""
        kind: str = self._ledger.requests.learned("news", one.source).get("kind", "")
        return kind if kind in {"feed", "page"} else ""

    def _hear(self, one: Recorded, followed: Followed) -> None:
        if followed.reason is None and _is_there(one):
            self._heard.add(one.source)
        elif followed.reason is not None:
            self._refused.setdefault(one.source, f"{one.attempt.url}: {refusal_of(followed)}")

    def _take_rules(self, one: Recorded) -> None:
        """Note a host whose robots.txt could not be had: nothing else is asked of it, so nothing else tells of it."""
        attempt = one.attempt
        if attempt.reason is None and attempt.status is not None and attempt.status < 500 and attempt.status != 429:
            return
        kind = self._kinds.get(one.source, "auto")
        if kind not in KINDS:
            kind = self._ledger.requests.learned("news", one.source).get("kind", "page")
        self._run_of(kind, one).take_refusal(one)

    def _run_of(self, kind: str, one: Recorded) -> RawRun:
        found = self._raw.get(kind)
        if found is None:
            found = self._raw[kind] = RawRun(kind, self._session, self._trees, one.opened, self._index.is_first)
        return found

    def _told(self, told: VisitStatement, visit: Recorded, kind: str, *, update: bool = True) -> tuple[str, str]:
        """Write an article where it is to be, in the place of an earlier one only with `update`.

        Returns what is counted, and what it is by.
        """
        if told.reason is Reason.FORGOTTEN:
            return "forgotten", ""
        if told.reason is Reason.NOT_WANTED:
            return "articles_skipped_image_type", told.message
        if told.reason is not None:
            return "errors", str(told.reason)
        if not told.json:
            return ("gone" if told.url in {"", visit.attempt.url} else "moved"), ""
        value, aside = json.loads(told.json), json.loads(told.aside or "{}")
        # What stands aside is that of the first spelling of its address that said this.
        aliases = distinct([*aside.get("aliases", ()), standard.alias(told.url or told.key)])
        first_seen = int(visit.opened.timestamp())
        site = standard.domain(visit.attempt.url)
        known = self._index.find(aliases)
        if known is not None:
            self._index.name(known.id, aliases)
            changed = update and self._trees.update and self._revise(known, value, first_seen, kind, site)
            return "articles_skipped", "updated" if changed else ""
        file = f"{value['source_domain']}/{standard.file_name(value['url'])}"
        article = value | {"first_seen_timestamp_gmt": first_seen}
        written = standard.spelled(article)
        path = self._trees.articles / file
        there = _read(path)
        is_new = there is None or there == written
        if there is None:
            _put(path, written)
        elif not is_new:
            first_seen = min(first_seen, _first_seen(_loaded(there)) or first_seen)
        row = WrittenArticle(0, file, value["url"], first_seen, kind, standard.content_hash(value), [], site)
        self._index.add(row, aliases)
        doubt = value.get("metadata", {}).get("date_doubt", "")
        return ("articles_new" if is_new else "articles_skipped"), f"doubtful_date: {doubt}" if doubt else ""

    def _revise(self, known: WrittenArticle, value: dict[str, Any], seen: int, kind: str, site: str) -> bool:
        """Write an article anew where it says something else.

        What a lesser kind of source says of it changes nothing, and what another `site` says changes nothing: any may
        name the address of an article that is not its own. The article's own site may change what another one wrote.
        """
        own = standard.domain(known.url)
        writer = known.site
        if site not in {own, writer}:
            return False
        if KINDS.index(kind) > KINDS.index(known.kind) and writer in {own, site}:
            return False
        article = value | {"url": known.url, "source_domain": known.file.partition("/")[0]}
        if value["url"] != known.url:
            article["metadata"] = {"canonical_url": value["url"], **value.get("metadata", {})}
        moved = {"canonical_url": value["url"]} if value["url"] != known.url else {}
        name = standard.content_hash(article | moved)
        path = self._trees.articles / known.file
        if name == known.hash and path.exists():
            return False
        before = _loaded(_read(path))
        fields = {*before, *article} - {"first_seen_timestamp_gmt", "metadata"}
        changed = sorted([*moved, *(field for field in fields if before.get(field) != article.get(field))])
        revisions = known.revisions or [{"seen": known.first_seen, "hash": known.hash, "changed": []}]
        if revisions[-1]["hash"] != name:
            revisions = _written_already(before, revisions, name) or [
                *revisions, {"seen": seen, "hash": name, "changed": changed},
            ]  # fmt: skip
        first = min(known.first_seen, _first_seen(before) or known.first_seen)
        article["metadata"] = {**article.get("metadata", {}), "revisions": revisions}
        _put(path, standard.spelled(article | {"first_seen_timestamp_gmt": first}))
        self._index.revise(known._replace(hash=name, kind=kind, revisions=revisions, first_seen=first, site=site))
        return True


def _is_there(one: Recorded) -> bool:
    return one.attempt.reason is None and one.attempt.status in {200, 304}


def _failure(one: Recorded, name: str) -> str:
    """Return why an article's page did not come; empty where it did, and for what only lists articles."""
    attempt = one.attempt
    if not name.endswith(f".{ARTICLE}") or _is_there(one):
        return ""
    return str(attempt.reason) if attempt.reason else f"status {attempt.status}" if not attempt.location else ""


def _written_already(
    before: Mapping[str, Any], revisions: list[dict[str, Any]], name: str
) -> list[dict[str, Any]] | None:
    """Return the revisions of a file that a killed run wrote, where the next one is the one that is to be written."""
    metadata = before.get("metadata")
    found = metadata.get("revisions") if isinstance(metadata, dict) else None
    count = len(revisions)
    if not isinstance(found, list) or found[:count] != revisions or len(found) <= count:
        return None
    following = found[count]
    return found[: count + 1] if isinstance(following, dict) and following.get("hash") == name else None


def _pages(visits: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    page: list[Recorded] = []
    for visit in visits:
        page.append(visit)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _loaded(text: str | None) -> dict[str, Any]:
    """Return what a file has; nothing where it is damaged, whoever wrote it."""
    try:
        told = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _first_seen(article: Mapping[str, Any]) -> int | None:
    found = article.get("first_seen_timestamp_gmt")
    return found if isinstance(found, int) and found > 0 else None


def _put(path: Path, text: str) -> None:
    """Write a file whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
