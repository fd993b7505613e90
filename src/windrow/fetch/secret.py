"""Secrets: read from the place that the configuration names, sent with requests, hidden in what is kept.

They are not part of the request as it is kept, and overwritten where a response repeats them. Requests to S3-compatible
stores are signed with one (AWS Signature Version 4) by botocore: the extra `s3`.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from windrow.errors import MissingExtra, TerminalFailure
from windrow.fetch.politeness.guard import loopback
from windrow.fetch.transport import Sink, public_address
from windrow.model import Credential, Secret, Site
from windrow.reasons import Reason

_LARGEST = 64 * 2**10


def reveal(secret: Secret) -> str:
    """Return the secret at `env:NAME` or in `file:PATH`, without the newline that ends a file.

    Raises TerminalFailure with NO_SECRET if the place is empty, missing, unreadable or larger than 64 kB. The message
    names the place, never the secret.
    """
    kind, _, location = secret.place.partition(":")
    if kind == "env":
        secret_text = os.environ.get(location, "")
    elif kind == "file":
        secret_text = _read_file(secret, Path(location).expanduser())
    else:
        raise _no_secret(secret, "neither env:NAME nor file:PATH")
    if not secret_text:
        raise _no_secret(secret, "it is empty or missing")
    return secret_text


def _read_file(secret: Secret, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode()
    except OSError as error:
        raise _no_secret(secret, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _no_secret(secret, "it is not UTF-8 text") from None
    if len(content) > _LARGEST:
        raise _no_secret(secret, "it is too large for a secret")
    return text.removesuffix("\n").removesuffix("\r")


def _no_secret(secret: Secret, cause: str) -> TerminalFailure:
    place = secret.place if secret.place.startswith(("env:", "file:")) else "(place not shown)"
    return TerminalFailure(f"no secret at {place}: {cause}", Reason.NO_SECRET, hint="set it there, then: windrow run")


MIN_HIDDEN = 6
"""Length from which a secret is hidden in responses: a shorter one may be any word."""


class SentSecrets:
    """The revealed secrets of one origin; they stay in the process that makes requests."""

    def __init__(self, site: Site, credentials: Sequence[Credential]) -> None:
        """Reveal the secrets; TerminalFailure if they would be sent unencrypted."""
        if site.scheme != "https" and not (loopback(site.host) and not site.proxy):
            raise TerminalFailure(
                f"{public_address(site)}: a secret may only be sent over https",
                Reason.POLICY_DENIED,
                hint="use scheme https",
            )
        self.headers: dict[str, str] = {}
        self._query: list[str] = []
        words: set[str] = set()
        for credential in credentials:
            word = reveal(credential.secret)
            if not word.isprintable() or not word.isascii():
                raise TerminalFailure(
                    f"the secret at {credential.secret.place} is not one line of ASCII", Reason.NO_SECRET
                )
            words.add(word)
            if credential.header:
                self.headers[credential.header] = credential.prefix + word
            else:
                self._query.append(f"{credential.query}={quote(word, safe='')}")
        spellings = {spelling for word in words if len(word) >= MIN_HIDDEN for spelling in _spellings(word)}
        self._longest = max(map(len, spellings), default=1)
        longest_first = sorted(spellings, key=len, reverse=True)
        self._pattern = (
            re.compile(b"|".join(re.escape(spelling.encode()) for spelling in longest_first)) if spellings else None
        )

    def __repr__(self) -> str:
        """Return a text without secrets."""
        return "SentSecrets()"

    def url(self, url: str) -> str:
        """Return a URL with the secrets that are sent in its query."""
        if not self._query:
            return url
        return f"{url}{'&' if '?' in url else '?'}{'&'.join(self._query)}"

    def hide(self, text: bytes) -> bytes:
        """Return a text with its secrets overwritten, of the same length."""
        return self._pattern.sub(lambda match: b"x" * len(match[0]), text) if self._pattern else text

    def hide_in_text(self, text: str) -> str:
        """Return a message with its secrets overwritten."""
        return self.hide(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def contains_secret(self, text: bytes) -> bool:
        """Return whether a text contains a secret."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Overwrite the secrets in a text; return the part that may be written, and an end that may begin a secret."""
        text = self.hide(text)
        kept = max(0, len(text) - self._longest + 1)
        return text[:kept], text[kept:]


def _spellings(word: str) -> Iterable[str]:
    """Return the spellings of a secret in responses: plain, in a URL, in JSON and in HTML."""
    return {word, quote(word, safe=""), quote(word), json.dumps(word)[1:-1], html.escape(word)}


class HidingSink:
    """A sink that overwrites secrets and writes into another sink."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed: int | None = None

    def __init__(self, sink: Sink, secrets: SentSecrets) -> None:
        """Write into `sink`."""
        self._sink, self._secrets = sink, secrets
        self._held = b""

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin a response."""
        self._sink.open(size, self._secrets.hide(head), request)

    def restart(self) -> None:
        """Begin again."""
        self._held = b""
        self._sink.restart()

    def write(self, block: bytes | memoryview) -> None:
        """Write the next bytes; the last few are held until more follow, since they may begin a secret."""
        final, self._held = self._secrets.split(self._held + bytes(block))
        if final:
            self._sink.write(final)

    def end(self) -> None:
        """Write the bytes that were held."""
        if self._held:
            self._sink.write(self._held)
            self._held = b""


class S3Signer:
    """Signs GET requests; the secret at `place` is `KEY:SECRET` or `KEY:SECRET:TOKEN`."""

    def __init__(self, place: Secret, region: str) -> None:
        """Read the key from its place; MissingExtra without botocore, TerminalFailure if it is not KEY:SECRET."""
        if find_spec("botocore") is None:
            raise MissingExtra("signing requests to S3", "s3")
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 an extra
        from botocore.credentials import Credentials  # noqa: PLC0415 an extra

        key, _, rest = reveal(place).strip().partition(":")
        secret, _, token = rest.partition(":")
        if not key or not secret:
            raise TerminalFailure(f"{place.place} does not hold KEY:SECRET", Reason.NO_SECRET)
        self._auth = S3SigV4Auth(Credentials(key, secret, token or None), "s3", region)

    def headers(self, url: str) -> dict[str, str]:
        """Return the headers that sign a GET of a URL at the present time."""
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 an extra

        request = AWSRequest("GET", url)
        self._auth.add_auth(request)
        return {str(name): str(text) for name, text in request.headers.items()}
