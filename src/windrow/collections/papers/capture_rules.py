"""Select, by media type, status, digest and address, captures that may be papers; refuse unusable index lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from windrow.collections.papers.row_keys import EMPTY_FILE_DIGEST, is_base32, parse_digest
from windrow.contract import Skip
from windrow.errors import ConfigError
from windrow.formats.cdx import surt
from windrow.model import CdxLine, Source
from windrow.reasons import Reason

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
"""The named patterns: functions that return whether a SURT (`edu,example)/~me/pubs/1.pdf`) may be that of a paper."""


def media_type(declared: str) -> str:
    """Return the standard name of the media type that a server declares; empty if papers do not have such a type.

    >>> media_type("Application/PDF; charset=binary"), media_type('"application/pdf"'), media_type("image/png")
    ('application/pdf', 'application/pdf', '')
    """
    text = declared.strip(" \"'").lower()
    return next((name for name, starts in _STARTS_OF_TYPES if text.startswith(starts)), "")


def select(source: Source, options: Mapping[str, Any]) -> Callable[[CdxLine], Skip | None]:
    """Return a source's rule: a function that returns why a capture is not wanted, or None if it is wanted.

    Raise ConfigError if a setting of the rule is not valid.
    """
    settings = {**options, **source.options}
    types = wanted_types(settings)
    patterns = tuple(_pattern(name) for name in settings.get("patterns") or ())
    return partial(_check_capture, types, patterns, wanted_digests(settings), {})


def wanted_digests(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the SHA-1 digests that a source's settings select, in base 32; empty if they select all."""
    return frozenset(map(_digest, settings.get("digests") or ()))


def wanted_types(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the media types that a source's settings select, or the default; raise ConfigError if one is not known."""
    names = settings.get("media_types") or (PDF, POSTSCRIPT, JATS)
    for name in names:
        if not media_type(name):
            raise ConfigError(f"`media_types`: {name!r} is not one of {', '.join((*TYPES, UNKNOWN))}")
    types = frozenset(map(media_type, names))
    return types | {UNKNOWN} if settings.get("octet_stream") else types


def _pattern(name: str) -> Callable[[str], bool]:
    if name in PATTERNS:
        return PATTERNS[name]
    try:
        search = re.compile(name).search
    except re.error as error:
        raise ConfigError(
            f"`patterns`: {name!r} is neither one of {', '.join(PATTERNS)} nor a regular expression: {error}"
        ) from None
    return lambda key: search(key) is not None


def _digest(text: str) -> str:
    if digest := parse_digest(text):
        return digest
    raise ConfigError(f"`digests`: {text[:100]!r} is not a SHA-1 in base 32 or hexadecimal")


# Digests by other algorithms are accepted, as the step `extract` computes the SHA-1 itself.
_ACCEPTED_DIGEST_PREFIXES = ("sha256:", "sha384:", "sha512:", "blake2b:", "md5:")
_OTHER_TYPE = Skip(Reason.NOT_WANTED, message="its media type is not wanted")
_OTHER_STATUS = Skip(Reason.NOT_WANTED, message="its status is not 200")
_BAD_DIGEST = Skip(Reason.BAD_LINE, message="its digest is not a SHA-1 in base 32 or hexadecimal")
_EMPTY_FILE = Skip(Reason.NOT_WANTED, message="the file is empty")
_NO_LOCATION = Skip(Reason.BAD_LINE, message="the line lacks an offset or a file")
_NO_PATTERN = Skip(Reason.NOT_WANTED, message="its address matches none of `patterns`")
_OTHER_DIGEST = Skip(Reason.NOT_WANTED, message="its digest is not in `digests`")
_MAX_CACHED_OUTCOMES = 10_000  # the most pairs of media type and status whose outcome is cached


def kinds(source: Source, options: Mapping[str, Any]) -> Callable[[str, int | None], Skip | None]:
    """Return the part of a source's rule that depends only on media type and status, as a function of these."""
    return partial(_check_type_and_status, wanted_types({**options, **source.options}))


def _check_type_and_status(types: frozenset[str], mime: str, status: int | None) -> Skip | None:
    """Return why a capture is not wanted, or None. A revisit has no media type, and may have no status."""
    is_revisit = mime.lower() == "warc/revisit"
    if not is_revisit and media_type(mime) not in types:
        return _OTHER_TYPE
    return None if status == 200 or (is_revisit and status is None) else _OTHER_STATUS


def _check_capture(  # noqa: PLR0911 one return for each rule
    types: frozenset[str], patterns: Sequence[Callable[[str], bool]], digests: frozenset[str],
    cache: dict[tuple[str, int | None], Skip | None], line: CdxLine,
) -> Skip | None:  # fmt: skip
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
        digest = parse_digest(digest)
        if not digest:
            return _BAD_DIGEST
    if digest == EMPTY_FILE_DIGEST:
        return _EMPTY_FILE
    if offset is None or not warc:
        return _NO_LOCATION
    if digests and digest not in digests and is_base32(digest):  # `extract` checks the others
        return _OTHER_DIGEST
    if patterns and not any(pattern(line.key or surt(line.url)) for pattern in patterns):
        return _NO_PATTERN
    return None
