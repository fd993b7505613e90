"""Secrets: read from the place that the configuration names, sent with requests, and hidden in archived responses.

The archived request does not contain secrets. Where a response, an error or a listing repeats a secret, it is
overwritten if it has at least `MIN_HIDDEN_LENGTH` characters. botocore (the extra `s3`) signs requests to S3-compatible
stores (AWS Signature Version 4).
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from html.entities import codepoint2name
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from windrow.caps import SECRET_BYTES
from windrow.errors import MissingExtra, TerminalFailure, TransportError, WindrowError
from windrow.fetch.politeness.guard import is_loopback
from windrow.fetch.transport import Connection, Sink, TransferEnd, public_address
from windrow.model import Credential, ListingEntry, Secret, Site
from windrow.reasons import Reason

_MAX_SECRET_SIZE = SECRET_BYTES.number  # bytes


def read_secret(secret: Secret) -> str:
    """Return the secret at `env:NAME` or in `file:PATH`, without the newline that ends a file.

    Raises TerminalFailure with NO_SECRET if the place is not valid, or if the secret is missing, empty, unreadable or
    larger than `SECRET_BYTES`. The message contains the place if that is valid, but never the secret.
    """
    place_kind, _, location = secret.place.partition(":")
    if place_kind == "env":
        secret_text = os.environ.get(location, "")
    elif place_kind == "file":
        secret_text = _read_file(secret, Path(location).expanduser())
    else:
        raise _missing_secret_error(secret, "its place is neither env:NAME nor file:PATH")
    if not secret_text:
        raise _missing_secret_error(secret, "it is empty or missing")
    return secret_text


def _read_file(secret: Secret, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_SECRET_SIZE + 1)
        text = content.decode()
    except OSError as error:
        raise _missing_secret_error(secret, error.strerror or "unknown error") from None
    except UnicodeDecodeError:
        raise _missing_secret_error(secret, "it is not UTF-8 text") from None
    if len(content) > _MAX_SECRET_SIZE:
        raise _missing_secret_error(secret, f"it has more than {_MAX_SECRET_SIZE} bytes")
    return text.removesuffix("\n").removesuffix("\r")


def _missing_secret_error(secret: Secret, cause: str) -> TerminalFailure:
    place = secret.place if secret.place.startswith(("env:", "file:")) else "(place not shown)"
    return TerminalFailure(
        f"the secret at {place} cannot be read: {cause}", Reason.NO_SECRET, hint="set it there, then: windrow run"
    )


MIN_HIDDEN_LENGTH = 6
"""The minimum length of a secret that is hidden in responses. A shorter one may be an ordinary word."""


class SentSecrets:
    """The secrets that are sent to one origin. Only the process that sends the requests has them.

    They are the credentials and the site's password; the transports send the password themselves.
    """

    def __init__(self, site: Site, credentials: Sequence[Credential] = ()) -> None:
        """Read the secrets. Raises TerminalFailure if one is not usable, or a credential would be sent unencrypted."""
        if credentials and site.scheme != "https" and not (is_loopback(site.host) and not site.proxy):
            raise TerminalFailure(
                f"{public_address(site)}: a secret may only be sent over https",
                Reason.POLICY_DENIED,
                hint="use scheme https",
            )
        self.headers: dict[str, str] = {}
        self._query: list[str] = []
        secret_texts: set[str] = set()
        for credential in credentials:
            secret_text = read_secret(credential.secret)
            if not secret_text.isprintable() or not secret_text.isascii():
                raise TerminalFailure(
                    f"the secret at {credential.secret.place} is not one line of ASCII", Reason.NO_SECRET
                )
            secret_texts.add(secret_text)
            if credential.header:
                self.headers[credential.header] = credential.prefix + secret_text
            else:
                self._query.append(f"{credential.query}={quote(secret_text, safe='')}")
        if site.secret:
            secret_texts.add(password := read_secret(site.secret))
            secret_texts.add(base64.b64encode(f"{site.username}:{password}".encode()).decode())
        hidden_texts = {
            text
            for secret_text in secret_texts
            if len(secret_text) >= MIN_HIDDEN_LENGTH
            for text in (secret_text, *_base64_texts(secret_text))
        }
        self._longest_first = sorted(hidden_texts, key=len, reverse=True)
        plain_texts = [text.encode("utf-8", "surrogateescape") for text in self._longest_first]
        self._signs = (*_ESCAPE_CHARACTERS, *plain_texts) if plain_texts else ()
        self._longest_size = _BYTES_PER_CHARACTER * max(map(len, self._longest_first), default=0) + 1

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        """A pattern that matches all spellings of the secrets; there must be one. Compiling the pattern takes 0.2 s."""
        return re.compile("|".join(map(_pattern_of, self._longest_first)).encode())

    def __repr__(self) -> str:
        return "SentSecrets()"

    def url(self, url: str) -> str:
        """Return `url` with the secrets that are sent in the query added to it."""
        if not self._query:
            return url
        return f"{url}{'&' if '?' in url else '?'}{'&'.join(self._query)}"

    def hide(self, text: bytes) -> bytes:
        """Return a text in which each byte of a secret is replaced by an x, unless the secret is too short."""
        if not self._may_contain_secret(text):
            return text
        return self._pattern.sub(lambda match: b"x" * len(match[0]), text)

    def hide_text(self, text: str) -> str:
        """Return a text with its secrets overwritten, as `hide` does for bytes."""
        return self.hide(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def contains_secret(self, text: bytes) -> bool:
        """Return whether a text contains a secret that `hide` would overwrite."""
        return self._may_contain_secret(text) and self._pattern.search(text) is not None

    def _may_contain_secret(self, text: bytes) -> bool:
        """Return False if a text has neither a plain secret nor a character that escapes others."""
        return any(part in text for part in self._signs)

    def split(self, text: bytes) -> tuple[bytes, bytes]:
        """Overwrite the secrets in a text. Return it in two parts; the second has the bytes that may begin a secret."""
        text = self.hide(text)
        final_size = max(0, len(text) - self._longest_size + 1)
        return text[:final_size], text[final_size:]


_ESCAPE_CHARACTERS = (b"%", b"\\", b"&")  # each form in `_spellings` but the first contains one of them
_BYTES_PER_CHARACTER = 24  # the maximum number of bytes of a form in `_spellings`


def _base64_texts(secret_text: str) -> Iterator[str]:
    """Yield the Base64 of a secret, and the parts of it that stay the same wherever the secret is in a longer text."""
    encoded = secret_text.encode("utf-8", "surrogateescape")
    yield base64.b64encode(encoded).decode()
    for offset, unsure_start in enumerate((0, 2, 3)):
        text = base64.b64encode(bytes(offset) + encoded).decode().rstrip("=")
        yield text[unsure_start : len(text) - bool((offset + len(encoded)) % 3)]


def _pattern_of(text: str) -> str:
    """Return a pattern for a text whose characters may be spelled in different ways.

    Each of its alternatives begins with a fixed byte, since `re` quickly skips bytes that do not begin any of them.
    """
    remainder = "".join(f"(?:{'|'.join(_spellings(character))})" for character in text[1:])
    return "|".join(f"{spelling}{remainder}" for spelling in _spellings(text[0]))


def _spellings(character: str) -> Iterator[str]:
    """Yield patterns for the spellings of a character: plain, or escaped for URLs, JSON or HTML, once or repeatedly."""
    code, encoded = ord(character), character.encode("utf-8", "surrogateescape")
    yield re.escape(encoded).decode("latin-1") if character.isascii() else "".join(rf"\x{byte:02x}" for byte in encoded)
    yield "".join(f"%(?:25){{0,2}}{_any_case(f'{byte:02x}')}" for byte in encoded)
    yield rf"\\\\{{0,3}}u{_any_case(f'{code:04x}')}"
    if character in '/"\\':
        yield rf"\\\\{{0,3}}{re.escape(character)}"
    names = [name for name in (codepoint2name.get(code), "apos" if character == "'" else None) if name]
    for reference in (f"#0{{0,3}}{code}", f"#[xX]0{{0,3}}{_any_case(f'{code:x}')}", *names):
        yield f"&(?:amp;)?{reference};"


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


class HidingSink:
    """A sink that overwrites secrets in a response and writes the response into another sink."""

    start = 0
    validator = ""
    modified: datetime | None = None
    listed_size: int | None = None

    def __init__(self, sink: Sink, secrets: SentSecrets) -> None:
        self._sink, self._secrets = sink, secrets
        self._held = b""

    def open(self, size: int | None, head: bytes = b"", request: bytes = b"") -> None:
        """Begin a response. `head` is its HTTP head; `request` is the request, already without secrets."""
        self._sink.open(size, self._secrets.hide(head), request)

    def restart(self) -> None:
        """Discard the part of the response that has been written."""
        self._held = b""
        self._sink.restart()

    def write(self, block: bytes | memoryview) -> None:
        """Write the next bytes, except the last ones, which may begin a secret. The next call or `end` writes these."""
        final, self._held = self._secrets.split(self._held + bytes(block))
        if final:
            self._sink.write(final)

    def end(self) -> None:
        """Write the last bytes, which `write` has not written."""
        if self._held:
            self._sink.write(self._held)
            self._held = b""


async def connect_hiding(connect: Callable[[Site], Awaitable[Connection]], site: Site) -> Connection:
    """Open a connection with `connect`. The site's secret is overwritten in errors and listings."""
    secrets = SentSecrets(site)
    with _hide_in_errors(secrets):
        return HidingConnection(await connect(site), secrets)


class HidingConnection(Connection):
    """A connection that overwrites secrets in the messages of errors and in listed names."""

    def __init__(self, inner: Connection, secrets: SentSecrets) -> None:
        self._connection, self._secrets = inner, secrets

    async def list(self, folder: str) -> list[ListingEntry] | None:
        """List a folder, with secrets overwritten in names.

        An entry whose name is overwritten cannot be requested. It gets the reason UNSAFE_NAME unless it has a reason.
        """
        with _hide_in_errors(self._secrets):
            entries = await self._connection.list(folder)
        if not entries or self._secrets.hide_text(names := "\n".join(entry.name for entry in entries)) == names:
            return entries
        return [
            entry._replace(name=name, reason=entry.reason or Reason.UNSAFE_NAME)
            if (name := self._secrets.hide_text(entry.name)) != entry.name
            else entry
            for entry in entries
        ]

    async def get(self, path: str, sink: Sink) -> TransferEnd:
        """Get a file; secrets are overwritten in the messages of errors."""
        with _hide_in_errors(self._secrets):
            return await self._connection.get(path, sink)

    def expect(self, path: str) -> None:
        """Announce the next file to the inner connection."""
        self._connection.expect(path)

    async def close(self) -> None:
        """Close the inner connection."""
        await self._connection.close()


@contextmanager
def _hide_in_errors(secrets: SentSecrets) -> Iterator[None]:
    try:
        yield
    except WindrowError as error:
        error.args = tuple(secrets.hide_text(str(argument)) for argument in error.args)
        if isinstance(error, TransportError):
            error.target = secrets.hide_text(error.target)
        raise


class S3Signer:
    """Signs GET requests to S3-compatible stores in a region. The secret is `KEY:SECRET` or `KEY:SECRET:TOKEN`."""

    def __init__(self, credentials: Secret, region: str) -> None:
        """Read the secret. Raises MissingExtra without botocore, and TerminalFailure if the secret cannot be used."""
        if find_spec("botocore") is None:
            raise MissingExtra("signing requests to S3", "s3")
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 an extra
        from botocore.credentials import Credentials  # noqa: PLC0415 an extra

        key, _, secret_and_token = read_secret(credentials).strip().partition(":")
        secret, _, token = secret_and_token.partition(":")
        if not key or not secret:
            raise TerminalFailure(f"the secret at {credentials.place} is not KEY:SECRET", Reason.NO_SECRET)
        self._auth = S3SigV4Auth(Credentials(key, secret, token or None), "s3", region)

    def headers(self, url: str) -> dict[str, str]:
        """Return the header fields of a GET request for a URL, signed at the present time."""
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 an extra

        request = AWSRequest("GET", url)
        self._auth.add_auth(request)
        return {str(name): str(text) for name, text in request.headers.items()}
