"""A collection without steps: what is listed is fetched and kept, and that is all."""

from __future__ import annotations

from windrow.model import Entry, Fetched, Host, Offer, Source, Status
from windrow.reasons import Reason
from windrow.spec import Collection, State


def plan(source: Source, entries: list[Entry], options: object) -> list[Offer]:
    """Offer everything."""
    return [Offer(f"{source.name}/{one.name}", one.name, one.size, one.modified, one.name) for one in entries]


def prefer(owner: str, hosts: list[Host]) -> list[Host]:
    """Take hosts as they come."""
    return list(hosts)


def arrived(got: Fetched) -> tuple[State, ...]:
    """Be done."""
    return ((1, Status.DONE),)


def failed(reason: Reason) -> State:
    """Have failed."""
    return (1, Status.FAILED)


def nothing(*_: object) -> State:
    """Never be asked."""
    raise AssertionError


EMPTY = Collection(
    name="empty", phases=("get",), folders=("",), kind="page", member_kind="none", first=(1, Status.PENDING),
    refused=(1, Status.FAILED), plan=plan, prefer=prefer, arrived=arrived, failed=failed, steps=(),
    member_state=nothing, parent=nothing, member=nothing,
)  # fmt: skip
