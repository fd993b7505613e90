"""Extract the main content of one page, from a file or an address; nothing is kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from windrow.adapters.adapter import refuse_without_contact
from windrow.config import Workspace
from windrow.content import Extract, extract
from windrow.errors import UsageError
from windrow.formats.http import decode_body
from windrow.formats.url import normalise, parts
from windrow.model import Limits, Site, Source

LARGEST = 64 << 20
"""The largest page that is read, in bytes."""


def extract_page(workspace: Workspace | None, page: bytes | Path | str, url: str = "") -> Extract:
    """Extract a page, given as bytes, as a file, or as an address (`https://...`).

    `url` is the base of relative links in bytes and files. Raises UsageError if the page is none of these, or larger
    than `LARGEST`.
    """
    if isinstance(page, str) and "://" in page:
        if url:
            raise UsageError("a page given by its address has one already: url is for bytes and files")
        return _extract_address(workspace, page)
    if isinstance(page, bytes):
        html = page
    else:
        path = Path(page).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}; an address begins with http:// or https://")
        with path.open("rb") as file:
            html = file.read(LARGEST + 1)
    if len(html) > LARGEST:
        raise UsageError(f"the page is larger than {LARGEST:,} bytes")
    return extract(html, url=url)


def _extract_address(workspace: Workspace | None, address: str) -> Extract:
    """Request one address as the workspace's contact, follow its redirects, and extract the answer."""
    from windrow.engine.sample import sample_address  # noqa: PLC0415 not needed for a file

    url = normalise(address).url
    if not url:
        raise UsageError(f"{address[:200]!r} is not a web address", hint="windrow extract --help")
    access = partial(_access, workspace)
    answer = sample_address(access, url, replace(Limits(), transfer_size=LARGEST))
    body = decode_body(answer.body, answer.fields, most=LARGEST, ratio=Limits().ratio)
    return extract(body, url=answer.url, content_type=answer.fields.get("content-type", ""))


def _access(workspace: Workspace | None, url: str) -> Source:
    """Return the source as which an address is requested: that of a configured site, or a new one without rights.

    Any other host must have a public IP address. Raises ConfigError if the workspace does not name a contact for
    requests to other machines.
    """
    address = parts(url)
    host = address.host.strip("[]")
    refuse_without_contact(workspace, address.host)
    sites = (source.site for source in workspace.sources) if workspace else iter(())
    site = next(
        (site for site in sites if (site.scheme, site.host, site.port) == (address.scheme, host, address.port)), None
    )
    agent = workspace.user_agent if workspace else "windrow"
    return Source("try", "", replace(site or Site(address.scheme), host=host, port=address.port, base="/", agent=agent))
