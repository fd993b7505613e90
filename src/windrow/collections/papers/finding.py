"""Which captures are papers, and by which key each is kept.

Everything here is asked of one line; what it says is one reason, and a word for the rule that it broke.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from windrow.collections.papers.collection import KeyForm
from windrow.contract import Skip
from windrow.errors import ConfigError
from windrow.formats.surt import surt
from windrow.model import CdxLine, Source
from windrow.reasons import Reason

EMPTY = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
"""The digest of no bytes at all, in base 32."""

_BASE32 = re.compile("[A-Z2-7]{32}").fullmatch
_HEX = re.compile("[0-9a-f]{40}").fullmatch
_PREFIX = b"sha1:"
_RAW, _BARE = 20, 32


def is_base32(digest: str) -> bool:
    """Tell whether a text is a SHA-1 as indexes of captures spell it."""
    return _BASE32(digest) is not None


def hex_of(base32: str) -> str:
    """Spell a digest in base 16.

    >>> hex_of("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    'da39a3ee5e6b4b0d3255bfef95601890afd80709'
    """
    return base64.b32decode(base32).hex()


def base32_of(hexadecimal: str) -> str:
    """Spell a digest in base 32.

    >>> base32_of("da39a3ee5e6b4b0d3255bfef95601890afd80709")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(bytes.fromhex(hexadecimal)).decode()


def row_key(base32: str, form: KeyForm) -> bytes:
    """Return the key of a row.

    >>> row_key("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", KeyForm.PREFIXED)
    b'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if form is KeyForm.RAW:
        return base64.b32decode(base32)
    return (b"" if form is KeyForm.BARE else _PREFIX) + base32.encode()


def digest_of(key: bytes) -> str:
    """Return the digest that a row's key has, in base 32, whichever form it is in; empty where it is none.

    >>> digest_of(bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if len(key) == _RAW:
        return base64.b32encode(key).decode()
    text = key.removeprefix(_PREFIX).decode("ascii", "replace")
    return text if is_base32(text) else ""


def named(name: str) -> str:
    """Return the digest in base 32 that a person means, who may spell it as keys, WARC files or SHA-1 sums do.

    >>> named("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj") == named("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709") == EMPTY
    True
    """
    text = name.strip()
    if text[:5].lower() == "sha1:":
        text = text[5:]
    if is_base32(text.upper()):
        return text.upper()
    return base32_of(text.lower()) if _HEX(text.lower()) else ""


PDF, POSTSCRIPT, JATS, XML, HTML = (
    "application/pdf", "application/postscript", "application/jats+xml", "text/xml", "text/html",
)  # fmt: skip
TYPES = (PDF, POSTSCRIPT, JATS, XML, HTML)
UNKNOWN = "application/octet-stream"

_STARTS = (
    (PDF, ("application/pdf", "application/x-pdf", "image/pdf", "text/pdf", ".pdf", "pdf")),
    (POSTSCRIPT, ("application/postscript",)),
    (JATS, ("application/jats+xml", "application/jats")),
    (HTML, ("text/html", "application/xhtml+xml")),
    (XML, ("text/xml", "application/xml")),
    (UNKNOWN, ("application/octet-stream", "octetstream", "application/download", "binary/octet-stream", "unk",
               "x-download", "application/x-download", "application/force-download", "force-download", "unknown")),
)  # fmt: skip
_WORDS = ("pub", "pubs", "research", "publication", "publications", "article", "articles", "proceeding", "proceedings",
          "paper", "papers", "fulltext")  # fmt: skip
_HOSTS = ("hal", "eprint", "ojs", "dspace", "scielo", "redalyc", "revues", "revistas", "research", "journal")

_TILDE = re.compile(r"(?:edu|ac|[a-z]{2},(?:edu|ac))[,)].*/(?:~|%7e)", re.IGNORECASE).match
_PATH_WORD = re.compile(rf"\)/(?:.*/)?(?:{'|'.join(_WORDS)})/", re.IGNORECASE).search
_HOST_WORD = re.compile(rf"^[^)/]*(?:{'|'.join(_HOSTS)})", re.IGNORECASE).search
_DOI_PATH = re.compile(r"\)/(?:.*/)?(?:doi[:/=])?10\.\d{3,9}/").search

PATTERNS: Mapping[str, Callable[[str], bool]] = {
    "edu-tilde": lambda key: bool(_TILDE(key)),
    "url-words": lambda key: bool(_PATH_WORD(key)),
    "host-words": lambda key: bool(_HOST_WORD(key)),
    "url-doi": lambda key: bool(_DOI_PATH(key)),
}
"""Rules by name for keys that look like those of papers; a key is a SURT, such as `edu,example)/~me/pubs/1.pdf`."""


def media_type(written: str) -> str:
    """Return the standard name of a media type; empty for one that is none of a document.

    >>> media_type("Application/PDF; charset=binary"), media_type('"application/pdf"'), media_type("image/png")
    ('application/pdf', 'application/pdf', '')
    """
    text = written.strip(" \"'").lower()
    return next((name for name, starts in _STARTS if text.startswith(starts)), "")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Return the rule of a source: why a capture is not wanted, or None where it is."""
    told = {**options, **source.options}
    types = wanted_types(told)
    wanted = tuple(_pattern(one) for one in told.get("patterns") or ())
    digests = frozenset(told.get("digests") or ())
    return partial(_refusal, types, wanted, digests, {})


def wanted_types(told: Mapping[str, Any]) -> frozenset[str]:
    """Return the media types that a source takes, as its settings say."""
    types = frozenset(told.get("types") or (PDF, POSTSCRIPT, JATS))
    return types | {UNKNOWN} if told.get("octets") else types


def _pattern(name: str) -> Callable[[str], bool]:
    if name in PATTERNS:
        return PATTERNS[name]
    try:
        found = re.compile(name).search
    except re.error as error:
        raise ConfigError(f"{name!r} is neither one of {', '.join(PATTERNS)} nor a pattern: {error}") from None
    return lambda key: found(key) is not None


# Of what is kept here, and of WARC files: the step makes its own SHA-1.
_OTHER_DIGESTS = ("sha256:", "sha384:", "sha512:", "sha1:", "blake2b:", "md5:")
_NO_TYPE = Skip(Reason.NOT_WANTED, message="media type")
_STATUS = Skip(Reason.NOT_WANTED, message="status")
_DIGEST = Skip(Reason.BAD_LINE, message="digest is no SHA-1 in base 32")
_NO_BYTES = Skip(Reason.NOT_WANTED, message="empty")
_NO_PLACE = Skip(Reason.BAD_LINE, message="no offset or file")
_UNLIKE = Skip(Reason.NOT_WANTED, message="pattern")
_KINDS = 10_000  # that are remembered
_UNLISTED = Skip(Reason.NOT_WANTED, message="not in the list")


def kinds(source: Source, options: Mapping[str, Any]) -> Callable[[str, int | None], Skip | None]:
    """Return the part of a source's rule that asks for media type and status only."""
    return partial(_refused_kind, wanted_types({**options, **source.options}))


def _refused_kind(types: frozenset[str], mime: str, status: int | None) -> Skip | None:
    revisit = mime.lower() == "warc/revisit"
    if not revisit and media_type(mime) not in types:
        return _NO_TYPE
    return None if status == 200 or (revisit and status is None) else _STATUS


def _refusal(  # noqa: PLR0911 one rule after the other
    types: frozenset[str],
    patterns: Sequence[Callable[[str], bool]],
    digests: frozenset[str],
    known: dict[tuple[str, int | None], Skip | None],
    line: CdxLine,
) -> Skip | None:
    _, _, _, mime, status, digest, _, offset, warc = line
    try:
        refused = known[mime, status]
    except KeyError:
        if len(known) >= _KINDS:
            known.clear()
        refused = known[mime, status] = _refused_kind(types, mime, status)
    if refused is not None:
        return refused
    digest = digest.removeprefix("sha1:")
    if not is_base32(digest) and not digest.startswith(_OTHER_DIGESTS):
        return _DIGEST
    if digest == EMPTY:
        return _NO_BYTES
    if offset is None or not warc:
        return _NO_PLACE
    if digests and digest not in digests:
        return _UNLISTED
    if patterns and not any(pattern(line.key or surt(line.url)) for pattern in patterns):
        return _UNLIKE
    return None
