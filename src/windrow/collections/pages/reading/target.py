"""What the references of a page lead to, how far away that is, and of what sort it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from windrow.collections.pages.code import Destination, Locality
from windrow.formats.url import Resolved, Resolver, normalise, other
from windrow.reasons import Reason

_FILES = frozenset({"ftp", "ftps", "sftp", "gemini", "gopher", "file"})
_TALK = frozenset({"mailto", "tel", "sms", "xmpp", "sip", "sips", "skype", "whatsapp", "tg", "irc", "ircs", "matrix",
                   "callto", "facetime", "news", "nntp"})  # fmt: skip
_NONE = frozenset({"javascript", "data", "blob", "about"})
_FILE, _OUT, _IN, _SELF = int(Destination.FILE), int(Locality.OUT), int(Locality.IN), int(Locality.SELF)


class LinkTarget(NamedTuple):
    """What a reference leads to."""

    url: str
    """Its one spelling, without the fragment."""
    fragment: str | None
    destination: int | None
    """A `Destination`; None where the scheme is not understood."""
    locality: int
    """A `Locality`."""


class LinkClassifier:
    """Tells what the references of one page lead to."""

    __slots__ = ("_authority", "_base", "_resolver", "_self", "here")

    def __init__(self, url: str, base: str = "") -> None:
        """Stand at the page of this address; `base` is what its `base` element says."""
        self.here = normalise(url).url
        """The page's own address, in its one spelling; empty where it is none."""
        self._self = self.here.partition("://")[2]
        self._authority = self._self.partition("/")[0] + "/"
        self._base = (normalise(base, self.here).url if base else "") or self.here
        self._resolver = _resolver("/".join(self._base.split("/", 3)[:3]))

    def targets(self, references: Iterable[str]) -> Iterator[LinkTarget | None]:
        """Yield for each reference what it leads to; None where it means no address.

        >>> targets = LinkClassifier("http://a.example/x/y?z").targets(["../b#c", "http://[", "data:,x"])
        >>> [one and one[:2] for one in targets]
        [('http://a.example/b', 'c'), None, None]
        """
        references = list(references)
        for reference, found in zip(references, self._resolver.resolve(self._base, references), strict=True):
            url, fragment, reason = found
            if url:
                yield LinkTarget(url, fragment, _FILE, self.locality(url))
            else:
                yield _foreign(reference) if reason is Reason.NO_TRANSPORT else None

    def target(self, reference: str) -> LinkTarget | None:
        """Return what one reference leads to."""
        return next(self.targets([reference]))

    def locality(self, url: str) -> int:
        """Say how far it is to another address: the first difference decides.

        A host more or other leads out, and so does another port; http and https count as one, and so do their own
        ports. Another path or query stays on the site.

        >>> LinkClassifier("http://a.example/x").locality("https://a.example/y")
        1
        """
        there = url.partition("://")[2]
        if not there.startswith(self._authority):
            return _OUT
        return _SELF if there == self._self else _IN


@lru_cache(maxsize=8)
def _resolver(origin: str) -> Resolver:
    """Return the memory of an origin's links, which its pages share."""
    return Resolver(origin)


def _foreign(reference: str) -> LinkTarget | None:
    """Return the target of another scheme than http and https."""
    found: Resolved = other(reference)
    scheme = found.url.partition(":")[0]
    if not scheme or scheme in _NONE:
        return None
    talk = int(Destination.COMMUNICATION) if scheme in _TALK else None
    return LinkTarget(found.url, found.fragment, _FILE if scheme in _FILES else talk, _OUT)
