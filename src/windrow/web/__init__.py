"""The web view: a workspace in a browser, read-only. `app(workspace)` is an ASGI application."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.web.application import app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    """Import `app` when it is first used, so that `windrow serve` listens before it loads templates and stores."""
    if name not in __all__:
        raise AttributeError(f"module 'windrow.web' has no attribute {name!r}")
    return import_module("windrow.web.application").app
