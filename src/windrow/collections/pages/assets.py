"""What a page needs to be shown as it was: its images, styles, scripts and fonts, and what its styles name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from windrow.collections.pages.code import mime
from windrow.formats.html import decode
from windrow.formats.html.tree import parse
from windrow.formats.url import normalise

MOST = 500
"""Assets of one document; what it names behind them is not asked for."""

_LONGEST = 1 << 20  # characters of a style sheet that are read
_WANTED = (
    "base[href], img, source, image, input[type=image], script[src], link[rel][href], video[poster], object[data],"
    " [background], [style], style"
)
_PLAIN = {
    "img": ("src",), "source": (), "image": ("href", "xlink:href"), "input": ("src",), "script": ("src",),
    "video": ("poster",), "object": ("data",),
}  # fmt: skip
_PICTURED = frozenset({"img", "source"})
_RELATIONS = frozenset({"stylesheet", "icon", "apple-touch-icon", "manifest", "modulepreload", "mask-icon"})
_PRELOADED = frozenset({"style", "script", "font", "image"})
_URL = re.compile(
    r"""url\(\s*+(?:"([^"\n]*+)"|'([^'\n]*+)'|([^)"'\s]*+))|@import\s++(?:"([^"\n]*+)"|'([^'\n]*+)')""", re.IGNORECASE
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CANDIDATE = re.compile(r"\s*+,?\s*+([^\s,]\S*+)([^,(]*+(?:\([^)]*+\)[^,(]*+)*+)")


def assets(url: str, fields: Mapping[str, str], body: bytes) -> list[str]:
    """Return the normal addresses that a page or style sheet at a normal address needs, each once.

    >>> page = b"<img src=a.png srcset='b.png 2x, /c.png 3x'><link rel=stylesheet href=s.css><a href=/page>x</a>"
    >>> assets("http://a.example/x/", {"content-type": "text/html"}, page)
    ['http://a.example/x/a.png', 'http://a.example/x/b.png', 'http://a.example/c.png', 'http://a.example/x/s.css']
    >>> assets("http://a.example/s.css", {"content-type": "text/css"}, b"@font-face { src: url('f.woff2') }")
    ['http://a.example/f.woff2']
    """
    told = fields.get("content-type", "")
    kind = mime(told)
    essence = kind.essence if kind else "text/html"
    if essence == "text/css":
        return _resolved(url, _styled(decode(body, told).text))
    if essence not in {"text/html", "application/xhtml+xml"}:
        return []
    base, found = _page(url, decode(body, told).text)
    return _resolved(base, found)


def _resolved(base: str, references: Iterable[str]) -> list[str]:
    named = (normalise(one.strip(), base).url for one in references if one and not one.startswith(("data:", "#")))
    return list(islice(dict.fromkeys(filter(None, named)), MOST))


def _page(url: str, text: str) -> tuple[str, list[str]]:
    base = ""
    found: list[str] = []
    for node in parse(text).css(_WANTED):
        tag, attributes = node.tag or "", node.attributes
        if tag == "base":
            base = base or normalise(attributes.get("href") or "", url).url
            continue
        found += [attributes.get(name) or "" for name in (*_PLAIN.get(tag, ()), "background")]
        if tag in _PICTURED:
            found += candidates(attributes.get("srcset") or "")
        if tag == "link" and _shows(attributes):
            found += [attributes.get("href") or "", *candidates(attributes.get("imagesrcset") or "")]
        found += _styled(attributes.get("style") or "")
        if tag == "style":
            found += _styled(node.text() or "")
        if len(found) > 20 * MOST:
            break
    return base or url, found


def _shows(attributes: Mapping[str, str | None]) -> bool:
    """Tell whether a `link` names what is loaded to show the page."""
    relations = set((attributes.get("rel") or "").lower().split())
    preloaded = "preload" in relations and (attributes.get("as") or "").lower() in _PRELOADED
    return preloaded or not relations.isdisjoint(_RELATIONS)


def candidates(srcset: str) -> list[str]:
    """Return the addresses of a `srcset` (HTML standard, section 4.8.4.2.2); a comma may be part of one.

    >>> candidates("a.png 1x, b,c.png 200w,d.png")
    ['a.png', 'b,c.png', 'd.png']
    """
    found: list[str] = []
    at = 0
    srcset = srcset[: _LONGEST // 8]
    while len(found) < MOST and (one := _CANDIDATE.match(srcset, at)) and one.end() > at:
        name = one[1]
        if name.endswith(","):
            found.append(name.rstrip(","))
            at = one.end(1)
        else:
            found.append(name)
            at = one.end()
    return [one for one in found if one]


def _styled(text: str) -> Iterator[str]:
    """Yield what a style sheet names."""
    for one in islice(_URL.finditer(_COMMENT.sub(" ", text[:_LONGEST])), 20 * MOST):
        yield next(filter(None, one.groups()), "")
