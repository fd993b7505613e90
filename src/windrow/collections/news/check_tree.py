"""Whether a tree of articles follows the standard, whoever wrote it: names, folders, fields, dates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from windrow.collections.news import standard
from windrow.errors import StepError
from windrow.formats.moment import written

_APART = timedelta(days=1).total_seconds()  # a date without a zone may be this far from its seconds
_SAME = 1.0
LARGEST = 64 << 20
"""Bytes of a file that is judged."""


def judge_file(folder: str, name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an article's file: the field, or an empty text, and what is wrong with it."""
    try:
        article = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        yield "", "is no UTF-8"
        return
    except (ValueError, RecursionError, StepError):
        yield "", "is no JSON"
        return
    yield from standard.problems(article)
    if isinstance(article, dict):
        yield from _placed(article, folder, name)
        yield from _dated(article)


def _no_number(name: str) -> None:
    raise StepError(f"{name} is no JSON")


def _placed(article: dict[str, Any], folder: str, name: str) -> Iterator[tuple[str, str]]:
    url, domain = article.get("url"), article.get("source_domain")
    if isinstance(url, str) and name != standard.file_name(url):
        yield "url", f"the file should be called {standard.file_name(url)}"
    if isinstance(domain, str) and domain != folder:
        yield "source_domain", f"the file should lie in {domain[:100]!r}"


def _dated(article: dict[str, Any]) -> Iterator[tuple[str, str]]:
    stamp, told = article.get("publication_timestamp_gmt"), article.get("publication_date")
    if not isinstance(stamp, int) or not isinstance(told, str) or (at := written(told)) is None:
        return
    try:
        apart = abs(at.timestamp() - stamp)
    except (OverflowError, ValueError):
        return
    if apart > (_SAME if at.tzinfo else _APART):
        yield "publication_timestamp_gmt", f"is {stamp}, and publication_date is {told[:40]!r}"
