"""Harvest other people's documents, keep every byte, and answer for each of them.

    import windrow

    if __name__ == "__main__":
        print(windrow.open("farm").run().exit_code)

A run starts processes of its own, which read the script that started them once more: a script must
keep what it does under that `if`.
"""

from windrow.app import Windrow
from windrow.app import Windrow as open  # noqa: A004, N813 `windrow.open(dir)` reads as it should

__all__ = ["Windrow", "open"]
