"""The collection `pages`: sites are crawled; what came is summarised and made findable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from windrow.collections.pages.crawl import CRAWL
from windrow.collections.pages.reading import version
from windrow.collections.pages.summarise import asks, summarise, tell, wants
from windrow.errors import UsageError
from windrow.model import Entry, Fetched, Host, Limits, Member, Offer, Source, Status
from windrow.reasons import Reason
from windrow.spec import Act, Collection, State, Step

PHASES = ("crawl", "summarise", "index")
PAGE = "page"


def _plan(source: Source, entries: Sequence[Entry], options: Mapping[str, Any]) -> list[Offer]:
    del source, entries, options
    return []


def _prefer(owner: str, hosts: Sequence[Host]) -> list[Host]:
    del owner
    return list(hosts)


def _arrived(got: Fetched) -> tuple[State, ...]:
    del got
    return ((1, Status.DONE),)


def _failed(reason: Reason) -> State:
    del reason
    return (1, Status.FAILED)


def _member_state(member: Member) -> State:
    del member
    return (1, Status.DONE)


def _parent(children: Mapping[State, int]) -> State:
    del children
    return (1, Status.DONE)


def _member(capture: BinaryIO, name: str, limits: Limits) -> BinaryIO:
    del capture, limits
    raise UsageError(f"a page has no members: {name[:200]!r}")


STEPS = (
    Step("summarise", f"1+{version()}", Act.SETTLE, summarise, PAGE, (), wants=wants, tell=tell, asks=asks),
    Step("index", "1", Act.FOLLOW, None, PAGE, ()),
)

COLLECTION = Collection(
    name="pages", phases=PHASES, folders=(), kind=PAGE, member_kind=PAGE, first=(1, Status.PENDING),
    refused=(1, Status.FAILED), plan=_plan, prefer=_prefer, arrived=_arrived, failed=_failed, steps=STEPS,
    member_state=_member_state, parent=_parent, member=_member, crawl=CRAWL,
)  # fmt: skip
