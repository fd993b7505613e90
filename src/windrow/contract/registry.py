"""The collections that are installed: found by their entry points in `windrow.collections`, and nowhere else."""

from __future__ import annotations

from collections.abc import Container
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from windrow.contract import Collection
from windrow.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "windrow.collections"

Capability = TypeVar("Capability")
"""A protocol of what some adapters can do besides, such as `windrow.adapters.adapter.Searches`."""


@cache
def _points() -> dict[str, tuple[EntryPoint, ...]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 slow, and it takes `email` and `zipfile` along

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        if point.value not in {one.value for one in found.get(point.name, ())}:
            found[point.name] = (*found.get(point.name, ()), point)
    return found


def names() -> tuple[str, ...]:
    """Return the names of all collections that are installed, those that cannot be loaded too; loads none."""
    return tuple(_points())


@cache
def _loaded(name: str) -> Collection | str:
    """Load a collection, or say why it cannot be used."""
    points = _points().get(name, ())
    if not points:
        return f"no collection {name!r} is installed; there is: {', '.join(names())}"
    if len(points) > 1:
        both = " and ".join(point.value for point in points)
        return f"two packages install a collection {name!r}: {both}"
    try:
        found = points[0].load()
    except Exception as error:  # noqa: BLE001 a stranger's package may fail in any way, and the others go on
        return f"the collection {name!r} ({points[0].value}) cannot be loaded: {type(error).__name__}: {error}"
    if not isinstance(found, Collection):
        return f"the collection {name!r} ({points[0].value}) is no windrow.contract.Collection"
    if found.name != name:
        return f"the collection {name!r} ({points[0].value}) calls itself {found.name!r}"
    return found


def trouble(name: str) -> str:
    """Say why a collection cannot be used; empty where it can.

    >>> trouble("drop").partition("; ")[0]
    "no collection 'drop' is installed"
    >>> trouble("drop")
    "no collection 'drop' is installed; there is: drops, events, news, pages, papers"
    """
    found = _loaded(name)
    return found if isinstance(found, str) else ""


def installed() -> dict[str, Collection]:
    """Return the collections that can be used, by name."""
    return {name: found for name in names() if isinstance(found := _loaded(name), Collection)}


def collection(name: str) -> Collection:
    """Return a collection; UsageError where there is none of that name, ConfigError where it cannot be loaded."""
    found = _loaded(name)
    if isinstance(found, Collection):
        return found
    if name not in _points():
        raise UsageError(f"there is no collection {name!r}; there is: {', '.join(names())}")
    raise ConfigError(found, hint=f"mend or remove the package that installs {name!r}")


def phases() -> dict[str, tuple[str, ...]]:
    """Return the names of each collection's phases, in order."""
    return {name: found.phases for name, found in installed().items()}


def capable(capability: type[Capability], among: Container[str] | None = None) -> dict[str, Capability]:
    """Return the adapters that have all that a capability names, by the name of their collection.

    `among` are the collections that are looked at: the adapters of others are not loaded, and one of these that cannot
    be is a ConfigError. Without it all are looked at that can be loaded, since what a workspace does not use is no
    reason to refuse a verb.
    """
    members = {name for name in (*vars(capability), *capability.__annotations__) if not name.startswith("_")}
    found = {}
    for name in installed():
        if among is not None and name not in among:
            continue
        try:
            made = adapter(name)
        except ConfigError:
            if among is not None:
                raise
            continue
        declared = getattr(made, "capabilities", None)  # of one whose parts are not loaded yet
        if all(hasattr(made, member) if declared is None else member in declared for member in members):
            found[name] = made
    return found


def adapter(name: str) -> Any:
    """Load what joins a collection with a workspace, as its `adapter` names it."""
    found = collection(name)
    module, _, attribute = found.adapter.partition(":")
    try:
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"the adapter {found.adapter!r} of the collection {name!r} cannot be loaded: {why}",
            hint=f"mend or remove the package that installs {name!r}",
        ) from error
