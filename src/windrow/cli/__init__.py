"""The command line: one file per command, each thin over `windrow.app`."""

from windrow.cli.root import main

__all__ = ["main"]
