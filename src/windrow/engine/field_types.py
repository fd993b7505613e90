"""Check that the fields of a value have the types of their annotations.

A process that was taken over can send values of the right classes with wrong fields, such as a text in place of a time.
What an annotation leaves open is not checked, such as the elements of a bare `tuple`. Nor are fields that are annotated
as Mapping: stores accept other JSON in place of a mapping too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, is_typeddict

from windrow.model import MAX_INTEGER, MIN_INTEGER

_CONTAINERS: dict[type, tuple[type, ...]] = {
    tuple: (tuple, list),
    list: (list,),
    dict: (dict,),
    set: (set,),
    frozenset: (frozenset,),
}
"""The classes that are accepted for an annotation with a container: a step may return a list in place of a tuple."""


class _Accepted(NamedTuple):
    """What an annotation accepts: values of the classes `kinds` or of subclasses, if their elements are accepted.

    `elements` has, for each class of containers whose elements are checked, a function that returns whether all
    elements of a container are accepted.
    """

    kinds: tuple[type, ...]
    elements: Mapping[type, Callable[[Any], bool]]

    def __call__(self, value: Any) -> bool:
        kind = type(value)
        if not issubclass(kind, self.kinds):
            return False
        accepts = self.elements.get(kind)
        return accepts is None or accepts(value)


class FieldTypes:
    """The types of the fields of a class of values."""

    def __init__(self, kind: type) -> None:
        """Read the annotations of a NamedTuple or a dataclass."""
        names = (field.name for field in fields(kind)) if is_dataclass(kind) else getattr(kind, "_fields", ())
        self.names: list[str] = [*names]
        annotations = _annotations_of(kind)
        accepted = [_accepted_by(annotations.get(name, Any)) for name in self.names]
        self._accepted = [(index, accepts) for index, accepts in enumerate(accepted) if accepts is not None]
        self._numbers = [index for index, accepts in self._accepted if int in accepts.kinds]
        self._kinds = [object if accepts is None else accepts.kinds for accepts in accepted]
        # By the types of the fields of accepted values: the indexes of integers, and of containers to check.
        self._known: dict[tuple[type, ...], tuple[list[int], list[tuple[int, Callable[[Any], bool]]]]] = {}
        self._known_in_column: list[set[type]] = [set() for _ in self.names]

    def find_wrong(self, values: Sequence[Any]) -> str:
        """Return the name of a field whose value has the wrong type or is an integer out of range, otherwise ""."""
        types = tuple(map(type, values))
        known = self._known.get(types)
        if known is None:
            for index, accepts in self._accepted:
                if not accepts(values[index]):
                    return self.names[index]
            numbers = [index for index in self._numbers if types[index] is int]
            containers = [
                (index, accepts.elements[types[index]])
                for index, accepts in self._accepted
                if types[index] in accepts.elements
            ]
            known = self._known[types] = (numbers, containers)
        numbers, containers = known
        for index in numbers:
            if not MIN_INTEGER <= values[index] <= MAX_INTEGER:
                return self.names[index]
        for index, accepts_elements in containers:
            if not accepts_elements(values[index]):
                return self.names[index]
        return ""

    def find_wrong_column(self, rows: Iterable[Iterable[Any]], atoms: AbstractSet[type]) -> str:
        """Return the name of the first field that has a wrong value in one of the `rows`, or "" if there is none.

        Each row must have a value for each field. A value is also wrong if its class is not one of `atoms`.
        """
        for index, column in enumerate(zip(*rows, strict=True)):
            types, known = set(map(type, column)), self._known_in_column[index]
            if not types <= known:
                kinds = self._kinds[index]
                if not types <= atoms or not all(issubclass(kind, kinds) for kind in types):
                    return self.names[index]
                known |= types
            if int in types and index in self._numbers:
                numbers = column if len(types) == 1 else [number for number in column if type(number) is int]
                if min(numbers) < MIN_INTEGER or max(numbers) > MAX_INTEGER:
                    return self.names[index]
        return ""


@cache
def result_type(job: type) -> Callable[[object], bool]:
    """Return a function that checks whether a value has the type that the method `run` of `job` returns."""
    run = vars(job)["run"]
    accepts = _accepted_by(_evaluate(run.__annotations__["return"], run.__globals__))
    return lambda value: accepts is None or accepts(value)


def _annotations_of(kind: type) -> dict[str, Any]:
    """Return a dict from each field of a class and its bases to its annotation.

    Annotations that cannot be evaluated become Any, for example if a class in them is imported only for type checkers.
    """
    annotations: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        names = vars(sys.modules.get(base.__module__, sys))
        for field, annotation in vars(base).get("__annotations__", {}).items():
            text = getattr(annotation, "__forward_arg__", annotation)
            annotations[field] = _evaluate(text, names) if isinstance(text, str) else text
    return annotations


def _evaluate(text: str, names: dict[str, Any]) -> Any:
    try:
        return eval(text, dict(names))  # noqa: S307 the annotation of a class of windrow or of a collection
    except (NameError, AttributeError, TypeError, SyntaxError):  # imported for type checkers only, or a newer syntax
        return Any


def _accepted_by(annotation: Any) -> _Accepted | None:
    """Return what an annotation accepts, or None if it accepts everything or windrow cannot check it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is None:
        return _Accepted((NoneType,), {})
    if origin in (Union, UnionType):
        return _join(map(_accepted_by, arguments))
    if origin is None:
        return _accepted_by_class(annotation)
    container = _container_of(origin)
    if container is None:
        return None
    accepts = _elements_accepted(container, arguments)
    return _Accepted(_CONTAINERS[container], dict.fromkeys(_CONTAINERS[container], accepts) if accepts else {})


def _accepted_by_class(annotation: Any) -> _Accepted | None:
    if (
        annotation in (Any, object, Mapping)
        or not isinstance(annotation, type)
        or getattr(annotation, "_is_protocol", False)
    ):
        return None
    if is_typeddict(annotation):
        return _Accepted((dict,), {})
    if (container := _container_of(annotation)) is not None:
        return _Accepted(_CONTAINERS[container], {})
    return _Accepted((annotation, int) if annotation is float else (annotation,), {})


def _container_of(origin: Any) -> type | None:
    if origin in _CONTAINERS:
        return origin  # type: ignore[no-any-return]
    return {Sequence: tuple, Iterable: tuple, AbstractSet: frozenset}.get(origin)


def _join(alternatives: Iterable[_Accepted | None]) -> _Accepted | None:
    kinds: tuple[type, ...] = ()
    elements: dict[type, Callable[[Any], bool]] = {}
    for accepted in alternatives:
        if accepted is None or elements.keys() & accepted.elements.keys():
            return None  # two kinds of containers of one class are not distinguished
        kinds += accepted.kinds
        elements |= accepted.elements
    return _Accepted(kinds, elements)


def _elements_accepted(container: type, arguments: tuple[Any, ...]) -> Callable[[Any], bool] | None:
    """Return a function that checks a container's elements (a dict's values), or None if all are accepted."""
    if container is not tuple or len(arguments) == 1 or arguments[1:] == (...,):
        accepts = _accepted_by(arguments[container is dict]) if arguments else None
        if accepts is None:
            return None
        accept_all = _all_accepted(accepts)
        return (lambda value: accept_all(value.values())) if container is dict else accept_all
    accepted = [_accepted_by(argument) for argument in arguments]
    return lambda value: (
        len(value) == len(accepted)
        and all(accepts is None or accepts(element) for accepts, element in zip(accepted, value, strict=True))
    )


def _all_accepted(accepts: _Accepted) -> Callable[[Any], bool]:
    if accepts.elements:
        return lambda values: all(accepts(value) for value in values)
    known: set[type] = set()  # the types of elements that were accepted

    def accept_types(values: Any) -> bool:
        types = set(map(type, values))
        if not types <= known:
            if not all(issubclass(kind, accepts.kinds) for kind in types):
                return False
            known.update(types)
        if int not in types:
            return True
        return all(MIN_INTEGER <= number <= MAX_INTEGER for number in values if type(number) is int)

    return accept_types
