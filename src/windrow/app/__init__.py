"""The one place where parts are joined: what every command, page and script calls."""

from windrow.app.workspace import Windrow

__all__ = ["Windrow"]
