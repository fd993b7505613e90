"""The installed collections, found by their entry points in the group `windrow.collections`."""

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
"""A protocol that some adapters implement, such as `windrow.adapters.adapter.Searches`."""


@cache
def _entry_points() -> dict[str, tuple[EntryPoint, ...]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 slow, and it takes `email` and `zipfile` along

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        if point.value not in {known.value for known in points.get(point.name, ())}:
            points[point.name] = (*points.get(point.name, ()), point)
    return points


def names() -> tuple[str, ...]:
    """Return the names of all installed collections, also of those that cannot be loaded; imports none."""
    return tuple(_entry_points())


@cache
def _load_collection(name: str) -> Collection | str:
    """Return a collection, or a message that says why it cannot be used."""
    points = _entry_points().get(name, ())
    if not points:
        return f"collection {name!r} is not installed; installed are: {', '.join(names())}"
    if len(points) > 1:
        packages = " and ".join(point.value for point in points)
        return f"collection {name!r} is installed by two packages: {packages}"
    try:
        loaded = points[0].load()
    except Exception as error:  # noqa: BLE001 another maker's package may fail in any way; the other collections still work
        return f"the collection {name!r} ({points[0].value}) cannot be loaded: {type(error).__name__}: {error}"
    if not isinstance(loaded, Collection):
        return f"the collection {name!r} ({points[0].value}) is not a windrow.contract.Collection"
    if loaded.name != name:
        return f"the collection {name!r} ({points[0].value}) calls itself {loaded.name!r}"
    return loaded


def why_unusable(name: str) -> str:
    """Return why a collection cannot be used, or an empty text if it can.

    >>> why_unusable("drop").partition("; ")[0]
    "collection 'drop' is not installed"
    >>> why_unusable("drop")
    "collection 'drop' is not installed; installed are: drops, events, news, pages, papers"
    """
    loaded = _load_collection(name)
    return loaded if isinstance(loaded, str) else ""


def installed() -> dict[str, Collection]:
    """Return the collections that can be used, by name."""
    return {name: loaded for name in names() if isinstance(loaded := _load_collection(name), Collection)}


def collection(name: str) -> Collection:
    """Return a collection; raises UsageError if it is not installed, ConfigError if it cannot be loaded."""
    loaded = _load_collection(name)
    if isinstance(loaded, Collection):
        return loaded
    if name not in _entry_points():
        raise UsageError(f"collection {name!r} is not installed; installed are: {', '.join(names())}")
    raise ConfigError(loaded, hint=f"repair or remove the package that installs {name!r}")


def phases() -> dict[str, tuple[str, ...]]:
    """Return the names of each collection's phases, in order."""
    return {name: loaded.phases for name, loaded in installed().items()}


def capable(capability: type[Capability], among: Container[str] | None = None) -> dict[str, Capability]:
    """Return the adapters that implement a capability, by the name of their collection.

    With `among`, only those collections are considered: the adapters of others are not imported, and ConfigError is
    raised if one of these cannot be. Without it those that cannot be imported are skipped, since a collection that the
    workspace does not use must not stop a command.
    """
    members = {name for name in (*vars(capability), *capability.__annotations__) if not name.startswith("_")}
    adapters = {}
    for name in installed():
        if among is not None and name not in among:
            continue
        try:
            loaded = adapter(name)
        except ConfigError:
            if among is not None:
                raise
            continue
        declared = getattr(loaded, "capabilities", None)  # by an adapter whose parts are not imported yet
        if all(hasattr(loaded, member) if declared is None else member in declared for member in members):
            adapters[name] = loaded
    return adapters


def adapter(name: str) -> Any:
    """Import the adapter that a collection names; raises ConfigError if that fails."""
    declared = collection(name)
    module, _, attribute = declared.adapter.partition(":")
    try:
        loaded = import_module(module)
        return getattr(loaded, attribute) if attribute else loaded
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"the adapter {declared.adapter!r} of the collection {name!r} cannot be loaded: {cause}",
            hint=f"repair or remove the package that installs {name!r}",
        ) from error
