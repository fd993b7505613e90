"""Write the directory of a run for one kind of site: its raw responses, and the two summaries of the standard."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from windrow.archive import open_response
from windrow.archive.import_file import sync
from windrow.collections.news.feed import parse_response
from windrow.digest import digest
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError
from windrow.formats.url import parts
from windrow.ledger.captures import CaptureQueries
from windrow.ledger.rows import Followed
from windrow.model import ArchivePlace, KeptResponse, Limits, RecordedAttempt
from windrow.reasons import Reason

COUNTS = ("files_processed", "articles_new", "articles_skipped", "articles_skipped_image_type", "errors")
"""The names of the counts in a normalization summary."""
_JSON_KINDS = frozenset({"wordpress", "townnews"})


class NewsFolders(NamedTuple):
    """A publisher's folders and limits. If `rewrites_changed` is true, files of changed articles are written again."""

    articles: Path  # the tree
    raw: Path  # the directories of runs
    archive: Path
    limits: Limits
    rewrites_changed: bool


class _Domain:
    """The responses of one site in a run, and the file to which they are written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.json_responses = self.rows = 0  # responses that are JSON, and the entries in them
        self.other_responses = self.articles = 0  # other responses, and the articles in all responses
        self.used_responses = 0  # lists that the discovery could read
        self.needs_comma = False  # whether the next row needs a comma before it
        self.file_end = b""  # what follows the last row in a file of several responses
        self.total: int | None = None  # number of articles according to the site, or None if it does not say
        self.error = ""  # the first error
        self.is_blocked = False  # whether the site returned an anti-bot page instead of a list
        self.is_ended = False  # whether a list was read to its end
        self.first_response = b""  # the body of the first JSON response, until the second one


class RawRun:
    """The directory for the sites of one kind in one run. It has a temporary name until the end of the run."""

    def __init__(
        self, kind: str, session: int, folders: NewsFolders, session_began: datetime, is_first: Callable[[str], bool]
    ) -> None:
        """Create an empty folder. `is_first` returns whether a name occurs for the first time in this run."""
        self._is_first = is_first
        self.kind = kind
        self.was_written = False  # whether `finish` found the directory of this run
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
        self.details: Counter[str] = Counter()
        self._folders = folders
        self._session_began = session_began
        self._last_request = session_began
        self._domains: dict[str, _Domain] = {}
        self._manifest_size = 0  # in entries
        self._folder = folders.raw / f".{session}-{kind}.part"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def count(self, outcome: str, url: str, details: Sequence[str] = ()) -> None:
        """Count the outcome of one article, or of a response that failed, at `url`; count its details, too.

        An outcome that is not in COUNTS is counted among the details.
        """
        self.details["seen"] += 1
        if outcome in {"articles_new", "articles_skipped"}:
            self._domain(url).articles += 1
        if outcome in COUNTS:
            self.counts[outcome] += 1
        else:
            self.details[outcome] += 1
        for detail in details:
            self.details[detail if outcome != "errors" else f"error: {detail}"] += 1

    def add_response(
        self, recorded: RecordedAttempt, followed: Followed | None, captures: CaptureQueries, *, is_article: bool
    ) -> None:
        """Add a successful response to the file of its site or to the manifest.

        The first error of a site's lists is stored for the summary. `is_article` is whether the response is the page of
        an article. `followed` is None if the response was not followed.
        """
        attempt = recorded.attempt
        self._last_request = max(self._last_request, attempt.started)
        domain = self._domain(attempt.url)
        if attempt.reason is not None or attempt.status is None:
            if not is_article:
                domain.error = domain.error or attempt.message or str(attempt.reason)
            return
        if followed is not None and not is_article:
            domain.is_ended = domain.is_ended or bool(followed.ending)
            if followed.reason is not None:
                domain.is_blocked = domain.is_blocked or followed.reason is Reason.BOT_WALL
                domain.error = domain.error or describe_refusal(followed)
        if attempt.kept is None or attempt.status not in {200, 304}:
            return
        domain.used_responses += followed is not None and followed.reason is None and not is_article
        if self.kind in _JSON_KINDS:
            self._add_json(domain, captures.place_of(attempt) or attempt.kept.place)
        else:
            self._add_to_manifest(recorded, attempt.kept)
            domain.other_responses += 1

    def add_robots_failure(self, recorded: RecordedAttempt) -> None:
        """Store the failure of a request for robots.txt as the error of its site, unless the site has one already."""
        self._last_request = max(self._last_request, recorded.attempt.started)
        domain, attempt = self._domain(recorded.attempt.url), recorded.attempt
        problem = attempt.message or attempt.reason or f"the status is {attempt.status}"
        domain.error = domain.error or f"robots.txt: {problem}"

    def _domain(self, url: str) -> _Domain:
        address = parts(url)
        name = address.origin.partition("://")[2].removeprefix("www.")
        domain = self._domains.get(name)
        if domain is None:
            file_name = name.replace(".", "_").replace(":", "_").replace("/", "_")
            domain = self._domains[name] = _Domain(self._folder / f"{file_name}.json")
        return domain

    def _add_json(self, domain: _Domain, place: ArchivePlace) -> None:
        """Add a response to its site's file if it is JSON. One response is unchanged; several become a list of rows.

        `responses_without_rows` among the details counts the responses without a list of rows.
        """
        try:
            answer = open_response(self._folders.archive, place)
            with answer.view as view:
                body = body_of(view, answer.fields, self._folders.limits).read()
        except (ArchiveError, StepError) as error:
            domain.error = domain.error or str(error)
            return
        content = parse_response(200, answer.fields, body)
        if (rows := _rows_of(content)) is None:
            self.details["responses_without_rows"] += 1
        if not isinstance(content, list | dict):
            return
        domain.json_responses += 1
        new_rows = [row for row in rows or () if self._is_new_row(domain, row)]
        domain.rows += len(new_rows)
        if isinstance(content, dict) and isinstance(content.get("total"), int):
            domain.total = content["total"]
        if domain.json_responses == 1:
            domain.first_response = body
            return
        with domain.path.open("ab") as file:
            if domain.json_responses == 2:
                head, domain.file_end, domain.needs_comma = _split_before_end(domain.first_response)
                file.write(head)
                domain.first_response = b""
            for row in new_rows:
                comma = b",\n" if domain.needs_comma else b""
                file.write(comma + json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
                domain.needs_comma = True

    def _is_new_row(self, domain: _Domain, row: Any) -> bool:
        """Return whether no earlier response has a row. A row that has changed since is counted among the details."""
        has_new_content = self._is_first(f"{domain.path.name} {digest(json.dumps(row).encode())}")
        is_new = self._is_first(f"{domain.path.name} {_row_name(row)}")
        if has_new_content and not is_new:
            self.details["rows_changed_in_run"] += 1
        return is_new

    def _add_to_manifest(self, recorded: RecordedAttempt, kept: KeptResponse) -> None:
        """Add a response's place in the archive to the manifest; the response is not copied to the directory."""
        attempt = recorded.attempt
        entry = {
            "url": attempt.url, "retrieved": attempt.started.isoformat(), "status": attempt.status,
            "media_type": kept.mime, "digest": kept.digest, "bytes": kept.size, "warc": kept.place.warc,
            "offset": kept.place.offset, "length": kept.place.length,
        }  # fmt: skip
        with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
            file.write(("[\n" if not self._manifest_size else ",\n") + json.dumps(entry, ensure_ascii=False))
        self._manifest_size += 1

    def finish(self, raw: Path, epoch: int) -> int:
        """Write the summaries and move the directory into `raw`; return the number of the directory.

        The number is the first free number from `epoch` on. If this run has a directory already, its number is used.
        """
        for domain in self._domains.values():
            if domain.json_responses == 1:
                domain.path.write_bytes(domain.first_response)
            elif domain.json_responses:
                with domain.path.open("ab") as file:
                    file.write(domain.file_end)
        if self._manifest_size:
            with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
                file.write("\n]\n")
        json_files = sum(domain.json_responses > 0 for domain in self._domains.values())
        self.counts["files_processed"] = json_files + self._manifest_size
        summary = _format_json(self._normalization_summary())
        while True:
            day = datetime.fromtimestamp(epoch, self._session_began.tzinfo)
            folder = raw / f"{day:%Y-%m-%d}" / str(epoch)
            existing = folder / "_normalization_summary.json"
            if existing.is_file() and _is_same_run(existing, self.kind, self._last_request):
                shutil.rmtree(self._folder)  # a killed process wrote it, but not the index, or a replay made this anew
                self.was_written = True
                return epoch
            if not folder.exists():
                break
            epoch += 1
        collection_summary = _format_json(self._collection_summary(epoch, folder))
        (self._folder / "_collection_summary.json").write_text(collection_summary, "utf-8")
        (self._folder / "_normalization_summary.json").write_text(summary, "utf-8")
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            sync(path)
        self._folder.rename(folder)
        sync(folder.parent)
        return epoch

    def _normalization_summary(self) -> dict[str, Any]:
        statistics, details = {name: self.counts[name] for name in COUNTS}, dict(sorted(self.details.items()))
        timestamp = _format_time(self._last_request)
        return {"timestamp": timestamp, "source": self.kind, "statistics": statistics, "details": details}

    def _collection_summary(self, epoch: int, folder: Path) -> dict[str, Any]:
        """Return the summary of the sites; `folder` is the final path of the run's directory, and `epoch` its name."""
        summary: dict[str, Any] = {"collection_timestamp": str(epoch), "collection_date": folder.parent.name}
        if self.kind == "wordpress":
            summary["hours_ago"] = None
        summary["results"] = [self._site_result(name, domain, folder) for name, domain in sorted(self._domains.items())]
        return summary

    def _site_result(self, name: str, domain: _Domain, folder: Path) -> dict[str, Any]:
        if domain.error and not domain.used_responses:
            status = "blocked" if domain.is_blocked else "error"
            return {"domain": name, "status": status, "error_message": domain.error[:1000]}
        is_complete = domain.is_ended or self.kind != "wordpress"
        count = domain.rows if domain.total is None else domain.total
        site_result: dict[str, Any] = {
            "domain": name,
            "status": "success" if is_complete else "pending",
            "article_count": count if self.kind in _JSON_KINDS else domain.articles,
        }
        if self.kind == "wordpress":
            site_result |= {"pages_fetched": domain.json_responses, "error_message": domain.error[:1000] or None}
        elif domain.error:
            site_result["error_message"] = domain.error[:1000]
        if domain.json_responses or domain.other_responses:
            file_name = domain.path.name if domain.json_responses else "_manifest.json"
            site_result["file_path"] = str(folder / file_name)
        return site_result


def describe_refusal(followed: Followed) -> str:
    """Return why the discovery could not use a response."""
    findings = followed.read_findings()
    return findings[0].message if findings else str(followed.reason)


def _rows_of(content: Any) -> list[Any] | None:
    rows = content.get("rows") if isinstance(content, dict) else content
    return rows if isinstance(rows, list) else None


def _row_name(row: Any) -> str:
    """Return a text that identifies a row on any page of a list: its ids and addresses, or else the whole row.

    >>> _row_name({"uuid": "u", "url": "/a"}) == _row_name({"uuid": "u", "url": "/b"})
    False
    """
    names = [row.get(name) for name in ("id", "uuid", "link", "url")] if isinstance(row, dict) else []
    return json.dumps(names if any(names) else row)


def _split_before_end(response: bytes) -> tuple[bytes, bytes, bool]:
    r"""Split a response before the end of its list, where rows can be added; return (start, end, whether it has rows).

    >>> _split_before_end(b'{"total": 2, "next": 1, "rows": [7]}')
    (b'{"total": 2, "rows": [\n7', b'\n]}\n', True)
    """
    content = parse_response(200, {}, response)
    if isinstance(content, list):
        rows, head, end = content, "[", b"\n]\n"
    else:
        other_keys = {name: value for name, value in content.items() if name not in {"rows", "next", "prev"}}
        rows = content["rows"] if isinstance(content.get("rows"), list) else []
        head, end = json.dumps({**other_keys, "rows": []}, ensure_ascii=False)[:-2], b"\n]}\n"
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"{head}\n{text}".encode("utf-8", "replace"), end, bool(rows)


def _format_time(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(timespec="microseconds")


def _is_same_run(path: Path, kind: str, last_request: datetime) -> bool:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    if not isinstance(summary, dict):
        return False
    return (summary.get("source"), summary.get("timestamp")) == (kind, _format_time(last_request))


def _format_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
