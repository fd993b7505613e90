"""Secrets: fetched from the place that the configuration names, sent with requests, hidden in what is kept.

They are sent beside what is kept of a request, and overwritten where an answer repeats them. Requests to
S3-compatible stores are signed with one (AWS Signature Version 4) by botocore: the extra `s3`.
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
from windrow.fetch.transport import Sink, at
from windrow.model import Credential, Secret, Site
from windrow.reasons import Reason

_LARGEST = 64 * 2**10


def reveal(secret: Secret) -> str:
    """Return the secret at `env:NAME` or in `file:PATH`, without the newline that ends a file.

    A place that is empty, missing, unreadable or larger than 64 kB is a TerminalFailure with
    NO_SECRET. The message names the place; what is there never enters a message.
    """
    kind, _, where = secret.place.partition(":")
    if kind == "env":
        value = os.environ.get(where, "")
    elif kind == "file":
        value = _text(secret, Path(where).expanduser())
    else:
        raise _missing(secret, "neither env:NAME nor file:PATH")
    if not value:
        raise _missing(secret, "nothing is there")
    return value


def _text(secret: Secret, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        text = content.decode()
    except OSError as error:
        raise _missing(secret, error.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise _missing(secret, "it is not UTF-8 text") from None
    if len(content) > _LARGEST:
        raise _missing(secret, "it is too large for a secret")
    return text.removesuffix("\n").removesuffix("\r")


def _missing(secret: Secret, why: str) -> TerminalFailure:
    place = secret.place if secret.place.startswith(("env:", "file:")) else "(place not shown)"
    return TerminalFailure(f"no secret at {place}: {why}", Reason.NO_SECRET, hint="set it there, then: windrow run")


SHORTEST = 6
"""Characters of a secret that is looked for in answers: a shorter one may be any word."""


class SentSecrets:
    """The secrets of one origin, revealed; it lives in the process that asks alone."""

    def __init__(self, site: Site, credentials: Sequence[Credential]) -> None:
        """Reveal them; a secret goes out encrypted or not at all."""
        if site.scheme != "https" and not (loopback(site.host) and not site.proxy):
            raise TerminalFailure(
                f"{at(site)}: a secret is sent over https only", Reason.POLICY_DENIED, hint="use scheme https"
            )
        self.headers: dict[str, str] = {}
        self._query: list[str] = []
        words: set[str] = set()
        for credential in credentials:
            word = reveal(credential.secret)
            if not word.isprintable() or not word.isascii():
                raise TerminalFailure(
                    f"the secret at {credential.secret.place} is not of one line of ASCII", Reason.NO_SECRET
                )
            words.add(word)
            if credential.header:
                self.headers[credential.header] = credential.prefix + word
            else:
                self._query.append(f"{credential.query}={quote(word, safe='')}")
        spelled = {form for word in words if len(word) >= SHORTEST for form in _spellings(word)}
        self._longest = max(map(len, spelled), default=1)
        longest_first = sorted(spelled, key=len, reverse=True)
        self._found = re.compile(b"|".join(re.escape(one.encode()) for one in longest_first)) if spelled else None

    def __repr__(self) -> str:
        """Say nothing of them."""
        return "SentSecrets()"

    def url(self, url: str) -> str:
        """Return an address with the secrets that belong into its query."""
        if not self._query:
            return url
        return f"{url}{'&' if '?' in url else '?'}{'&'.join(self._query)}"

    def hidden(self, text: bytes) -> bytes:
        """Overwrite them in a text, which keeps its length."""
        return self._found.sub(lambda found: b"x" * len(found[0]), text) if self._found else text

    def hidden_text(self, text: str) -> str:
        """Overwrite them in a message."""
        return self.hidden(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def repeated(self, text: bytes) -> bool:
        """Tell whether a text repeats one."""
        return self._found is not None and self._found.search(text) is not None

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Return what of a stream is through, secrets overwritten, and what its next bytes may make a secret."""
        text = self.hidden(text)
        kept = max(0, len(text) - self._longest + 1)
        return text[:kept], text[kept:]


def _spellings(word: str) -> Iterable[str]:
    """Return how a text is spelled in answers: as it is, in an address, in JSON and in HTML."""
    return {word, quote(word, safe=""), quote(word), json.dumps(word)[1:-1], html.escape(word)}


class HidingSink:
    """A sink before another one: what comes through has no secrets any more."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed: int | None = None

    def __init__(self, sink: Sink, secrets: SentSecrets) -> None:
        """Put into `sink` what is left."""
        self._sink, self._secrets = sink, secrets
        self._held = b""

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin an answer."""
        self._sink.open(size, self._secrets.hidden(head), request)

    def restart(self) -> None:
        """Begin again."""
        self._held = b""
        self._sink.restart()

    def write(self, block: bytes | memoryview) -> None:
        """Take the next bytes, the last few of which wait for what follows them."""
        through, self._held = self._secrets.split(self._held + bytes(block))
        if through:
            self._sink.write(through)

    def end(self) -> None:
        """Hand on what waited."""
        if self._held:
            self._sink.write(self._held)
            self._held = b""


class S3Signer:
    """Signs reading requests with the key at a place, which is written there as `KEY:SECRET` or `KEY:SECRET:TOKEN`."""

    def __init__(self, place: Secret, region: str) -> None:
        """Fetch the key from its place."""
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
        """Return the headers with which a GET of a URL is signed now."""
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 an extra

        request = AWSRequest("GET", url)
        self._auth.add_auth(request)
        return {str(name): str(value) for name, value in request.headers.items()}
