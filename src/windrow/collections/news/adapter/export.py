"""Export the articles of the tree as lines of JSON, an Atom feed or Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, TextIO

from windrow.collections.news import standard
from windrow.collections.news.standard import FIELDS
from windrow.config import Workspace
from windrow.errors import MissingExtra
from windrow.formats.markdown import read_markdown as render_markdown
from windrow.formats.text import json_text, xml_text

NEWEST = 200
"""Articles in the Atom feed."""

_BATCH = 1_000
_LAST = 253_402_300_799  # the last second of the year 9999
_MOST_WORDS = 2**63 - 1


def articles(tree: Path) -> Iterator[dict[str, Any]]:
    """Yield the valid articles of a tree, ordered by domain; `windrow check` reports the other files."""
    for path in sorted(tree.glob("*/*.json")):
        try:
            article = json.loads(path.read_bytes())
        except (ValueError, RecursionError, OSError):
            continue
        if next(standard.problems(article), None) is None:
            yield article


def jsonl(tree: Path, out: TextIO) -> int:
    """Write a line of JSON for each article; return how many."""
    count = 0
    for article in articles(tree):
        out.write(json_text(article) + "\n")
        count += 1
    return count


def atom(workspace: Workspace, tree: Path, out: TextIO) -> int:
    """Write the newest articles as an Atom feed (RFC 4287); return how many."""
    newest = nlargest(NEWEST, articles(tree), key=_time_of)
    last = _format_time(_time_of(newest[0])) if newest else "1970-01-01T00:00:00Z"
    out.write('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n')
    out.write(f"<title>{xml_text(workspace.name)}</title><id>urn:windrow:{xml_text(workspace.name)}</id>"
              f"<updated>{last}</updated><author><name>windrow</name></author>\n")  # fmt: skip
    out.writelines(_entry(article) for article in newest)
    out.write("</feed>\n")
    return len(newest)


def _entry(article: dict[str, Any]) -> str:
    author = f"<author><name>{xml_text(article['author'])}</name></author>" if article.get("author") else ""
    terms = "".join(f'<category term="{xml_text(word)}"/>' for word in article.get("keywords") or ())
    text = render_markdown(str(article.get("article_text", ""))[:200_000]).html
    url = xml_text(article["url"])
    return (
        f'<entry><title>{xml_text(article["title"])}</title><link href="{url}"/><id>{url}</id>'
        f"<updated>{_format_time(_time_of(article))}</updated>{author}{terms}"
        f'<content type="html">{xml_text(text)}</content></entry>\n'
    )


def _time_of(article: dict[str, Any]) -> int:
    return min(int(article.get("publication_timestamp_gmt") or article["first_seen_timestamp_gmt"]), _LAST)


def _format_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parquet(tree: Path, out: TextIO) -> int:
    """Write all articles as a Parquet table, with `metadata` as JSON; return how many."""
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


def _cell(name: str, content: Any) -> Any:
    if name == "word_count" and content is not None:
        return min(content, _MOST_WORDS)
    return json.dumps(content or {}, ensure_ascii=False) if name == "metadata" else content
