"""The installed collections, found by their entry points in the group `windrow.collections`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from windrow.contract import Collection, TypedColumn
from windrow.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "windrow.collections"

Capability = TypeVar("Capability")
"""A protocol that some adapters implement, such as `windrow.adapters.adapter.Searches`."""


@cache
def _entry_points() -> dict[str, tuple[EntryPoint, ...]]:
    """Return a dict from collection name to its entry points. Equal entry points are returned once."""
    from importlib.metadata import entry_points  # noqa: PLC0415 slow: it imports `email` and `zipfile`

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if point.value not in {earlier.value for earlier in points.get(point.name, ())}:
            points[point.name] = (*points.get(point.name, ()), point)
    return points


def names() -> tuple[str, ...]:
    """Return the names of all installed collections, without importing them. Some may not be usable."""
    return tuple(_entry_points())


@cache
def _load_collection(name: str) -> Collection | str:
    entry_points = _entry_points().get(name, ())
    if not entry_points:
        return f"collection {name!r} is not installed; installed are: {', '.join(names())}"
    if len(entry_points) > 1:
        packages = " and ".join(point.value for point in entry_points)
        return f"collection {name!r} is installed by several packages: {packages}"
    try:
        collection = entry_points[0].load()
    except Exception as error:  # noqa: BLE001 another maker's package may fail in any way; the other collections still work
        return f"the collection {name!r} ({entry_points[0].value}) cannot be loaded: {type(error).__name__}: {error}"
    if not isinstance(collection, Collection):
        return f"the collection {name!r} ({entry_points[0].value}) is not a windrow.contract.Collection"
    if collection.name != name:
        return f"the collection {name!r} ({entry_points[0].value}) declares the name {collection.name!r}"
    return collection


def why_unusable(name: str) -> str:
    """Return why a collection cannot be used, or "" if it can.

    >>> why_unusable("drop").partition("; ")[0]
    "collection 'drop' is not installed"
    >>> why_unusable("drop")
    "collection 'drop' is not installed; installed are: drops, events, news, pages, papers"
    """
    collection_or_problem = _load_collection(name)
    return collection_or_problem if isinstance(collection_or_problem, str) else ""


def installed() -> dict[str, Collection]:
    """Return a dict from name to collection, of all collections that can be used."""
    return {name: collection for name in names() if isinstance(collection := _load_collection(name), Collection)}


def collection(name: str) -> Collection:
    """Return a collection. Raises UsageError if it is not installed, and ConfigError if it cannot be used."""
    collection_or_problem = _load_collection(name)
    if isinstance(collection_or_problem, Collection):
        return collection_or_problem
    if name not in _entry_points():
        raise UsageError(f"collection {name!r} is not installed; installed are: {', '.join(names())}")
    raise ConfigError(collection_or_problem, hint=f"repair or remove the package that installs {name!r}")


def phases() -> dict[str, tuple[str, ...]]:
    """Return a dict from the name of each collection that can be used to its phases, in order."""
    return {name: collection.phases for name, collection in installed().items()}


def columns() -> tuple[TypedColumn, ...]:
    """Return the columns of all collections that can be used. Searches can filter by them."""
    return tuple(column for collection in installed().values() for column in collection.columns)


def capable(
    capability: type[Capability], among: Container[str] | None = None, *, skip_broken: bool = False
) -> dict[str, Capability]:
    """Return a dict from collection name to adapter, of the adapters that implement a capability.

    If `among` is given, only the collections in it are considered, and ConfigError is raised if an adapter cannot be
    imported. Otherwise, or if `skip_broken`, adapters that cannot be imported are skipped: a collection that the
    workspace does not use must not stop a command, and `describe_broken` says which of those that it uses are skipped.
    """
    member_names = {name for name in (*vars(capability), *capability.__annotations__) if not name.startswith("_")}
    adapters = {}
    for name in installed():
        if among is not None and name not in among:
            continue
        try:
            loaded_adapter = adapter(name)
        except ConfigError:
            if among is not None and not skip_broken:
                raise
            continue
        # An adapter that imports its parts when they are used declares their names.
        declared = getattr(loaded_adapter, "capabilities", None)
        if all(hasattr(loaded_adapter, member) if declared is None else member in declared for member in member_names):
            adapters[name] = loaded_adapter
    return adapters


def describe_broken(collections: Iterable[str]) -> list[str]:
    """Return a message for each of these collections that is not installed, or whose adapter cannot be imported.

    >>> describe_broken(["drops"])
    []
    """
    messages = []
    for name in sorted(collections):
        try:
            adapter(name)
        except (ConfigError, UsageError) as error:
            messages.append(str(error))
    return messages


def adapter(name: str) -> Any:
    """Import the adapter of a collection, and return it.

    Raises UsageError if the collection is not installed, and ConfigError if it or its adapter cannot be used.
    """
    declaration = collection(name)
    module, _, attribute = declaration.adapter.partition(":")
    try:
        adapter_module = import_module(module)
        return getattr(adapter_module, attribute) if attribute else adapter_module
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"the adapter {declaration.adapter!r} of the collection {name!r} cannot be loaded: {problem}",
            hint=f"repair or remove the package that installs {name!r}",
        ) from error
