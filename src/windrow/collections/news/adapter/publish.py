"""Write the articles of each run to the tree, and its raw responses and summaries to a directory.

All is derived from the ledger and the records. A run that was killed is written again by the next one: files and
directories are renamed into place, and the index is committed last.
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
from windrow.collections.news.article import unique_texts
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
from windrow.model import Limits, RecordedAttempt
from windrow.reasons import Reason
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.records import AttemptStatement, RecordStore

_PAGE = 200
_DISK_FULL = 28


class NewsFolders(NamedTuple):
    """The folders of the tree, of the raw responses and of the archive, and how they are written."""

    articles: Path
    raw: Path
    archive: Path
    limits: Limits
    update: bool


@dataclass
class Publisher:
    """Updates the tree and the directories of runs from the ledger and the records."""

    ledger: Path
    records: Path
    trees: NewsFolders
    kinds: Mapping[str, str]
    """The configured kind of each source."""

    def __call__(self, pulse: Callable[[], bool]) -> Derived:
        """Write the runs that are not written yet, oldest first; return a summary, and the last run's failed sources.

        Raises StoreError, or DiskFull, if a file cannot be written.
        """
        ledger = Ledger(self.ledger)
        with (
            closing(ledger),
            closing(LateAttemptStore(self.records)) as store,
            closing(TreeIndex(self.records)) as index,
        ):
            new = runs = 0
            failed: dict[str, str] = {}
            try:
                attempts = _attempts(ledger, index.upto(), _upto(ledger, store))
                for session, session_attempts in groupby(attempts, key=lambda recorded: recorded.session):
                    if not pulse():
                        break
                    writer = _RunWriter(ledger, store, index, self, session)
                    new += writer.write(session_attempts, pulse)
                    failed = writer.failed()  # only the failures of the last run are reported
                    runs += 1
                while pulse() and (late := store.late_attempts(_PAGE)):
                    new += _RunWriter(ledger, store, index, self, 0).write_late(ledger.attempts.by_numbers(late))
                    store.remove_late_attempts(late)
            except OSError as error:
                kind = DiskFull if error.errno == _DISK_FULL else StoreError
                raise kind(f"the tree of articles cannot be written: {error}") from error
        return Derived(f"publish: {counted(new, 'new article')} of {counted(runs, 'run')}", failed)


def _upto(ledger: Ledger, store: RecordStore) -> int:
    """Return the last attempt up to which all documents are read; those of robots.txt need not be read."""
    read = store.checkpoint()
    return read if ledger.attempts.after("news", read, 1) else ledger.attempts.last_number()


def _attempts(ledger: Ledger, after: int, upto: int) -> Iterator[RecordedAttempt]:
    while attempts := ledger.attempts.logged_after("news", after, _PAGE):
        for attempt in attempts:
            if attempt.recorded.seq > upto:
                return
            yield attempt.recorded
        after = attempts[-1].recorded.seq


class _RunWriter:
    def __init__(
        self, ledger: Ledger, store: LateAttemptStore, index: TreeIndex, owner: Publisher, session: int
    ) -> None:
        self._kinds = owner.kinds
        self._ledger = ledger
        self._store = store
        self._index = index
        self._trees = owner.trees
        self._session = session
        self._raw: dict[str, RawRun] = {}
        self._refused: dict[str, str] = {}  # by source, the error of its first list that failed
        self._succeeded: set[str] = set()  # sources of which some list could be used

    def failed(self) -> dict[str, str]:
        """Return the sources whose lists all failed, with the error of the first."""
        return {source: error for source, error in self._refused.items() if source not in self._succeeded}

    def write(self, attempts: Iterable[RecordedAttempt], pulse: Callable[[], bool]) -> int:
        """Write a run; return how many articles are new."""
        last, opened = 0, datetime.now(UTC)
        with self._index.run():
            for page in _pages(attempts):
                statements: dict[int, list[AttemptStatement]] = {}
                for statement in self._store.statements([recorded.seq for recorded in page]):
                    statements.setdefault(statement.attempt, []).append(statement)
                for recorded in page:
                    last, opened = recorded.seq, recorded.opened
                    if recorded.attempt.kind in {REQUEST, CAPTURED}:
                        self._attempt(recorded, statements.get(recorded.seq, []))
                    elif recorded.attempt.kind == ROBOTS:
                        self._take_robots(recorded)
                pulse()
            os.sync()  # before the index is committed
            for kind in sorted(self._raw, key=KINDS.index):
                epoch = self._index.epoch(self._session, kind, int(opened.timestamp()))
                self._index.take(self._session, kind, self._raw[kind].finish(self._trees.raw, epoch))
            self._index.reach(last)
        return sum(run.counts["articles_new"] for run in self._raw.values())

    def write_late(self, attempts: Iterable[RecordedAttempt]) -> int:
        """Write the articles of responses that were read after their run, whose directory is not changed.

        An existing file is changed only by the latest version of its article. Return how many are new.
        """
        new = 0
        with self._index.run():
            for recorded in attempts:
                kind = kind_of(self._name(recorded))
                for statement in self._store.statements([recorded.seq]) if kind in KINDS else ():
                    is_latest = self._store.is_latest(statement)
                    new += self._write_article(statement, recorded, kind, update=is_latest)[0] == "articles_new"
            os.sync()
        return new

    def _name(self, recorded: RecordedAttempt) -> str:
        """Return the name that the discovery gave a request, or an empty text."""
        request = self._ledger.requests.asked(recorded.seq)
        return str(json.loads(request.context).get("name", "")) if request and request.context else ""

    def _attempt(self, recorded: RecordedAttempt, statements: list[AttemptStatement]) -> None:
        name = self._name(recorded)
        kind, followed = kind_of(name), self._ledger.requests.followed(recorded.seq)
        if followed is not None and name and not name.endswith(f".{ARTICLE}"):
            self._note_success(recorded, followed)
        if name == HOME:
            kind = self._kind_of_home(recorded, followed)
        if kind not in KINDS:
            return
        raw = self._run_of(kind, recorded)
        if name != NUMBERS:  # a list of numbers has no posts
            is_article = not name or name.endswith(f".{ARTICLE}")
            raw.take(recorded, followed, self._ledger.captures, is_article=is_article)
        if not statements and (failure := _failure(recorded, name)):
            if self._index.is_first(f"{kind} {recorded.attempt.url}"):
                raw.count("errors", failure, recorded.attempt.url)
            return
        for statement in statements:
            spelling = "" if statement.reason else statement.url
            if not self._index.is_first(f"{kind} {recorded.source} {statement.key} {spelling}"):
                continue  # another page of this run has it, too
            raw.count(*self._write_article(statement, recorded, kind), recorded.attempt.url)

    def _kind_of_home(self, recorded: RecordedAttempt, followed: Followed | None) -> str:
        """Return the kind whose directory gets the response of a front page; "" if it only leads to other addresses."""
        if not _is_there(recorded) or (followed is not None and followed.reason is not None):
            return "page"  # its kind is not known, but the failure must be reported
        if followed is None or followed.ending in {"", KNOWN}:
            return ""
        kind: str = self._ledger.requests.learned("news", recorded.source).get("kind", "")
        return kind if kind in {"feed", "page"} else ""

    def _note_success(self, recorded: RecordedAttempt, followed: Followed) -> None:
        if followed.reason is None and _is_there(recorded):
            self._succeeded.add(recorded.source)
        elif followed.reason is not None:
            self._refused.setdefault(recorded.source, f"{recorded.attempt.url}: {refusal_of(followed)}")

    def _take_robots(self, recorded: RecordedAttempt) -> None:
        """Report a host whose robots.txt failed: nothing else of it is requested, so no other response reports it."""
        attempt = recorded.attempt
        if attempt.reason is None and attempt.status is not None and attempt.status < 500 and attempt.status != 429:
            return
        kind = self._kinds.get(recorded.source, "auto")
        if kind not in KINDS:
            kind = self._ledger.requests.learned("news", recorded.source).get("kind", "page")
        self._run_of(kind, recorded).take_refusal(recorded)

    def _run_of(self, kind: str, recorded: RecordedAttempt) -> RawRun:
        run = self._raw.get(kind)
        if run is None:
            run = self._raw[kind] = RawRun(kind, self._session, self._trees, recorded.opened, self._index.is_first)
        return run

    def _write_article(
        self, statement: AttemptStatement, recorded: RecordedAttempt, kind: str, *, update: bool = True
    ) -> tuple[str, str]:
        """Write an article if it is new, or if it changed and `update` is set; return the outcome and its detail."""
        if statement.reason is Reason.FORGOTTEN:
            return "forgotten", ""
        if statement.reason is Reason.NOT_WANTED:
            return "articles_skipped_image_type", statement.message
        if statement.reason is not None:
            return "errors", str(statement.reason)
        if not statement.json:
            return ("gone" if statement.url in {"", recorded.attempt.url} else "moved"), ""
        observed, aside = json.loads(statement.json), json.loads(statement.aside or "{}")
        # `aside` is that of the first spelling of the address with this value.
        aliases = unique_texts([*aside.get("aliases", ()), standard.alias(statement.url or statement.key)])
        first_seen = int(recorded.opened.timestamp())
        site = standard.domain(recorded.attempt.url)
        known = self._index.find(aliases)
        if known is not None:
            self._index.name(known.id, aliases)
            changed = update and self._trees.update and self._revise(known, observed, first_seen, kind, site)
            return "articles_skipped", "updated" if changed else ""
        file = f"{observed['source_domain']}/{standard.file_name(observed['url'])}"
        article = observed | {"first_seen_timestamp_gmt": first_seen}
        file_text = standard.format_article(article)
        path = self._trees.articles / file
        existing = _read(path)
        is_new = existing is None or existing == file_text
        if existing is None:
            _write_whole(path, file_text)
        elif not is_new:
            first_seen = min(first_seen, _first_seen(_parse_article(existing)) or first_seen)
        row = WrittenArticle(0, file, observed["url"], first_seen, kind, standard.content_hash(observed), [], site)
        self._index.add(row, aliases)
        date_doubt = observed.get("metadata", {}).get("date_doubt", "")
        return ("articles_new" if is_new else "articles_skipped"), f"doubtful_date: {date_doubt}" if date_doubt else ""

    def _revise(self, known: WrittenArticle, observed: dict[str, Any], seen: int, kind: str, site: str) -> bool:
        """Rewrite an article if its content changed; return whether it did.

        A less reliable kind of source and another `site` change nothing, as any site may list the address of another's
        article. The article's own site may change what was read from another one.
        """
        own_domain = standard.domain(known.url)
        written_from = known.site
        if site not in {own_domain, written_from}:
            return False
        if KINDS.index(kind) > KINDS.index(known.kind) and written_from in {own_domain, site}:
            return False
        article = observed | {"url": known.url, "source_domain": known.file.partition("/")[0]}
        if observed["url"] != known.url:
            article["metadata"] = {"canonical_url": observed["url"], **observed.get("metadata", {})}
        canonical = {"canonical_url": observed["url"]} if observed["url"] != known.url else {}
        content_hash = standard.content_hash(article | canonical)
        path = self._trees.articles / known.file
        if content_hash == known.hash and path.exists():
            return False
        existing = _parse_article(_read(path))
        fields = {*existing, *article} - {"first_seen_timestamp_gmt", "metadata"}
        changed = sorted([*canonical, *(field for field in fields if existing.get(field) != article.get(field))])
        revisions = known.revisions or [{"seen": known.first_seen, "hash": known.hash, "changed": []}]
        if revisions[-1]["hash"] != content_hash:
            revisions = _revisions_written(existing, revisions, content_hash) or [
                *revisions, {"seen": seen, "hash": content_hash, "changed": changed},
            ]  # fmt: skip
        first_seen = min(known.first_seen, _first_seen(existing) or known.first_seen)
        article["metadata"] = {**article.get("metadata", {}), "revisions": revisions}
        _write_whole(path, standard.format_article(article | {"first_seen_timestamp_gmt": first_seen}))
        self._index.revise(
            known._replace(hash=content_hash, kind=kind, revisions=revisions, first_seen=first_seen, site=site)
        )
        return True


def _is_there(recorded: RecordedAttempt) -> bool:
    return recorded.attempt.reason is None and recorded.attempt.status in {200, 304}


def _failure(recorded: RecordedAttempt, name: str) -> str:
    """Return why an article's page failed, or an empty text if it did not, and for lists and redirects."""
    attempt = recorded.attempt
    if not name.endswith(f".{ARTICLE}") or _is_there(recorded):
        return ""
    return str(attempt.reason) if attempt.reason else f"status {attempt.status}" if not attempt.location else ""


def _revisions_written(
    existing: Mapping[str, Any], revisions: list[dict[str, Any]], content_hash: str
) -> list[dict[str, Any]] | None:
    """Return the revisions of a file if a killed run already wrote the next one, `content_hash`; None otherwise."""
    metadata = existing.get("metadata")
    stored = metadata.get("revisions") if isinstance(metadata, dict) else None
    count = len(revisions)
    if not isinstance(stored, list) or stored[:count] != revisions or len(stored) <= count:
        return None
    following = stored[count]
    return stored[: count + 1] if isinstance(following, dict) and following.get("hash") == content_hash else None


def _pages(attempts: Iterable[RecordedAttempt]) -> Iterator[list[RecordedAttempt]]:
    page: list[RecordedAttempt] = []
    for attempt in attempts:
        page.append(attempt)
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


def _parse_article(text: str | None) -> dict[str, Any]:
    """Return the article in the text of a file; an empty one if the file is damaged or missing."""
    try:
        article = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return article if isinstance(article, dict) else {}


def _first_seen(article: Mapping[str, Any]) -> int | None:
    seconds = article.get("first_seen_timestamp_gmt")
    return seconds if isinstance(seconds, int) and seconds > 0 else None


def _write_whole(path: Path, text: str) -> None:
    """Write a file under another name and rename it, so that it is never partly written; create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
