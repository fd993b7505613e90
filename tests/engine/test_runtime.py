"""What a process is forked from holds the modules that it needs: a name that no module has would be passed over silently."""

from __future__ import annotations

import importlib

import pytest

from windrow.engine import runtime


@pytest.mark.parametrize("name", sorted({*runtime.ALWAYS, *runtime.SOMETIMES.values()}))
def test_what_is_loaded_before_processes_are_forked_is_there(name: str) -> None:
    assert importlib.import_module(name).__name__ == name
