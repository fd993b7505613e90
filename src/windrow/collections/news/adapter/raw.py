"""Write the directory of one run: its raw responses, and the two summaries of the standard."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.archive import open_response
from windrow.archive.import_file import sync
from windrow.collections.news.feed import parse_reply
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError
from windrow.formats.url import parts
from windrow.ledger.rows import Followed
from windrow.model import ArchivePlace, KeptResponse, RecordedAttempt
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.news.adapter.publish import NewsFolders

COUNTS = ("files_processed", "articles_new", "articles_skipped", "articles_skipped_image_type", "errors")
_JSON = frozenset({"wordpress", "townnews"})


class _Domain:
    """The responses and results of one site in a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pages = self.rows = 0  # of JSON: responses, and entries in them
        self.kept = self.articles = 0  # of other types: responses, and articles in them
        self.understood = 0  # responses that could be used
        self.is_begun = False  # whether the file has a row, so that the next one needs a comma
        self.ending = b""  # of the file, if it has several responses
        self.total: int | None = None
        self.error = ""
        self.blocked = False
        self.ended = False
        self.first = b""  # the first response, unchanged


class RawRun:
    """The directory for one kind of site in one run, which is written under another name and renamed at the end."""

    def __init__(
        self, kind: str, session: int, trees: NewsFolders, opened: datetime, is_first: Callable[[str], bool]
    ) -> None:
        """Begin with an empty folder; `is_first` returns whether a text is new in this run."""
        self._is_first = is_first
        self.kind = kind
        self.counts: Counter[str] = Counter(dict.fromkeys(COUNTS, 0))
        self.details: Counter[str] = Counter()
        self._trees = trees
        self._opened = opened
        self._last = opened
        self._domains: dict[str, _Domain] = {}
        self._listed = 0
        self._folder = trees.raw / f".{session}-{kind}.part"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def count(self, outcome: str, detail: str, url: str) -> None:
        """Count the outcome, and its detail, of an entry in the response at `url`."""
        self.details["seen"] += 1
        if outcome in {"articles_new", "articles_skipped"}:
            self._domain(url).articles += 1
        if outcome in COUNTS:
            self.counts[outcome] += 1
        else:
            self.details[outcome] += 1
        if detail:
            self.details[detail if outcome != "errors" else f"error: {detail}"] += 1

    def take(
        self, recorded: RecordedAttempt, followed: Followed | None, captures: Any, *, is_article: bool = False
    ) -> None:
        """Add the response of an attempt, and its error if it is not that of an article's page."""
        attempt = recorded.attempt
        self._last = max(self._last, attempt.started)
        domain = self._domain(attempt.url)
        if attempt.reason is not None or attempt.status is None:
            if not is_article:
                domain.error = domain.error or attempt.message or str(attempt.reason)
            return
        if followed is not None and not is_article:
            domain.ended = domain.ended or bool(followed.ending)
            if followed.reason is not None:
                domain.blocked = domain.blocked or followed.reason is Reason.BOT_WALL
                domain.error = domain.error or refusal_of(followed)
        if attempt.kept is None or attempt.status not in {200, 304}:
            return
        domain.understood += followed is not None and followed.reason is None and not is_article
        if self.kind in _JSON:
            self._json(domain, _place(attempt.kept, attempt.target, captures))
        else:
            self._list(recorded, attempt.kept)
            domain.kept += 1

    def take_refusal(self, recorded: RecordedAttempt) -> None:
        """Add the error of a site that was not requested, as its robots.txt failed."""
        self._last = max(self._last, recorded.attempt.started)
        domain, attempt = self._domain(recorded.attempt.url), recorded.attempt
        domain.error = domain.error or f"robots.txt: {attempt.message or attempt.reason or f'status {attempt.status}'}"

    def _domain(self, url: str) -> _Domain:
        address = parts(url)
        name = address.origin.partition("://")[2].removeprefix("www.")
        domain = self._domains.get(name)
        if domain is None:
            file_name = name.replace(".", "_").replace(":", "_").replace("/", "_")
            domain = self._domains[name] = _Domain(self._folder / f"{file_name}.json")
        return domain

    def _json(self, domain: _Domain, place: ArchivePlace) -> None:
        """Add a response to the file of its site: a single one unchanged, several as one list of all their rows."""
        try:
            answer = open_response(self._trees.archive, place)
            with answer.view as view:
                body = body_of(view, answer.fields, self._trees.limits).read()
        except (ArchiveError, StepError) as error:
            domain.error = domain.error or str(error)
            return
        content = parse_reply(200, answer.fields, body)
        if not isinstance(content, list | dict):
            return
        domain.pages += 1
        rows = content.get("rows") if isinstance(content, dict) else content
        rows = rows if isinstance(rows, list) else []
        new_rows = [entry for entry in rows if self._is_first(f"{domain.path.name} {_row_name(entry)}")]
        domain.rows += len(new_rows)
        if isinstance(content, dict) and isinstance(content.get("total"), int):
            domain.total = content["total"]
        if domain.pages == 1:
            domain.first = body
            return
        with domain.path.open("ab") as file:
            if domain.pages == 2:
                head, domain.ending, domain.is_begun = _open_list(domain.first)
                file.write(head)
            for row in new_rows:
                comma = b",\n" if domain.is_begun else b""
                file.write(comma + json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
                domain.is_begun = True

    def _list(self, recorded: RecordedAttempt, kept: KeptResponse) -> None:
        """Add a response, which is in the archive alone, to the manifest."""
        attempt = recorded.attempt
        entry = {
            "url": attempt.url, "retrieved": attempt.started.isoformat(), "status": attempt.status,
            "media_type": kept.mime, "digest": kept.digest, "bytes": kept.size, "warc": kept.place.warc,
            "offset": kept.place.offset, "length": kept.place.length,
        }  # fmt: skip
        with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
            file.write(("[\n" if not self._listed else ",\n") + json.dumps(entry, ensure_ascii=False))
        self._listed += 1

    def finish(self, raw: Path, epoch: int) -> int:
        """Write the summaries and rename the directory into place; return its number: `epoch`, or the next free one."""
        for domain in self._domains.values():
            if domain.pages == 1:
                domain.path.write_bytes(domain.first)
            elif domain.pages:
                with domain.path.open("ab") as file:
                    file.write(domain.ending)
        if self._listed:
            with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
                file.write("\n]\n")
        with_pages = sum(site.pages > 0 for site in self._domains.values())
        self.counts["files_processed"] = with_pages + self._listed
        summary = _format_json(self._summary())
        while True:
            at = datetime.fromtimestamp(epoch, self._opened.tzinfo)
            folder = raw / f"{at:%Y-%m-%d}" / str(epoch)
            existing = folder / "_normalization_summary.json"
            if existing.is_file() and _is_same_run(existing, self.kind, self._last):
                shutil.rmtree(self._folder)  # a killed process wrote this run, but did not reach the index
                return epoch
            if not folder.exists():
                break
            epoch += 1
        (self._folder / "_collection_summary.json").write_text(_format_json(self._collected(epoch, folder)), "utf-8")
        (self._folder / "_normalization_summary.json").write_text(summary, "utf-8")
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            sync(path)
        self._folder.rename(folder)
        sync(folder.parent)
        return epoch

    def _summary(self) -> dict[str, Any]:
        return {
            "timestamp": _format_time(self._last),
            "source": self.kind,
            "statistics": {name: self.counts[name] for name in COUNTS},
            "details": dict(sorted(self.details.items())),
        }

    def _collected(self, epoch: int, folder: Path) -> dict[str, Any]:
        summary: dict[str, Any] = {"collection_timestamp": str(epoch), "collection_date": folder.parent.name}
        if self.kind == "wordpress":
            summary["hours_ago"] = None
        summary["results"] = [self._result(name, domain, folder) for name, domain in sorted(self._domains.items())]
        return summary

    def _result(self, name: str, domain: _Domain, folder: Path) -> dict[str, Any]:
        if domain.error and not domain.understood:
            status = "blocked" if domain.blocked else "error"
            return {"domain": name, "status": status, "error_message": domain.error[:1000]}
        is_complete = domain.ended or self.kind != "wordpress"
        count = domain.rows if domain.total is None else domain.total
        site_result: dict[str, Any] = {
            "domain": name,
            "status": "success" if is_complete else "pending",
            "article_count": count if self.kind in _JSON else domain.articles,
        }
        if self.kind == "wordpress":
            site_result |= {"pages_fetched": domain.pages, "error_message": domain.error[:1000] or None}
        elif domain.error:
            site_result["error_message"] = domain.error[:1000]
        if domain.pages or domain.kept:
            site_result["file_path"] = str(folder / (domain.path.name if domain.pages else "_manifest.json"))
        return site_result


def refusal_of(followed: Followed) -> str:
    """Return why a response could not be used."""
    findings = followed.read_findings()
    return findings[0].message if findings else str(followed.reason)


def _row_name(row: Any) -> str:
    """Return the id of a row, or the whole row as JSON if it has no id."""
    name = row.get("id") or row.get("uuid") or row.get("url") if isinstance(row, dict) else None
    return str(name or json.dumps(row))


def _open_list(first: bytes) -> tuple[bytes, bytes, bool]:
    r"""Split a response before the end of its list, so that rows can be added; return both parts, and if it has rows.

    >>> _open_list(b'{"total": 2, "next": 1, "rows": [7]}')
    (b'{"total": 2, "rows": [\n7', b'\n]}\n', True)
    """
    content = parse_reply(200, {}, first)
    if isinstance(content, list):
        rows, head, end = content, "[", b"\n]\n"
    else:
        rest = {name: value for name, value in content.items() if name not in {"rows", "next", "prev"}}
        rows = content["rows"] if isinstance(content.get("rows"), list) else []
        head, end = json.dumps({**rest, "rows": []}, ensure_ascii=False)[:-2], b"\n]}\n"
    text = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"{head}\n{text}".encode("utf-8", "replace"), end, bool(rows)


def _place(kept: KeptResponse, address: int, captures: Any) -> ArchivePlace:
    if not kept.revisit:
        return kept.place
    original: ArchivePlace | None = captures.original(address, kept.digest) or captures.payload(kept.digest)
    return original or kept.place


def _format_time(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="microseconds")


def _is_same_run(path: Path, kind: str, last: datetime) -> bool:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    if not isinstance(summary, dict):
        return False
    return (summary.get("source"), summary.get("timestamp")) == (kind, _format_time(last))


def _format_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
