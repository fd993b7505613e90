"""Find what a site offers, and hand its answers to what reads such a site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from windrow.collections.news import wordpress
from windrow.contract import Answer, Observation, Request, Skip, Task, Turn
from windrow.formats.url import normalise, parts
from windrow.model import Source


class SiteReader(NamedTuple):
    """One kind of site: what it is asked first, what its answers lead to, and what is read of them."""

    begin: Callable[[Source, Mapping[str, Any]], tuple[Request, ...]]
    follow: Callable[[Source, Mapping[str, Any], Answer], Turn]
    read: Callable[[Task], Iterator[Observation | Skip]]


READERS = {
    "wordpress": SiteReader(wordpress.begin, wordpress.follow, wordpress.read),
}


def kind_of(name: str) -> str:
    """Return the kind of site that a request is for."""
    return name.partition(".")[0]


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for what is new."""
    kind = source.options["kind"]
    kind = learned.get("kind", "wordpress") if kind == "auto" else kind
    return READERS[kind].begin(source, learned)


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> Turn:
    """Return what an answer leads to."""
    return READERS[kind_of(answer.request.name) or "wordpress"].follow(source, learned, answer)


def read(task: Task) -> list[Observation | Skip]:
    """Return the articles of an answer, and why there are none of what else it lists."""
    name = task.request.name if task.request else ""
    return list(READERS[kind_of(name) or "wordpress"].read(task))


def origins(source: Source) -> tuple[str, ...]:
    """Return the origins at which a site's articles lie: with `www.` and without, encrypted or not, and those told."""
    home = source.site.address("")
    found = [parts(normalise(one).url).origin for one in source.options["origins"] if normalise(one).url]
    resolved = normalise(home).url
    host = parts(resolved).host if resolved else ""
    if source.site.port is None and "." in host and not host.replace(".", "").isdigit():
        bare = host.removeprefix("www.")
        found += [f"{scheme}://{name}" for scheme in ("https", "http") for name in (bare, f"www.{bare}")]
    return tuple(dict.fromkeys(found))
