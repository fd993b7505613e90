"""The workspace as Python calls it: what every command, page and script is built on."""

from windrow.app.workspace import Windrow

__all__ = ["Windrow"]
