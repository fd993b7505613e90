"""The workspace as a Python object, which the command line uses too."""

from windrow.app.workspace import Windrow

__all__ = ["Windrow"]
