"""The web view: a workspace in a browser, read-only. `app(workspace)` is an ASGI application."""

from windrow.web.application import app

__all__ = ["app"]
