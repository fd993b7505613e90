"""The adapters of the installed collections have the methods of their protocols, with the same parameters."""

from __future__ import annotations

import inspect
from typing import Protocol

import pytest

from windrow.adapters import adapter
from windrow.adapters.selection import CountsSkipped
from windrow.contract import registry

PROTOCOLS = [CountsSkipped, *(value for value in vars(adapter).values() if Protocol in getattr(value, "__bases__", ()))]


def parameters(function: object) -> list[tuple[str, object]]:
    """Return the names and kinds of a function's parameters, without `self`."""
    declared = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind) for parameter in declared if parameter.name != "self"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_adapters_name_the_parameters_as_their_protocol_does(protocol) -> None:
    """Commands may then call the adapters of all collections with the same keywords."""
    adapters = registry.capable(protocol)
    assert protocol is not adapter.Adapter or adapters.keys() == registry.installed().keys()
    for name, loaded in adapters.items():
        for method, declared in inspect.getmembers(protocol, inspect.isfunction):
            if not method.startswith("_"):
                assert parameters(getattr(loaded, method)) == parameters(declared), f"{name}: {method}"
