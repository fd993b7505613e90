"""Extract the main content of one page, given as bytes, a file or an address; nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from windrow.adapters.adapter import refuse_without_contact
from windrow.caps import EXTRACTED_BYTES
from windrow.config import Workspace
from windrow.content import Extract, extract
from windrow.errors import UsageError
from windrow.formats.http import decode_body
from windrow.formats.url import describe_bad_address, normalise, parts
from windrow.model import Limits, Site, Source

MAX_PAGE_SIZE = EXTRACTED_BYTES.number
"""The maximum size of a page that is extracted, in bytes."""


def extract_page(workspace: Workspace | None, page: bytes | Path | str, url: str = "") -> Extract:
    """Extract the main content of a page, given as bytes, a file or an address; only an address uses `workspace`.

    `url` is the address against which relative links in bytes or a file are resolved. Raise UsageError if the file does
    not exist, if bytes or a file exceed `MAX_PAGE_SIZE`, if the address is not valid, or if `url` is given with an
    address.
    """
    if isinstance(page, str) and "://" in page:
        if url:
            raise UsageError("`url` can only be given with bytes or a file, not with the address of a page")
        return _extract_address(workspace, page)
    if isinstance(page, bytes):
        html = page
    else:
        path = Path(page).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}; an address must begin with http:// or https://")
        with path.open("rb") as file:
            html = file.read(MAX_PAGE_SIZE + 1)
    if len(html) > MAX_PAGE_SIZE:
        raise UsageError(f"the page is larger than {MAX_PAGE_SIZE:,} bytes, the most that is extracted")
    return extract(html, url=url)


def _extract_address(workspace: Workspace | None, address: str) -> Extract:
    from windrow.engine.sample import sample_address  # noqa: PLC0415 not needed for a file

    url = normalise(address).url
    if not url:
        raise UsageError(describe_bad_address(address), hint="windrow extract --help")
    answer = sample_address(partial(_source_for, workspace), url, replace(Limits(), transfer_size=MAX_PAGE_SIZE))
    body, is_cut = decode_body(answer.body, answer.fields, most=MAX_PAGE_SIZE, ratio=Limits().ratio)
    page = extract(body, url=answer.url, content_type=answer.fields.get("content-type", ""))
    return replace(page, is_cut=is_cut)


def _source_for(workspace: Workspace | None, url: str) -> Source:
    """Return a source for requesting one address, with the connection settings of a source at the same origin.

    It has none of that source's secrets, which are only for the addresses that the source itself requests. If no source
    has the origin, only a public IP address is requested. Raise ConfigError if the host is another machine, and no
    contact is configured or there is no workspace.
    """
    address = parts(url)
    host = address.host.strip("[]")
    refuse_without_contact(workspace, address.host)
    sites = (source.site for source in workspace.sources) if workspace else iter(())
    site = next(
        (site for site in sites if (site.scheme, site.host, site.port) == (address.scheme, host, address.port)), None
    )
    agent = workspace.user_agent if workspace else "windrow"
    settings = replace(site or Site(address.scheme), username="", secret=None)
    return Source("try", "", replace(settings, host=host, port=address.port, base="/", agent=agent))
