"""The main content of one page, from a file or an address; nothing is kept."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from windrow.adapters.adapter import refuse_without_contact
from windrow.config import Workspace
from windrow.content import Extract, extract
from windrow.errors import UsageError
from windrow.formats.http import plain
from windrow.formats.url import normalise, parts
from windrow.model import KeptResponse, Limits, Site

LARGEST = 64 << 20
"""Bytes of a page that are read; more is refused."""


def extract_page(workspace: Workspace | None, what: bytes | Path | str, url: str = "") -> Extract:
    """Extract a page's bytes, file, or address (`https://...`); UsageError for what is none, or above `LARGEST`.

    `url` is the address that the relative links of bytes and of a file start from.
    """
    if isinstance(what, str) and "://" in what:
        if url:
            raise UsageError("a page that is asked for has an address: another one is for bytes and files")
        return _extract_address(workspace, what)
    if isinstance(what, bytes):
        html = what
    else:
        path = Path(what).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}; an address begins with http:// or https://")
        with path.open("rb") as file:
            html = file.read(LARGEST + 1)
    if len(html) > LARGEST:
        raise UsageError(f"the page is larger than {LARGEST:,} bytes")
    return extract(html, url=url)


def _extract_address(workspace: Workspace | None, address: str) -> Extract:
    """Ask for one address, as the workspace's contact, follow its redirects, and extract what comes."""
    from windrow.archive import open_response  # noqa: PLC0415 a file is read without
    from windrow.engine.sample import follow_redirects, sample  # noqa: PLC0415

    url = normalise(address).url
    if not url:
        raise UsageError(f"{address[:200]!r} is not an address of the web", hint="windrow extract --help")
    with tempfile.TemporaryDirectory(prefix="windrow-extract-") as folder:

        def ask(url: str) -> tuple[KeptResponse, float]:
            return sample(Path(folder), _site_at(workspace, url), url, url, replace(Limits(), transfer=LARGEST))

        url, kept, _seconds = follow_redirects(url, ask)
        answer = open_response(Path(folder), kept.place)
        with answer.view as view:
            body = plain(view.read(), answer.fields, most=LARGEST, ratio=Limits().ratio)
    return extract(body, url=url, content_type=answer.fields.get("content-type", ""))


def _site_at(workspace: Workspace | None, url: str) -> Site:
    """Return how an address is reached: one at the site of a source with that source's own access.

    Any other must have a public number. ConfigError where another machine is to be asked and nothing says by whom.
    """
    where = parts(url)
    host = where.host.strip("[]")
    refuse_without_contact(workspace, where.host)
    sites = (source.site for source in workspace.sources) if workspace else iter(())
    site = next(
        (site for site in sites if (site.scheme, site.host, site.port) == (where.scheme, host, where.port)), None
    )
    agent = workspace.agent if workspace else "windrow"
    return replace(site or Site(where.scheme), host=host, port=where.port, base="/", agent=agent)
