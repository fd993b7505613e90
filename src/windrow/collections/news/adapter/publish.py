"""Write each run's articles to the tree, and its raw responses and summaries to a directory for each kind of site.

Everything is derived from the ledger and the records. If a run is killed, the next one writes it again: files and
directories are renamed into place when they are complete, and the index is committed last. `pulse` reports progress and
returns False if the writing must stop.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from windrow.collections.news import standard
from windrow.collections.news.adapter.raw import NewsFolders, RawRun, describe_refusal
from windrow.collections.news.adapter.tree_index import TreeIndex, TreeMark, WrittenArticle, claimed_aliases
from windrow.collections.news.article import unique_texts
from windrow.collections.news.collection import COLLECTION, KINDS
from windrow.collections.news.discover import HOME, NO_REQUESTS_ENDING, kind_of
from windrow.collections.news.feed import ARTICLE
from windrow.collections.news.wordpress_gone import NUMBERS
from windrow.contract import CAPTURED, REQUEST, ROBOTS
from windrow.engine.run import Derived
from windrow.errors import DISK_FULL_ERRNOS, DiskFull, StoreError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.ledger.rows import Followed
from windrow.ledger.sessions import RuleCount
from windrow.model import RecordedAttempt
from windrow.private_files import published_files, write_whole
from windrow.reasons import Reason
from windrow.stores.generations import begin_generation, is_older
from windrow.stores.late_attempts import LateAttemptStore
from windrow.stores.record_versions import AttemptStatement
from windrow.stores.records import RecordStore
from windrow.stores.store_mark import StoreMark, mark_written

_NO_ARTICLE = "file_not_valid"  # the detail of a file that is empty or not JSON
_INVALID_FILE_RULE = "its file is empty or not JSON (see `windrow check`)"
_PAGE_SIZE = 200  # attempts that are processed at a time


@dataclass
class Publisher:
    """Writes the tree and the directories of runs. `ledger` and `records` are the files of the databases."""

    ledger: Path
    records: Path
    folders: NewsFolders
    kinds: Mapping[str, str]
    """The configured kind of each source, by the name of the source."""

    def __call__(self, pulse: Callable[[], bool]) -> Derived:
        """Write runs that are not written yet, oldest first, then articles that were read after their run was written.

        Stop if `pulse` returns False. Return a summary, and the errors of the sources that failed in the last of these
        runs. Raise StoreError or DiskFull if a file cannot be written.
        """
        ledger = Ledger(self.ledger)
        with (
            closing(ledger),
            closing(LateAttemptStore(self.records)) as store,
            closing(TreeIndex(self.records)) as index,
        ):
            new_articles = runs = earlier_runs = 0
            left_out: tuple[RuleCount, ...] = ()
            failed_sources: dict[str, str] = {}
            try:
                mark = TreeMark(self.folders.articles)
                has_older_tree = is_older(mark, index)
                written_files = (index,) if has_older_tree else (mark, index)
                last_read = _last_read_attempt(ledger, store)
                store_mark = StoreMark(ledger.sessions.identity(), last_read)
                attempts = ledger.attempts.logged_between(COLLECTION.name, index.last_attempt(), last_read)
                for session, session_attempts in groupby(attempts, key=lambda recorded: recorded.session):
                    if not pulse():
                        break
                    mark_written(store_mark, mark)
                    begin_generation(*written_files)
                    writer = _RunWriter(ledger, store, index, self, session)
                    new_articles += writer.write(session_attempts, pulse)
                    left_out += tuple(writer.count_invalid_files())
                    failed_sources = writer.failed_sources()  # only those of the last run are reported
                    runs += not writer.was_written()
                    earlier_runs += writer.was_written()
                while pulse() and (late_attempts := store.late_attempts(_PAGE_SIZE)):
                    mark_written(store_mark, mark)
                    begin_generation(*written_files)
                    late_writer = _RunWriter(ledger, store, index, self, session=0)  # the session is not used
                    new_articles += late_writer.write_late(ledger.attempts.by_numbers(late_attempts))
                    store.remove_late_attempts(late_attempts)
            except OSError as error:
                error_class = DiskFull if error.errno in DISK_FULL_ERRNOS else StoreError
                raise error_class(f"an article or the directory of a run cannot be written: {error}") from error
        message = f"publish: {counted(new_articles, 'new article')} of {counted(runs, 'run')}"
        if earlier_runs:  # after a replay
            message += f"; {counted(earlier_runs, 'earlier run')} had been written before"
        if has_older_tree:
            problem = "is an older copy or another folder: windrow replay, and the next run writes what it lacks"
            failed_sources = failed_sources | {"": f"{self.folders.articles} {problem}"}
        return Derived(message, failed_sources, left_out=left_out)


def _last_read_attempt(ledger: Ledger, store: RecordStore) -> int:
    """Return the highest number up to which every attempt was read. Requests for robots.txt do not count."""
    checkpoint = store.checkpoint()
    return checkpoint if ledger.attempts.after(COLLECTION.name, checkpoint, 1) else ledger.attempts.last_number()


class _RunWriter:
    """Writes the articles of attempts to the tree and, for a run, a directory for each kind of site."""

    def __init__(
        self, ledger: Ledger, store: LateAttemptStore, index: TreeIndex, publisher: Publisher, session: int
    ) -> None:
        self._kinds = publisher.kinds
        self._ledger = ledger
        self._store = store
        self._index = index
        self._folders = publisher.folders
        self._session = session
        self._raw_runs: dict[str, RawRun] = {}  # by kind
        self._errors: dict[str, str] = {}  # the error of the first list that failed, by source
        self._invalid_files: dict[str, list[str]] = {}  # the articles whose files have no article, by source
        self._succeeded: set[str] = set()  # sources with a list that could be used
        self._written_files = 0  # files that were missing
        self._identical_files: Counter[str] = Counter()  # files of new articles that were there already, by kind

    def failed_sources(self) -> dict[str, str]:
        """Return a dict from each source with a failed list and without a usable list to its first error."""
        return {source: error for source, error in self._errors.items() if source not in self._succeeded}

    def was_written(self) -> bool:
        """Return whether all directories of the run were there already, as after a replay."""
        return bool(self._raw_runs) and all(run.was_written for run in self._raw_runs.values())

    def count_invalid_files(self) -> Iterator[RuleCount]:
        """Yield, by source, how many articles are not written because their files are there without an article."""
        for source, urls in self._invalid_files.items():
            yield RuleCount(source, Reason.NOT_WELL_FORMED, _INVALID_FILE_RULE, len(urls), urls[0])

    @published_files()
    def write(self, attempts: Iterable[RecordedAttempt], pulse: Callable[[], bool]) -> int:
        """Write a run from its attempts; return the number of new articles. The result of `pulse` is ignored.

        An article whose file is there already is new only if the run was not written before: a killed process wrote it.
        """
        last_attempt, session_began = 0, datetime.now(UTC)
        with self._index.writing_run():
            remaining = iter(attempts)
            while page := [*islice(remaining, _PAGE_SIZE)]:
                statements: dict[int, list[AttemptStatement]] = {}
                for statement in self._store.statements([recorded.seq for recorded in page]):
                    statements.setdefault(statement.attempt, []).append(statement)
                for recorded in page:
                    last_attempt, session_began = recorded.seq, recorded.opened
                    if recorded.attempt.kind in {REQUEST, CAPTURED}:
                        self._write_response(recorded, statements.get(recorded.seq, []))
                    elif recorded.attempt.kind == ROBOTS:
                        self._report_robots_failure(recorded)
                pulse()
            os.sync()  # before the index is committed
            for kind in sorted(self._raw_runs, key=KINDS.index):
                epoch = self._index.epoch_of_run(self._session, kind, int(session_began.timestamp()))
                self._index.add_run(self._session, kind, self._raw_runs[kind].finish(self._folders.raw, epoch))
            self._index.set_last_attempt(last_attempt)
        counts = (self._identical_files[kind] for kind, run in self._raw_runs.items() if not run.was_written)
        return self._written_files + sum(counts)

    @published_files()
    def write_late(self, attempts: Iterable[RecordedAttempt]) -> int:
        """Write articles that were read after their run was written, without changing the directory of the run.

        Only the latest version of an article changes its file. Return the number of new articles.
        """
        new_articles = 0
        with self._index.writing_run():
            for recorded in attempts:
                kind = kind_of(self._request_name(recorded))
                for statement in self._store.statements([recorded.seq]) if kind in KINDS else ():
                    is_latest = self._store.is_latest(statement)
                    outcome, *_ = self._write_article(statement, recorded, kind, may_revise=is_latest)
                    new_articles += outcome == "articles_new"
            os.sync()
        return new_articles

    def _request_name(self, recorded: RecordedAttempt) -> str:
        request = self._ledger.requests.of_attempt(recorded.seq)
        return str(json.loads(request.context).get("name", "")) if request and request.context else ""

    def _write_response(self, recorded: RecordedAttempt, statements: list[AttemptStatement]) -> None:
        name = self._request_name(recorded)
        kind, followed = kind_of(name), self._ledger.requests.followed(recorded.seq)
        if followed is not None and name and not name.endswith(f".{ARTICLE}"):
            self._note_list_outcome(recorded, followed)
        if name == HOME:
            kind = self._kind_of_front_page(recorded, followed)
        if kind not in KINDS:
            return
        raw_run = self._raw_run(kind, recorded)
        if name != NUMBERS:  # a list of numbers contains no posts
            is_article = not name or name.endswith(f".{ARTICLE}")
            raw_run.add_response(recorded, followed, self._ledger.captures, is_article=is_article)
        if not statements and (failure := _failure(recorded, followed, name)):
            if self._index.is_first(f"{kind} {recorded.attempt.url}"):
                raw_run.count("errors", recorded.attempt.url, [failure])
            return
        for statement in statements:
            spelling = "" if statement.reason else statement.url
            if not self._index.is_first(f"{kind} {recorded.source} {statement.key} {spelling}"):
                continue  # another page of this run has listed the article, too
            outcome, *details = self._write_article(statement, recorded, kind)
            if details == [_NO_ARTICLE]:
                self._invalid_files.setdefault(recorded.source, []).append(statement.key)
            raw_run.count(outcome, recorded.attempt.url, details)

    def _kind_of_front_page(self, recorded: RecordedAttempt, followed: Followed | None) -> str:
        """Return a site's kind if its front page lists articles, "page" if this page could not be read, or else ""."""
        if not _is_successful(recorded) or (followed is not None and followed.reason is not None):
            return "page"  # the kind of the site is not known, but the failure must be reported
        if followed is None or followed.ending in {"", NO_REQUESTS_ENDING}:
            return ""
        kind: str = self._ledger.requests.learned("news", recorded.source).get("kind", "")
        return kind if kind in {"feed", "page"} else ""

    def _note_list_outcome(self, recorded: RecordedAttempt, followed: Followed) -> None:
        if followed.reason is None and _is_successful(recorded):
            self._succeeded.add(recorded.source)
        elif followed.reason is not None:
            self._errors.setdefault(recorded.source, f"{recorded.attempt.url}: {describe_refusal(followed)}")

    def _report_robots_failure(self, recorded: RecordedAttempt) -> None:
        """Report a site if the request for its robots.txt failed, since nothing else was then requested there."""
        attempt = recorded.attempt
        if attempt.reason is None and attempt.status is not None and attempt.status < 500 and attempt.status != 429:
            return
        kind = self._kinds.get(recorded.source, "auto")
        if kind not in KINDS:
            kind = self._ledger.requests.learned("news", recorded.source).get("kind", "page")
        self._raw_run(kind, recorded).add_robots_failure(recorded)

    def _raw_run(self, kind: str, recorded: RecordedAttempt) -> RawRun:
        if kind not in self._raw_runs:
            is_first = self._index.is_first
            self._raw_runs[kind] = RawRun(kind, self._session, self._folders, recorded.opened, is_first)
        return self._raw_runs[kind]

    def _write_article(
        self, statement: AttemptStatement, recorded: RecordedAttempt, kind: str, *, may_revise: bool = True
    ) -> tuple[str, ...]:
        """Write the file of a new article, or of a changed one if `may_revise` is true and the configuration allows it.

        A file that was deleted is written again. The index gets the article and its aliases. Return (outcome, *details)
        for `RawRun.count`; an observation without an article has an outcome, too.
        """
        if statement.reason is Reason.FORGOTTEN:
            return ("forgotten",)
        if statement.reason is Reason.NOT_WANTED:
            return "articles_skipped_image_type", statement.message
        if statement.reason is not None:
            return "errors", str(statement.reason)
        if not statement.json:
            return ("gone" if statement.url in {"", recorded.attempt.url} else "moved",)
        observed, aside = json.loads(statement.json), json.loads(statement.aside or "{}")
        # `aside` comes from the first spelling of the address with this content.
        aliases = unique_texts([*aside.get("aliases", ()), standard.alias(statement.url or statement.key)])
        first_seen = int(recorded.opened.timestamp())
        site = standard.domain(recorded.attempt.url)
        name = aside.get("name", "")
        written = self._index.find(statement.key, aliases, name)
        canonical = aside.get("canonical", "")
        aliases = [alias for alias in (*aliases, name, *claimed_aliases(canonical)[1:]) if alias]
        if written is not None:
            self._index.add_aliases(written.id, aliases)
            existing = _read_file(self._folders.articles / written.file)
            is_changed = (
                may_revise
                and (existing is None or (self._may_rewrite(written, site) and _parse_article(existing)))
                and self._revise(written, observed, first_seen, kind, site)
            )
            outcome = _describe_existing(existing)
            if is_changed:
                self._written_files += existing is None
                outcome = ("articles_new", "file_missing") if existing is None else ("articles_skipped", "updated")
            is_joined = not name and statement.url and standard.alias(written.url) != standard.alias(statement.url)
            return (*outcome, "joined_address") if is_joined else outcome
        shared_canonical = canonical and self._index.find("", claimed_aliases(canonical))
        file = f"{observed['source_domain']}/{standard.file_name(observed['url'])}"
        article = observed | {"first_seen_timestamp_gmt": first_seen}
        file_text = standard.format_article(article)
        path = self._folders.articles / file
        existing = _read_file(path)
        if existing is None:
            publish_file(path, file_text)
            self._written_files += 1
            outcome = ("articles_new",)
        elif existing == file_text:  # a killed process wrote it, or it was written before a replay
            self._identical_files[kind] += 1
            outcome = ("articles_new",)
        else:
            first_seen = min(first_seen, _first_seen(_parse_article(existing)) or first_seen)
            outcome = _describe_existing(existing)
        content_hash = standard.content_hash(observed)
        self._index.add(WrittenArticle(0, file, observed["url"], first_seen, kind, content_hash, [], site), aliases)
        date_doubt = observed.get("metadata", {}).get("date_doubt", "")
        details = ("shared_canonical" if shared_canonical else "", f"doubtful_date: {date_doubt}" if date_doubt else "")
        return outcome if outcome[0] == "errors" else (*outcome, *filter(None, details))

    def _may_rewrite(self, written: WrittenArticle, site: str) -> bool:
        """Return whether what `site` says may replace a file: always if only the one that it replaces is foreign."""
        return self._folders.rewrites_changed or written.site != standard.domain(written.url) == site

    def _revise(self, written: WrittenArticle, observed: dict[str, Any], seen_at: int, kind: str, site: str) -> bool:
        """Rewrite an article's file if the content changed or the file is missing; return whether it was rewritten.

        `observed` was read in the session that began at `seen_at` (seconds since 1970), from a site of `kind` with the
        domain `site`. Nothing changes if `site` is neither the article's own site nor the site from which the file was
        written, because any site may list addresses of other sites. Nothing changes either if `kind` is less reliable
        than the kind of the file, unless the article's own site replaces content of another site.
        """
        own_domain = standard.domain(written.url)
        written_from = written.site
        if site not in {own_domain, written_from}:
            return False
        if KINDS.index(kind) > KINDS.index(written.kind) and written_from in {own_domain, site}:
            return False
        article = observed | {"url": written.url, "source_domain": written.file.partition("/")[0]}
        if observed["url"] != written.url:
            article["metadata"] = {"canonical_url": observed["url"], **observed.get("metadata", {})}
        canonical = {"canonical_url": observed["url"]} if observed["url"] != written.url else {}
        content_hash = standard.content_hash(article | canonical)
        path = self._folders.articles / written.file
        if content_hash == written.hash and path.exists():
            return False
        existing = _parse_article(_read_file(path))
        fields = {*existing, *article} - {"first_seen_timestamp_gmt", "metadata"}
        changed_fields = sorted([*canonical, *(field for field in fields if existing.get(field) != article.get(field))])
        revisions = written.revisions or [{"seen": written.first_seen, "hash": written.hash, "changed": []}]
        if revisions[-1]["hash"] != content_hash:
            revisions = _already_written_revisions(existing, revisions, content_hash) or [
                *revisions, {"seen": seen_at, "hash": content_hash, "changed": changed_fields},
            ]  # fmt: skip
        first_seen = min(written.first_seen, _first_seen(existing) or written.first_seen)
        article["metadata"] = {**article.get("metadata", {}), "revisions": revisions}
        publish_file(path, standard.format_article(article | {"first_seen_timestamp_gmt": first_seen}))
        self._index.revise(
            written._replace(hash=content_hash, kind=kind, revisions=revisions, first_seen=first_seen, site=site)
        )
        return True


def _is_successful(recorded: RecordedAttempt) -> bool:
    return recorded.attempt.reason is None and recorded.attempt.status in {200, 304}


def _failure(recorded: RecordedAttempt, followed: Followed | None, name: str) -> str:
    """Return why the request for an article's page failed; empty if it did not fail, or was not for an article.

    A redirect counts as failed only if `followed` has a reason. `name` is the name of the request.
    """
    attempt = recorded.attempt
    if not name.endswith(f".{ARTICLE}") or _is_successful(recorded):
        return ""
    if attempt.location and followed is not None and followed.reason is not None:
        return str(followed.reason)
    return str(attempt.reason) if attempt.reason else f"status {attempt.status}" if not attempt.location else ""


def _already_written_revisions(
    existing: Mapping[str, Any], revisions: list[dict[str, Any]], content_hash: str
) -> list[dict[str, Any]] | None:
    """Return `revisions` and the revision with `content_hash` that a killed run added, or None if it added none."""
    metadata = existing.get("metadata")
    in_file = metadata.get("revisions") if isinstance(metadata, dict) else None
    count = len(revisions)
    if not isinstance(in_file, list) or in_file[:count] != revisions or len(in_file) <= count:
        return None
    added = in_file[count]
    return in_file[: count + 1] if isinstance(added, dict) and added.get("hash") == content_hash else None


def _read_file(path: Path) -> str | None:
    """Return the text of a file, "" if it is a folder, or None if it does not exist; raise OSError for other errors."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return ""


def _describe_existing(text: str | None) -> tuple[str, ...]:
    """Return the outcome (see `RawRun.count`) of an article whose file, with this text, is not written."""
    return ("articles_skipped",) if text is None or _parse_article(text) else ("errors", _NO_ARTICLE)


def _parse_article(text: str | None) -> dict[str, Any]:
    try:
        article = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return article if isinstance(article, dict) else {}


def _first_seen(article: Mapping[str, Any]) -> int | None:
    seconds = article.get("first_seen_timestamp_gmt")
    return seconds if isinstance(seconds, int) and seconds > 0 else None


def publish_file(path: Path, text: str) -> None:
    """Write a whole file, with the access rights that the user's umask gives."""
    with published_files():
        write_whole(path, (text,), synced=False)  # there may be thousands, and each can be written again
