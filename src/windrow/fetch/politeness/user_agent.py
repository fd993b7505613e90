"""The user agent, which must name the operator and a contact."""

from __future__ import annotations

import re

from windrow.errors import ConfigError
from windrow.formats.url import has_web_scheme, normalise, parts

_OPERATOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_MAIL_ADDRESS = re.compile(r"(?i:mailto:)?[A-Za-z0-9._+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}")
_LINE = re.compile(r"[\x20-\x7e]{1,250}")
_WORD = re.compile(r"[^\s()<>,;]+")
_HINT = "set operator, and a web page or mail address as contact, for [pages] in windrow.toml"


def user_agent(operator: str, contact: str, text: str = "") -> str:
    """Return the user agent: `OPERATOR-crawler (for CONTACT)`, or the configured `text` unless that is empty.

    The text must begin with a name, which robots.txt may refer to, and include a contact. Raises ConfigError if the
    name or contact is missing or not valid.

    >>> user_agent("example", "https://example.org/about-our-crawler")
    'example-crawler (for https://example.org/about-our-crawler)'
    """
    if text:
        return _check_custom(text)
    if not _OPERATOR_NAME.fullmatch(operator):
        raise ConfigError("operator: expected a letter, then at most 39 letters, digits, - . or _", hint=_HINT)
    if not _is_contact(contact):
        received = f", not {contact!r}" if contact else ""
        raise ConfigError(f"contact: expected the address of a web page or a mailbox{received}", hint=_HINT)
    return f"{operator}-crawler (for {contact})"


def _check_custom(text: str) -> str:
    if not _LINE.fullmatch(text) or not _OPERATOR_NAME.match(text):
        raise ConfigError("user_agent: expected a letter, then at most 249 ASCII characters in one line", hint=_HINT)
    if not names_contact(text):
        raise ConfigError("user_agent: it must contain the address of a web page or a mailbox", hint=_HINT)
    return text


def names_contact(agent: str) -> bool:
    """Return whether a user agent contains the address of a public web page or a mailbox.

    >>> names_contact("windrow/1.0 (https://example.org/our-crawler)"), names_contact("windrow/1.0")
    (True, False)
    """
    return any(_is_contact(word.removeprefix("+")) for word in _WORD.findall(agent))


def _is_contact(contact: str) -> bool:
    if _MAIL_ADDRESS.fullmatch(contact):
        return True
    if not has_web_scheme(contact) or not _LINE.fullmatch(contact) or re.search(r"[\s()]", contact):
        return False
    url = normalise(contact).url
    top_domain = parts(url).host.rpartition(".")[2] if url and "." in parts(url).host else ""
    return top_domain.isalnum() and not top_domain.isdecimal()
