"""A list of changes as an Atom feed (RFC 4287) and as a page of HTML: escaped, and without what XML cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from html import escape
from uuid import NAMESPACE_URL, uuid5

from windrow.adapter import SourceChange

_BARRED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def atom(changes: Iterable[SourceChange], name: str, at: datetime) -> str:
    """Return a feed with an entry for each change; `name` is the workspace, `at` the present."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(name)}: what changed</title>",
        f"<id>{_named(name)}</id>",
        f"<updated>{_time(at)}</updated>",
        "<author><name>windrow</name></author>",
    ]
    for one in changes:
        lines += [
            "<entry>",
            f"<title>{_text(f'{one.kind}: {one.title or one.key}')}</title>",
            f"<id>{_named(f'{one.kind} {one.at.isoformat()} {one.source} {one.key}')}</id>",
            f"<updated>{_time(one.at)}</updated>",
            f'<category term="{_text(one.kind)}"/>',
            *([f'<link href="{_text(one.key)}"/>'] if _is_address(one.key) else []),
            f"<summary>{_text(_said(one))}</summary>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>", ""])


def html(changes: Iterable[SourceChange], name: str) -> str:
    """Return a page with a row for each change."""
    title = f"{_text(name)}: what changed"
    rows = [
        f"<tr><td>{one.at:%Y-%m-%d %H:%M}</td><td>{_text(one.source)}</td><td>{_text(one.kind)}</td>"
        f"<td>{_linked(one)}</td><td>{_text(one.difference)}</td></tr>"
        for one in changes
    ]
    head = "<tr><th>when (UTC)</th><th>source</th><th>kind</th><th>what</th><th>difference</th></tr>"
    body = "\n".join([f"<table>{head}", *rows, "</table>"]) if rows else "<p>Nothing changed.</p>"
    begin = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n<h1>{title}</h1>'
    return f"{begin}\n{body}\n</html>\n"


def _linked(one: SourceChange) -> str:
    shown = _text(one.title or one.key)
    return f'<a href="{_text(one.key)}">{shown}</a>' if _is_address(one.key) else shown


def _is_address(key: str) -> bool:
    return key.startswith(("http://", "https://"))


def _said(one: SourceChange) -> str:
    return f"{one.source}: {one.difference}" if one.difference else one.source


def _named(text: str) -> str:
    return uuid5(NAMESPACE_URL, f"windrow changes {text}").urn


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _text(text: str) -> str:
    return escape(_BARRED.sub("\N{REPLACEMENT CHARACTER}", text))
