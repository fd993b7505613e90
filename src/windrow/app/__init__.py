"""The workspace as a Python object, which all commands use."""

from windrow.app.workspace import Windrow

__all__ = ["Windrow"]
