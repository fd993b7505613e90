"""The installed collections, found by their entry points in the group `windrow.collections`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from windrow.contract import Collection, TypedColumn
from windrow.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "windrow.collections"

_MAX_MESSAGE = 500  # characters shown of an error that another maker's package raised

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


class _LoadFailed(Exception):
    """Another maker's code failed when it was loaded; its message is the error's type and text."""


def _load_foreign(load: Callable[[], Any]) -> Any:
    """Return the result of `load`, which may import another maker's package. Raise _LoadFailed if it fails in any way.

    The other collections still work, so a package that exits, as a script without a `__main__` guard does, must not end
    the command. What it prints goes to standard error, since standard output is for data.
    """
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _LoadFailed(f"{type(error).__name__}: {str(error)[:_MAX_MESSAGE]}") from error


def _repair_hint(name: str) -> str:
    """Return what to do about a collection that cannot be used: it names the packages that install it, if known."""
    points = _entry_points().get(name, ())
    packages = sorted({point.dist.name for point in points if point.dist} - {"windrow"})
    if len(points) > 1 and packages:
        return f"pip uninstall {' or '.join(packages)}"
    return f"repair or remove the package {packages[0] if packages else f'that installs {name!r}'}"


@cache
def _load_collection(name: str) -> Collection | str:
    entry_points = _entry_points().get(name, ())
    if not entry_points:
        return f"collection {name!r} is not installed; installed are: {', '.join(names())}"
    if len(entry_points) > 1:
        packages = " and ".join(point.value for point in entry_points)
        return f"collection {name!r} is installed by several packages: {packages}"
    try:
        collection = _load_foreign(entry_points[0].load)
    except _LoadFailed as error:
        return f"the collection {name!r} ({entry_points[0].value}) cannot be loaded: {error}"
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


def unusable() -> dict[str, str]:
    """Return a dict from the name of each installed collection that cannot be used to the reason."""
    return {name: reason for name in names() if (reason := why_unusable(name))}


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
    raise ConfigError(collection_or_problem, hint=_repair_hint(name))


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

    def load() -> Any:
        adapter_module = import_module(module)
        return getattr(adapter_module, attribute) if attribute else adapter_module

    try:
        return _load_foreign(load)
    except _LoadFailed as error:
        raise ConfigError(
            f"the adapter {declaration.adapter!r} of the collection {name!r} cannot be loaded: {error}",
            hint=_repair_hint(name),
        ) from error
