"""Select the captures that may be papers by their index lines; convert digests to the keys of rows."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from windrow.collections.papers.collection import KeyForm
from windrow.contract import Skip
from windrow.errors import ConfigError
from windrow.formats.cdx import surt
from windrow.model import CdxLine, Source
from windrow.reasons import Reason

EMPTY_FILE_DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
"""The SHA-1 of an empty file, in base 32."""

_BASE32_MATCH = re.compile("[A-Z2-7]{32}").fullmatch
_HEX_MATCH = re.compile("[0-9a-f]{40}").fullmatch
_PREFIX = b"sha1:"
_SHA1_BYTES = 20


def is_base32(digest: str) -> bool:
    """Return whether a text is a SHA-1 in base 32, the form used in CDX files."""
    return _BASE32_MATCH(digest) is not None


def hex_of(base32: str) -> str:
    """Convert a digest from base 32 to hexadecimal.

    >>> hex_of("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    'da39a3ee5e6b4b0d3255bfef95601890afd80709'
    """
    return base64.b32decode(base32).hex()


def base32_of(hexadecimal: str) -> str:
    """Convert a digest from hexadecimal to base 32.

    >>> base32_of("da39a3ee5e6b4b0d3255bfef95601890afd80709")
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return base64.b32encode(bytes.fromhex(hexadecimal)).decode()


def row_key(base32: str, form: KeyForm) -> bytes:
    """Return the key of the row of the paper with a digest, in the form that the table uses.

    >>> row_key("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", KeyForm.PREFIXED)
    b'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if form is KeyForm.RAW:
        return base64.b32decode(base32)
    return (b"" if form is KeyForm.BARE else _PREFIX) + base32.encode()


def digest_of(key: bytes) -> str:
    """Return the digest in the key of a row, in base 32, or an empty text if the key has none of the three forms.

    >>> digest_of(bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709"))
    '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    if len(key) == _SHA1_BYTES:
        return base64.b32encode(key).decode()
    text = key.removeprefix(_PREFIX).decode("ascii", "replace")
    return text if is_base32(text) else ""


def key_text(key: bytes) -> str:
    """Return the key of a row as the text that exports have: with its digest in base 32, or in hexadecimal."""
    return f"sha1:{digest_of(key)}" if digest_of(key) else key.hex()


def parse_digest(name: str) -> str:
    """Return a SHA-1 in base 32 or hexadecimal, with or without `sha1:`, in base 32, or an empty text if it is not one.

    >>> parse_digest("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj"), parse_digest("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709")
    ('3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ', '3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ')
    """
    text = name.strip()
    if text[:5].lower() == "sha1:":
        text = text[5:]
    if is_base32(text.upper()):
        return text.upper()
    return base32_of(text.lower()) if _HEX_MATCH(text.lower()) else ""


PDF, POSTSCRIPT, JATS, XML, HTML = (
    "application/pdf", "application/postscript", "application/jats+xml", "text/xml", "text/html",
)  # fmt: skip
TYPES = (PDF, POSTSCRIPT, JATS, XML, HTML)
UNKNOWN = "application/octet-stream"

_STARTS_OF_TYPES = (
    (PDF, ("application/pdf", "application/x-pdf", "image/pdf", "text/pdf", ".pdf", "pdf")),
    (POSTSCRIPT, ("application/postscript",)),
    (JATS, ("application/jats+xml", "application/jats")),
    (HTML, ("text/html", "application/xhtml+xml")),
    (XML, ("text/xml", "application/xml")),
    (UNKNOWN, ("application/octet-stream", "octetstream", "application/download", "binary/octet-stream", "unk",
               "x-download", "application/x-download", "application/force-download", "force-download", "unknown")),
)  # fmt: skip
_PATH_WORDS = ("pub", "pubs", "research", "publication", "publications", "article", "articles", "proceeding",
               "proceedings", "paper", "papers", "fulltext")  # fmt: skip
_HOST_WORDS = ("hal", "eprint", "ojs", "dspace", "scielo", "redalyc", "revues", "revistas", "research", "journal")

_TILDE_MATCH = re.compile(r"(?:edu|ac|[a-z]{2},(?:edu|ac))[,)].*/(?:~|%7e)", re.IGNORECASE).match
_PATH_WORD_SEARCH = re.compile(rf"\)/(?:.*/)?(?:{'|'.join(_PATH_WORDS)})/", re.IGNORECASE).search
_HOST_WORD_SEARCH = re.compile(rf"^[^)/]*(?:{'|'.join(_HOST_WORDS)})", re.IGNORECASE).search
_DOI_PATH_SEARCH = re.compile(r"\)/(?:.*/)?(?:doi[:/=])?10\.\d{3,9}/").search

PATTERNS: Mapping[str, Callable[[str], bool]] = {
    "edu-tilde": lambda key: bool(_TILDE_MATCH(key)),
    "url-words": lambda key: bool(_PATH_WORD_SEARCH(key)),
    "host-words": lambda key: bool(_HOST_WORD_SEARCH(key)),
    "url-doi": lambda key: bool(_DOI_PATH_SEARCH(key)),
}
"""Named patterns for the SURTs of papers, such as `edu,example)/~me/pubs/1.pdf`."""


def media_type(declared: str) -> str:
    """Return the standard name of a media type as a server writes it, or an empty text if it is not for documents.

    >>> media_type("Application/PDF; charset=binary"), media_type('"application/pdf"'), media_type("image/png")
    ('application/pdf', 'application/pdf', '')
    """
    text = declared.strip(" \"'").lower()
    return next((name for name, starts in _STARTS_OF_TYPES if text.startswith(starts)), "")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Return the rule of a source, a function that returns why a capture is not wanted, or None if it is."""
    settings = {**options, **source.options}
    types = wanted_types(settings)
    patterns = tuple(_pattern(name) for name in settings.get("patterns") or ())
    digests = frozenset(settings.get("digests") or ())
    return partial(_check_capture, types, patterns, digests, {})


def wanted_types(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the media types that the settings of a source select; raise ConfigError for one that no file has."""
    names = settings.get("media_types") or (PDF, POSTSCRIPT, JATS)
    for name in names:
        if not media_type(name):
            raise ConfigError(
                f"media_types: {name!r} is none of {', '.join((*TYPES, UNKNOWN))}; no file would be taken"
            )
    types = frozenset(map(media_type, names))
    return types | {UNKNOWN} if settings.get("octet_stream") else types


def _pattern(name: str) -> Callable[[str], bool]:
    """Return a function that matches a SURT with a named pattern or a regular expression; ConfigError if invalid."""
    if name in PATTERNS:
        return PATTERNS[name]
    try:
        search = re.compile(name).search
    except re.error as error:
        raise ConfigError(
            f"{name!r} is neither one of {', '.join(PATTERNS)} nor a regular expression: {error}"
        ) from None
    return lambda key: search(key) is not None


# Other digests than keys have are accepted, as the step `extract` computes the SHA-1 itself.
_ACCEPTED_DIGEST_PREFIXES = ("sha256:", "sha384:", "sha512:", "sha1:", "blake2b:", "md5:")
_OTHER_TYPE = Skip(Reason.NOT_WANTED, message="media type")
_OTHER_STATUS = Skip(Reason.NOT_WANTED, message="status")
_BAD_DIGEST = Skip(Reason.BAD_LINE, message="digest is not a SHA-1 in base 32")
_EMPTY_FILE = Skip(Reason.NOT_WANTED, message="empty")
_NO_LOCATION = Skip(Reason.BAD_LINE, message="no offset or file")
_NO_PATTERN = Skip(Reason.NOT_WANTED, message="pattern")
_OTHER_DIGEST = Skip(Reason.NOT_WANTED, message="not in the list")
_MAX_CACHED_OUTCOMES = 10_000  # pairs of media type and status whose outcome is cached


def kinds(source: Source, options: Mapping[str, Any]) -> Callable[[str, int | None], Skip | None]:
    """Return the part of the rule of a source that depends only on media type and status."""
    return partial(_check_type_and_status, wanted_types({**options, **source.options}))


def _check_type_and_status(types: frozenset[str], mime: str, status: int | None) -> Skip | None:
    """Return why a capture with this media type and status is not wanted, or None if it is. A revisit may lack both."""
    is_revisit = mime.lower() == "warc/revisit"
    if not is_revisit and media_type(mime) not in types:
        return _OTHER_TYPE
    return None if status == 200 or (is_revisit and status is None) else _OTHER_STATUS


def _check_capture(  # noqa: PLR0911 one return for each rule
    types: frozenset[str], patterns: Sequence[Callable[[str], bool]], digests: frozenset[str],
    cache: dict[tuple[str, int | None], Skip | None], line: CdxLine,
) -> Skip | None:  # fmt: skip
    """Return why the capture of an index line is not wanted, or None; `cache` has outcomes by media type and status."""
    _, _, _, mime, status, digest, _, offset, warc = line
    try:
        skip = cache[mime, status]
    except KeyError:
        if len(cache) >= _MAX_CACHED_OUTCOMES:
            cache.clear()
        skip = cache[mime, status] = _check_type_and_status(types, mime, status)
    if skip is not None:
        return skip
    digest = digest.removeprefix("sha1:")
    if not is_base32(digest) and not digest.startswith(_ACCEPTED_DIGEST_PREFIXES):
        return _BAD_DIGEST
    if digest == EMPTY_FILE_DIGEST:
        return _EMPTY_FILE
    if offset is None or not warc:
        return _NO_LOCATION
    if digests and digest not in digests:
        return _OTHER_DIGEST
    if patterns and not any(pattern(line.key or surt(line.url)) for pattern in patterns):
        return _NO_PATTERN
    return None
