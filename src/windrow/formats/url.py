"""Normalise web addresses, and resolve links against them: a hundred thousand links a second.

`ada-url` parses and resolves as browsers do. In addition, so that each page has one address, credentials, an empty
query and a dot at the end of a host name are removed. Escapes are in upper case; escapes of letters, digits, `-`, `.`,
`_` and `~` are undone (RFC 3986, sections 6.2.2.1 and 6.2.2.2). A `%` that does not begin an escape becomes `%25`.
Characters that browsers keep but the RFC forbids are escaped: brackets, braces, backslash, caret, grave and
bar. The order of a query's parameters and a slash at the end of a path are kept, because servers distinguish them.
Queries are encoded as UTF-8, whatever the encoding of the page.

A link is first looked up in a cache as it is written, because sites repeat their links on every page. A new link with
only safe characters is resolved by a regular expression and a concatenation. All other links are resolved by
`normalise`. All three ways give the same address. Safe characters are those that never need another spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_plus

import ada_url

from windrow.caps import URL_CHARACTERS
from windrow.errors import StepError
from windrow.reasons import Reason

MAX_CHARACTERS = URL_CHARACTERS.number
"""The maximum number of characters of a normalised address, and of its fragment."""

_MAX_READ_CHARACTERS = 4 * MAX_CHARACTERS  # a longer link is refused before it is normalised
_OTHER_SCHEME = re.compile(r"[\x00-\x20]*+(?!https?:)([a-z][a-z0-9+.-]*+):", re.IGNORECASE)
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # UTF-8 cannot encode it
_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_ESCAPED_CONTROL = re.compile(r"%(?:[01][0-9A-F]|7F)")
_LEFT_UNESCAPED = {ord(char): f"%{ord(char):02X}" for char in "\\^`{|}[]"}  # browsers keep them, RFC 3986 forbids them
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPELLING_BY_ESCAPE = {f"%{n:02X}": chr(n) if chr(n) in _UNRESERVED else f"%{n:02X}" for n in range(256)}


class Resolved(NamedTuple):
    """The target of a link: its normalised address without the fragment, or the reason why the link was refused.

    `fragment` is None if the link has no fragment, an empty one, or one of more than `MAX_CHARACTERS`. If the link was
    refused, `url` is empty; otherwise `reason` is None.
    """

    url: str
    fragment: str | None = None
    reason: Reason | None = None


def normalise(href: str, base: str = "") -> Resolved:
    """Normalise a link; if it is relative, resolve it against `base`, the normalised address of its page.

    The result has a reason for schemes other than http and https (NO_TRANSPORT), for addresses that are invalid or have
    an escaped control character (BAD_ADDRESS), and for too many characters (ADDRESS_TOO_LONG).

    >>> normalise("../%7euser/?#top", "http://Example.org:80/a/b").url
    'http://example.org/~user/'
    >>> normalise("https://me:secret@b\u00fccher.example./caf\u00e9?q=%2f#x")
    Resolved(url='https://xn--bcher-kva.example/caf%C3%A9?q=%2F', fragment='x', reason=None)
    >>> normalise("mailto:someone@example.org").reason
    <Reason.NO_TRANSPORT: 'no_transport'>
    """
    if _OTHER_SCHEME.match(href):
        return _refuse(Reason.NO_TRANSPORT)
    if len(href) > _MAX_READ_CHARACTERS:
        return _refuse(Reason.ADDRESS_TOO_LONG)
    href = _LONE_SURROGATE.sub(escape_surrogate, href)
    try:
        resolved = ada_url.join_url(base, href) if base else ada_url.normalize_url(href)
    except ValueError:
        return _refuse(Reason.BAD_ADDRESS)
    address, _, fragment = resolved.partition("#")
    url = _apply_own_rules(address)
    if url and len(url) <= MAX_CHARACTERS:
        return Resolved(url, fragment if 0 < len(fragment) <= MAX_CHARACTERS else None)
    if address.startswith(("http://", "https://")):
        return _refuse(Reason.ADDRESS_TOO_LONG if url else Reason.BAD_ADDRESS)
    return _refuse(Reason.NO_TRANSPORT)


def escape_surrogate(match: re.Match[str]) -> str:
    """Return the escape of the byte that `surrogateescape` could not decode, or U+FFFD for another lone surrogate."""
    code = ord(match[0])
    return f"%{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else "\ufffd"


def describe_bad_address(text: str) -> str:
    """Return a message that a text is not a web address; a long text is cut.

    >>> describe_bad_address("example.org")
    "'example.org' is not a web address"
    """
    return f"{text[:200]!r} is not a web address"


def has_web_scheme(text: str) -> bool:
    """Return whether a text begins like an http or https address; the scheme may be in capitals (RFC 3986, 3.1).

    >>> [has_web_scheme(text) for text in ("HTTPS://a.example/", "/a", "javascript:alert(1)")]
    [True, False, False]
    """
    return text[:8].lower().startswith(("http://", "https://"))


def normalise_typed(text: str) -> str:
    """Return a web address that a user typed in its normal form, or "" if the text is not a whole web address.

    >>> normalise_typed("HTTPS://Example.org"), normalise_typed("example.org")
    ('https://example.org/', '')
    """
    return normalise(text).url if has_web_scheme(text) else ""


def _apply_own_rules(address: str) -> str:
    """Apply this module's own rules to an address that `ada_url` normalised; return "" if they refuse it.

    The address's fragment has already been removed.
    """
    scheme, _, after_scheme = address.partition("://")
    if scheme not in {"http", "https"}:
        return ""
    authority, _, target = after_scheme.partition("/")
    authority = authority.rpartition("@")[2]
    if authority.startswith("["):
        host_name, port = authority.partition("]")[0] + "]", authority.partition("]")[2]
    else:
        host_name, colon, port_number = authority.partition(":")
        host_name, port = host_name.removesuffix("."), colon + port_number
    if not _HOST_NAME.fullmatch(host_name) or port == ":0":
        return ""
    if "%" in target:
        target = _ESCAPE.sub(_spell_escape, target)
        if _ESCAPED_CONTROL.search(target):
            return ""
    path, question_mark, query = target.translate(_LEFT_UNESCAPED).partition("?")
    return f"{scheme}://{host_name}{port}/{path}{question_mark if query else ''}{query}"


def _spell_escape(match: re.Match[str]) -> str:
    return _SPELLING_BY_ESCAPE.get(match[0].upper(), "%25")


def _refuse(reason: Reason) -> Resolved:
    return Resolved("", reason=reason)


_URL_PARTS = re.compile(r"(https?)://(\[[^\]/?#]+\]|[^\[\]:/?#@]+)(?::(\d{1,5}))?(/[^?#]*)(?:\?([^#]*))?", re.DOTALL)


class Parts(NamedTuple):
    """A normalised address (`text`) and its parts.

    `host` is the host name, or an IPv6 address in brackets. `port` is None for the default port of the scheme, which a
    normalised address does not have. `query` is without `?`, and None if it is missing.
    """

    text: str
    scheme: str
    host: str
    port: int | None
    path: str
    query: str | None

    @property
    def origin(self) -> str:
        """Scheme, host name and port, without the scheme's default port: `https://example.org`."""
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port is not None else "")


def parts(url: str) -> Parts:
    """Split an address that `normalise` returned; raise StepError with BAD_ADDRESS if it does not have these parts.

    >>> parts("https://example.org:8443/a?b=c").origin
    'https://example.org:8443'
    >>> parts("https://example.org/")[1:]
    ('https', 'example.org', None, '/', None)
    """
    match = _URL_PARTS.fullmatch(url)
    if not match:
        raise StepError(f"{url[:200]!r} is not a normalised address", Reason.BAD_ADDRESS)
    scheme, host, port, path, query = match.groups()
    return Parts(url, scheme, host, int(port) if port else None, path, query)


_FRONT_PATH = re.compile(
    r"/(?:(?:index|default|home|start|startseite|startpage|homepage|accueil|inicio)(?:\.\w{2,5})?/?"
    r"|[a-z]{2}(?:[-_][a-z]{2})?/?)?",
    re.IGNORECASE,
)


def is_front_page(url: str) -> bool:
    """Return whether a normalised address is that of a site's front page, or of its front page in one language.

    Many servers send their front page instead of a page that is gone.

    >>> [is_front_page(f"https://a.example/{path}") for path in ("", "index.html", "de/", "?p=5", "tea")]
    [True, True, True, False, False]
    """
    address = parts(url)
    return address.query is None and bool(_FRONT_PATH.fullmatch(address.path))


_ANY_SCHEME = re.compile(r"[\x00-\x20]*+[a-z][a-z0-9+.-]*+:", re.IGNORECASE)


def normalise_other_scheme(href: str) -> Resolved:
    """Normalise, as browsers do, an address that `normalise` refused because of its scheme, and remove its credentials.

    The result has the reason ADDRESS_TOO_LONG if `href` has too many characters, and BAD_ADDRESS if it is not valid or
    has too many characters once it is normalised.

    >>> normalise_other_scheme("MAILTO:someone@example.org").url, normalise_other_scheme("ftp://me:secret@b.example/x#y")
    ('mailto:someone@example.org', Resolved(url='ftp://b.example/x', fragment='y', reason=None))
    """
    if len(href) > MAX_CHARACTERS:
        return _refuse(Reason.ADDRESS_TOO_LONG)
    try:
        normalised = ada_url.normalize_url(href.encode("utf-8", "replace").decode()) if _ANY_SCHEME.match(href) else ""
    except ValueError:
        normalised = ""
    url, _, fragment = normalised.partition("#")
    scheme, slashes, after_scheme = url.partition("://")
    if slashes:
        authority, slash, path = after_scheme.partition("/")
        url = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    if not url or len(url) > MAX_CHARACTERS:
        return _refuse(Reason.BAD_ADDRESS)
    return Resolved(url, fragment if 0 < len(fragment) <= MAX_CHARACTERS else None)


def remove_parameters(url: str, names: Iterable[str]) -> str:
    """Remove the query parameters with these names, ignoring case, from an address.

    >>> [remove_parameters(url, ["api_key"]) for url in ("/terms?page=2&api_key=xxxx", "/terms?api_key=xxxx#a")]
    ['/terms?page=2', '/terms#a']
    """
    removed_names = {name.lower() for name in names}
    address, hash_sign, fragment = url.partition("#")
    path, question_mark, query = address.partition("?")
    if not question_mark or not removed_names:
        return url
    kept_parameters = [
        parameter
        for parameter in query.split("&")
        if unquote_plus(parameter.partition("=")[0]).lower() not in removed_names
    ]
    return f"{path}{'?' if kept_parameters else ''}{'&'.join(kept_parameters)}{hash_sign}{fragment}"


_TRACKING_NAMES = (
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ttclid twclid li_fat_id srsltid mc_cid mc_eid igshid _ga _gl"
    " _hsenc _hsmi mkt_tok"
)
_TRACKING_PARAMETERS = frozenset(_TRACKING_NAMES.split())


def is_of_tracking(parameter: str) -> bool:
    """Return whether a query parameter, as it is written in an address, only tells where a reader comes from.

    >>> is_of_tracking("utm_source=mail"), is_of_tracking("fbclid=1"), is_of_tracking("page=2")
    (True, True, False)
    """
    name = parameter.partition("=")[0].lower()
    return name in _TRACKING_PARAMETERS or name.startswith("utm_")


_MAX_CACHED_LINKS = 8_192  # links of one `Resolver`
_MAX_CACHED_CHARACTERS = 200  # longer links are not cached

_KEPT_ESCAPE = "%(?:2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-D]|[89A-F][0-9A-F])"  # escapes that are kept
_SAFE_PATH = rf"[A-Za-z0-9_~!$&()*+,;=@./'-]*+(?>(?:{_KEPT_ESCAPE}[A-Za-z0-9_~!$&()*+,;=@./'-]*+)*)"
_SAFE_QUERY = rf"(?>(?:\?[A-Za-z0-9_~!$&()*+,;=@./:?-]++(?>(?:{_KEPT_ESCAPE}[A-Za-z0-9_~!$&()*+,;=@./:?-]*+)*))?)"
_SAFE_FRAGMENT = r"(?>(?:#([A-Za-z0-9_~!$&()*+,;=@./:?'-]*+))?)"
_COLON_PATH = _SAFE_PATH.replace("@./", "@.:/")  # with colons, as in every path but a relative one
_PATH_LINK = re.compile(rf"(/(?!/){_COLON_PATH}{_SAFE_QUERY}){_SAFE_FRAGMENT}")
_RELATIVE_LINK = re.compile(rf"([A-Za-z0-9_~]{_SAFE_PATH}{_SAFE_QUERY}){_SAFE_FRAGMENT}")
_QUERY_LINK = re.compile(rf"(?=[?#])({_SAFE_QUERY}){_SAFE_FRAGMENT}")
_SITE = r"https?://(?:(?!xn--)[a-z0-9-]{1,63}\.){1,3}(?!xn--)[a-z]{2,24}"
_ABSOLUTE_LINK = re.compile(rf"({_SITE}/{_COLON_PATH}{_SAFE_QUERY}){_SAFE_FRAGMENT}")
_SAFE_PARTS = re.compile(rf"({_SITE})(/{_COLON_PATH})({_SAFE_QUERY})")


def resolve_safe(href: str, base: str, origin: str) -> Resolved | None:
    """Resolve a link with only safe characters against `base`, a normalised address whose origin is `origin`.

    Return None for a link that only `normalise` can resolve, and for a target with too many characters.

    >>> resolve_safe("b.html#c", "https://example.org/a/?q", "https://example.org")
    Resolved(url='https://example.org/a/b.html', fragment='c', reason=None)
    >>> resolve_safe("../b", "https://example.org/a/", "https://example.org") is None
    True
    """
    if "/." in href:  # perhaps a dot segment
        return None
    first_character = href[:1]
    prefix = ""
    if first_character == "/":
        match, prefix = _PATH_LINK.fullmatch(href), origin
    elif first_character in "?#":
        match = _QUERY_LINK.fullmatch(href)
        prefix = base.partition("?")[0] if first_character == "?" else base
    elif href.startswith("http"):
        match = _ABSOLUTE_LINK.fullmatch(href)
        if not match and href.startswith(f"{origin}/"):
            match, prefix = _PATH_LINK.fullmatch(href, len(origin)), origin
    else:
        match = _RELATIVE_LINK.fullmatch(href)
        prefix = base.partition("?")[0].rpartition("/")[0] + "/"
    if not match:
        return None
    url = prefix + match[1]
    return Resolved(url, match[2] or None) if len(url) <= MAX_CHARACTERS else None


def split_safe(url: str) -> tuple[str, str, str] | None:
    """Return the origin, path and query (with `?`) of an address, or None if it is perhaps not normalised.

    An address is surely normalised if it has only safe characters and no `/.`.

    >>> split_safe("https://example.org/a?b"), split_safe("https://example.org/a/../b")
    (('https://example.org', '/a', '?b'), None)
    """
    match = None if "/." in url or len(url) > MAX_CHARACTERS else _SAFE_PARTS.fullmatch(url)
    return (match[1], match[2], match[3]) if match else None


class Resolver:
    """Resolves the links of one origin's pages, and caches links that have the same target on every page.

    At most `max_links` links of at most 200 characters are cached; a full cache is emptied before the next link.

    >>> site = Resolver("https://example.org")
    >>> [link.url for link in site.resolve("https://example.org/a/b", ["/x", "c#d", "ftp://h/"])]
    ['https://example.org/x', 'https://example.org/a/c', '']
    """

    __slots__ = ("_max_links", "_resolved_by_href", "origin")

    def __init__(self, origin: str, max_links: int = _MAX_CACHED_LINKS) -> None:
        """`origin` is spelt like `Parts.origin`."""
        self.origin = origin
        self._resolved_by_href: dict[str, Resolved] = {}
        self._max_links = max_links

    def resolve(self, base: str, hrefs: Iterable[str]) -> list[Resolved]:
        """Return the target of each link, or the reason why it is refused, in order.

        `base` is the normalised address of the page or of its `base` element; it may have another origin.
        """
        if not base.startswith(f"{self.origin}/"):
            return [normalise(href, base) for href in hrefs]
        get_cached = self._resolved_by_href.get
        return [get_cached(href) or self._resolve_and_cache(href, base) for href in hrefs]

    def targets(self, base: str, hrefs: Iterable[str]) -> list[str]:
        """Return the addresses that a page's links lead to, each once, without refused links."""
        urls = {resolved[0]: None for resolved in self.resolve(base, hrefs)}
        urls.pop("", None)
        return list(urls)

    def _resolve_and_cache(self, href: str, base: str) -> Resolved:
        """Resolve a link; cache it if it is short and its target is the same on all pages of the origin."""
        resolved = resolve_safe(href, base, self.origin) or normalise(href, base)
        if len(href) <= _MAX_CACHED_CHARACTERS and href.startswith(("/", "http://", "https://")):
            if len(self._resolved_by_href) >= self._max_links:
                self._resolved_by_href.clear()
            self._resolved_by_href[href] = resolved
        return resolved
