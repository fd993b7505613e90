"""The command line; its commands parse arguments, call the layers below, and print the results."""

from windrow.cli.root import main

__all__ = ["main"]
