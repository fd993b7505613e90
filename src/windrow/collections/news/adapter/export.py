"""Export the articles of the tree as lines of JSON, an Atom feed or a Parquet table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, TextIO

from windrow.caps import FEED_ARTICLES, FEED_ENTRY_TEXT, Cap
from windrow.collections.news import standard
from windrow.collections.news.standard import FIELDS
from windrow.config import Workspace
from windrow.errors import MissingExtra
from windrow.formats.markdown import read_markdown as render_markdown
from windrow.formats.text import json_text, xml_text
from windrow.model import MAX_INTEGER

_BATCH_SIZE = 1_000  # articles that are written to Parquet at a time
_MAX_SECONDS = 253_402_300_799  # the last second of the year 9999


def read_articles(tree: Path) -> Iterator[dict[str, Any]]:
    """Yield the articles of a tree, ordered by domain. Invalid files are skipped."""
    for path in sorted(tree.glob("*/*.json")):
        try:
            article = json.loads(path.read_bytes())
        except (ValueError, RecursionError, OSError):
            continue
        if next(standard.problems(article), None) is None:
            yield article


def count_invalid(tree: Path) -> int:
    """Return the number of files of a tree that `read_articles` skips."""
    return sum(1 for _ in tree.glob("*/*.json")) - sum(1 for _ in read_articles(tree))


def write_jsonl(tree: Path, out: TextIO) -> int:
    """Write a line of JSON for each article of a tree; return the number of articles."""
    count = 0
    for article in read_articles(tree):
        out.write(json_text(article) + "\n")
        count += 1
    return count


def feed_cap(workspace: Workspace) -> Cap:
    """Return FEED_ARTICLES with the number of the setting `news.feed_articles`."""
    maximum = next(setting.value for setting in workspace.values if setting.name == FEED_ARTICLES.setting)
    return FEED_ARTICLES._replace(number=maximum)


def write_atom(workspace: Workspace, tree: Path, out: TextIO) -> int:
    """Write the newest articles that `feed_cap` allows as an Atom feed (RFC 4287); return the number of articles."""
    newest = nlargest(feed_cap(workspace).number, read_articles(tree), key=_time_of)
    last_updated = _format_time(_time_of(newest[0])) if newest else "1970-01-01T00:00:00Z"
    out.write('<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n')
    out.write(f"<title>{xml_text(workspace.name)}</title><id>urn:windrow:{xml_text(workspace.name)}</id>"
              f"<updated>{last_updated}</updated><author><name>windrow</name></author>\n")  # fmt: skip
    out.writelines(_atom_entry(article) for article in newest)
    out.write("</feed>\n")
    return len(newest)


def _atom_entry(article: dict[str, Any]) -> str:
    author = f"<author><name>{xml_text(article['author'])}</name></author>" if article.get("author") else ""
    terms = "".join(f'<category term="{xml_text(word)}"/>' for word in article.get("keywords") or ())
    article_text = str(article.get("article_text", ""))
    if len(article_text) > FEED_ENTRY_TEXT.number:
        article_text = (
            f"{article_text[: FEED_ENTRY_TEXT.number]}\n\n[The text continues at its address.](<{article['url']}>)"
        )
    text = render_markdown(article_text).html
    url = xml_text(article["url"])
    return (
        f'<entry><title>{xml_text(article["title"])}</title><link href="{url}"/><id>{url}</id>'
        f"<updated>{_format_time(_time_of(article))}</updated>{author}{terms}"
        f'<content type="html">{xml_text(text)}</content></entry>\n'
    )


def _time_of(article: dict[str, Any]) -> int:
    return min(int(article.get("publication_timestamp_gmt") or article["first_seen_timestamp_gmt"]), _MAX_SECONDS)


def _format_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_parquet(tree: Path, out: TextIO) -> int:
    """Write the articles of a tree as a Parquet table; return how many. Raise MissingExtra if pyarrow is missing."""
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
        for article in read_articles(tree):
            batch.append({name: _cell_value(name, article.get(name)) for name in FIELDS})
            count += 1
            if len(batch) >= _BATCH_SIZE:
                writer.write_table(pa.Table.from_pylist(batch, schema))
                batch = []
        writer.write_table(pa.Table.from_pylist(batch, schema))
    return count


def _cell_value(name: str, content: Any) -> Any:
    """Return the value of a field for its Parquet column: `metadata` as JSON text, `word_count` at most 2**63 - 1."""
    if name == "word_count" and content is not None:
        return min(content, MAX_INTEGER)
    return json.dumps(content or {}, ensure_ascii=False) if name == "metadata" else content
