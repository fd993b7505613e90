"""The directory of one run: raw replies as they came, and the two summaries of the standard."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.archive import open_response
from windrow.collections.news.feed import reply
from windrow.engine.requests.answers import body_of
from windrow.errors import ArchiveError, StepError
from windrow.formats.url import parts
from windrow.ledger.rows import Followed
from windrow.model import ArchivePlace, KeptResponse, Recorded
from windrow.reasons import Reason

if TYPE_CHECKING:
    from windrow.collections.news.adapter.publish import NewsFolders

COUNTS = ("files_processed", "articles_new", "articles_skipped", "articles_skipped_image_type", "errors")
_JSON = frozenset({"wordpress", "townnews"})


class _Domain:
    """What came of one site in a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pages = self.rows = 0  # of JSON: replies, and what they list
        self.kept = self.articles = 0  # of all else: replies, and what was found in them
        self.understood = 0  # replies that say what there is
        self.is_begun = False  # whether the file has a row that a comma follows
        self.ending = b""  # of the file, where it has several replies
        self.total: int | None = None
        self.error = ""
        self.blocked = False
        self.ended = False
        self.first = b""  # the only reply so far, as it came


class RawRun:
    """One kind of sites in one run: its files are gathered aside, and put in place as one directory."""

    def __init__(
        self, kind: str, session: int, trees: NewsFolders, opened: datetime, is_first: Callable[[str], bool]
    ) -> None:
        """Begin with nothing; what a killed run left is removed. `is_first` tells whether a text was not met before."""
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

    def count(self, what: str, by: str, url: str) -> None:
        """Count what became of something that the answer at `url` told of."""
        self.details["seen"] += 1
        if what in {"articles_new", "articles_skipped"}:
            self._domain(url).articles += 1
        if what in COUNTS:
            self.counts[what] += 1
        else:
            self.details[what] += 1
        if by:
            self.details[by if what != "errors" else f"error: {by}"] += 1

    def take(self, one: Recorded, followed: Followed | None, captures: Any, *, is_article: bool = False) -> None:
        """Take the reply of a visit, and note how its site did: an article's page that failed says nothing of that."""
        attempt = one.attempt
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
            self._list(one, attempt.kept)
            domain.kept += 1

    def take_refusal(self, one: Recorded) -> None:
        """Note a site that was asked nothing, since it did not answer what it allows."""
        self._last = max(self._last, one.attempt.started)
        domain, why = self._domain(one.attempt.url), one.attempt.message or str(one.attempt.reason or "")
        domain.error = domain.error or f"robots.txt: {why or f'status {one.attempt.status}'}"

    def _domain(self, url: str) -> _Domain:
        told = parts(url)
        name = told.origin.partition("://")[2].removeprefix("www.")
        found = self._domains.get(name)
        if found is None:
            spelled = name.replace(".", "_").replace(":", "_").replace("/", "_")
            found = self._domains[name] = _Domain(self._folder / f"{spelled}.json")
        return found

    def _json(self, domain: _Domain, place: ArchivePlace) -> None:
        """Add a reply to the file of its site: the only one as it came, several as one list of all that they have."""
        try:
            answer = open_response(self._trees.archive, place)
            with answer.view as view:
                body = body_of(view, answer.fields, self._trees.limits).read()
        except (ArchiveError, StepError) as error:
            domain.error = domain.error or str(error)
            return
        came = reply(200, answer.fields, body)
        if not isinstance(came, list | dict):
            return
        domain.pages += 1
        rows = came.get("rows") if isinstance(came, dict) else came
        rows = rows if isinstance(rows, list) else []
        fresh = [one for one in rows if self._is_first(f"{domain.path.name} {_name(one)}")]
        domain.rows += len(fresh)
        if isinstance(came, dict) and isinstance(came.get("total"), int):
            domain.total = came["total"]
        if domain.pages == 1:
            domain.first = body
            return
        with domain.path.open("ab") as file:
            if domain.pages == 2:
                head, domain.ending, domain.is_begun = _begun(domain.first)
                file.write(head)
            for row in fresh:
                comma = b",\n" if domain.is_begun else b""
                file.write(comma + json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
                domain.is_begun = True

    def _list(self, one: Recorded, kept: KeptResponse) -> None:
        """List a reply that is kept in the archive alone."""
        told = {
            "url": one.attempt.url, "retrieved": one.attempt.started.isoformat(), "status": one.attempt.status,
            "media_type": kept.mime, "digest": kept.digest, "bytes": kept.size, "warc": kept.place.warc,
            "offset": kept.place.offset, "length": kept.place.length,
        }  # fmt: skip
        with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
            file.write(("[\n" if not self._listed else ",\n") + json.dumps(told, ensure_ascii=False))
        self._listed += 1

    def finish(self, raw: Path, epoch: int) -> int:
        """Put the directory in place; return its number, which is the next one where another run has this one."""
        for domain in self._domains.values():
            if domain.pages == 1:
                domain.path.write_bytes(domain.first)
            elif domain.pages:
                with domain.path.open("ab") as file:
                    file.write(domain.ending)
        if self._listed:
            with (self._folder / "_manifest.json").open("a", encoding="utf-8") as file:
                file.write("\n]\n")
        self.counts["files_processed"] = sum(one.pages > 0 for one in self._domains.values()) + self._listed
        summary = _spelled(self._summary())
        while True:
            at = datetime.fromtimestamp(epoch, self._opened.tzinfo)
            folder = raw / f"{at:%Y-%m-%d}" / str(epoch)
            there = folder / "_normalization_summary.json"
            if there.is_file() and _is_ours(there, self.kind, self._last):
                shutil.rmtree(self._folder)  # a run that was written before its end was noted
                return epoch
            if not folder.exists():
                break
            epoch += 1
        (self._folder / "_collection_summary.json").write_text(_spelled(self._collected(epoch, folder)), "utf-8")
        (self._folder / "_normalization_summary.json").write_text(summary, "utf-8")
        folder.parent.mkdir(parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            _sync(path)
        self._folder.rename(folder)
        _sync(folder.parent)
        return epoch

    def _summary(self) -> dict[str, Any]:
        return {
            "timestamp": _stamp(self._last),
            "source": self.kind,
            "statistics": {name: self.counts[name] for name in COUNTS},
            "details": dict(sorted(self.details.items())),
        }

    def _collected(self, epoch: int, folder: Path) -> dict[str, Any]:
        told: dict[str, Any] = {"collection_timestamp": str(epoch), "collection_date": folder.parent.name}
        if self.kind == "wordpress":
            told["hours_ago"] = None
        told["results"] = [self._result(name, one, folder) for name, one in sorted(self._domains.items())]
        return told

    def _result(self, name: str, domain: _Domain, folder: Path) -> dict[str, Any]:
        if domain.error and not domain.understood:
            status = "blocked" if domain.blocked else "error"
            return {"domain": name, "status": status, "error_message": domain.error[:1000]}
        done = domain.ended or self.kind != "wordpress"
        count = domain.rows if domain.total is None else domain.total
        told: dict[str, Any] = {
            "domain": name,
            "status": "success" if done else "pending",
            "article_count": count if self.kind in _JSON else domain.articles,
        }
        if self.kind == "wordpress":
            told |= {"pages_fetched": domain.pages, "error_message": domain.error[:1000] or None}
        elif domain.error:
            told["error_message"] = domain.error[:1000]
        if domain.pages or domain.kept:
            told["file_path"] = str(folder / (domain.path.name if domain.pages else "_manifest.json"))
        return told


def refusal_of(followed: Followed) -> str:
    """Say why an answer was of no use."""
    told = followed.told()
    return told[0].message if told else str(followed.reason)


def _name(row: Any) -> str:
    """Return what tells something that is listed from all else."""
    name = row.get("id") or row.get("uuid") or row.get("url") if isinstance(row, dict) else None
    return str(name or json.dumps(row))


def _begun(first: bytes) -> tuple[bytes, bytes, bool]:
    r"""Return a reply without its end, so that more can be added to what it lists; that end; whether it lists any.

    >>> _begun(b'{"total": 2, "next": 1, "rows": [7]}')
    (b'{"total": 2, "rows": [\n7', b'\n]}\n', True)
    """
    told = reply(200, {}, first)
    if isinstance(told, list):
        rows, head, end = told, "[", b"\n]\n"
    else:
        rest = {name: value for name, value in told.items() if name not in {"rows", "next", "prev"}}
        rows = told["rows"] if isinstance(told.get("rows"), list) else []
        head, end = json.dumps({**rest, "rows": []}, ensure_ascii=False)[:-2], b"\n]}\n"
    spelled = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f"{head}\n{spelled}".encode("utf-8", "replace"), end, bool(rows)


def _place(kept: KeptResponse, address: int, captures: Any) -> ArchivePlace:
    if not kept.revisit:
        return kept.place
    found: ArchivePlace = captures.original(address, kept.digest) or captures.payload(kept.digest) or kept.place
    return found


def _stamp(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="microseconds")


def _is_ours(path: Path, kind: str, last: datetime) -> bool:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(told, dict) and told.get("source") == kind and told.get("timestamp") == _stamp(last)


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
