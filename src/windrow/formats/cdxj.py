"""CDXJ index lines: a sort-friendly URL key, a 14-digit time, and JSON."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii as dumps

from windrow.digest import warc as spell
from windrow.formats.surt import surt


def line(address: str, at: str, place: tuple[str, int, int], *, status: int | None, mime: str, digest: str) -> str:
    """Write one index line, without its line feed; `at` is a time as WARC-Date has it."""
    warc, offset, length = place
    told = f'"status": "{status}", ' if status else ""
    content = (
        f'{{"url": {dumps(address)}, "mime": {dumps(mime)}, {told}"digest": {dumps(spell(digest))}, '
        f'"length": "{length}", "offset": "{offset}", "filename": {dumps(warc)}}}'
    )
    return f"{surt(address)} {at[:4]}{at[5:7]}{at[8:10]}{at[11:13]}{at[14:16]}{at[17:19]} {content}"
