"""Write what the tree has in other forms: lines of JSON, an Atom feed, Parquet, and the replies as WARC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import escape, quoteattr

from windrow.collections.news import standard
from windrow.collections.news.standard import FIELDS
from windrow.config import Workspace
from windrow.errors import MissingExtra
from windrow.formats.markdown import read as rendered
from windrow.formats.text import json_text

NEWEST = 200
"""Articles of the feed."""

_BATCH = 1_000
_LAST = 253_402_300_799  # the last second of the year 9999
_MOST_WORDS = 2**63 - 1


def articles(tree: Path) -> Iterator[dict[str, Any]]:
    """Yield the articles of a tree, a domain after the other; of what is none `windrow check` tells."""
    for path in sorted(tree.glob("*/*.json")):
        try:
            article = json.loads(path.read_bytes())
        except (ValueError, RecursionError, OSError):
            continue
        if next(standard.problems(article), None) is None:
            yield article


def jsonl(tree: Path, out: TextIO) -> int:
    """Write a line of JSON for each article."""
    count = 0
    for article in articles(tree):
        out.write(json_text(article) + "\n")
        count += 1
    return count


def atom(workspace: Workspace, tree: Path, out: TextIO) -> int:
    """Write the newest articles as an Atom feed (RFC 4287)."""
    newest = nlargest(NEWEST, articles(tree), key=_at)
    last = _spelled(_at(newest[0])) if newest else "1970-01-01T00:00:00Z"
    out.write('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n')
    out.write(f"<title>{_text(workspace.name)}</title><id>urn:windrow:{_text(workspace.name)}</id>"
              f"<updated>{last}</updated><author><name>windrow</name></author>\n")  # fmt: skip
    out.writelines(_entry(one) for one in newest)
    out.write("</feed>\n")
    return len(newest)


def _entry(one: dict[str, Any]) -> str:
    author = f"<author><name>{_text(one['author'])}</name></author>" if one.get("author") else ""
    terms = "".join(f"<category term={quoteattr(_clean(word))}/>" for word in one.get("keywords") or ())
    text = rendered(str(one.get("article_text", ""))[:200_000]).html
    link = quoteattr(_clean(one["url"]))
    return (
        f"<entry><title>{_text(one['title'])}</title><link href={link}/><id>{_text(one['url'])}</id>"
        f'<updated>{_spelled(_at(one))}</updated>{author}{terms}<content type="html">{_text(text)}</content></entry>\n'
    )


def _at(one: dict[str, Any]) -> int:
    return min(int(one.get("publication_timestamp_gmt") or one["first_seen_timestamp_gmt"]), _LAST)


def _spelled(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _clean(text: str) -> str:
    return "".join(one for one in str(text) if one in "\t\n\r" or " " <= one < "\ufffe")


def _text(text: str) -> str:
    return escape(_clean(text))


def parquet(tree: Path, out: TextIO) -> int:
    """Write a table of all articles; `metadata` is JSON in a column."""
    try:
        import pyarrow as pa  # noqa: PLC0415 an extra
        from pyarrow import parquet as pq  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("writing Parquet", "parquet") from None
    numbers = {"publication_timestamp_gmt", "first_seen_timestamp_gmt", "word_count"}
    columns = [(name, pa.int64() if name in numbers else pa.list_(pa.string()) if name == "keywords" else pa.string())
               for name in FIELDS]  # fmt: skip
    schema = pa.schema(columns)
    count = 0
    with pq.ParquetWriter(out.buffer, schema) as writer:
        batch: list[dict[str, Any]] = []
        for article in articles(tree):
            batch.append({name: _cell(name, article.get(name)) for name in FIELDS})
            count += 1
            if len(batch) >= _BATCH:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema))
    return count


def _cell(name: str, value: Any) -> Any:
    if name == "word_count" and value is not None:
        return min(value, _MOST_WORDS)
    return json.dumps(value or {}, ensure_ascii=False) if name == "metadata" else value
