"""The command line; its commands parse arguments, call `windrow.app`, and print the results."""

from windrow.cli.root import main

__all__ = ["main"]
