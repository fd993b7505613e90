"""The command line, as its own tests have it."""

from tests.cli.conftest import windrow

__all__ = ["windrow"]
