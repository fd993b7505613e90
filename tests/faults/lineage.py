"""The child processes of a run, so that a test can kill one of them."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


def descendants(pid: int) -> dict[int, int]:
    """Return all descendants of a process: each pid with its parent's."""
    parents = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
    parent_by_child: dict[int, int] = {}
    rest = [pid]
    while rest:
        above = rest.pop()
        children = [child for child, parent in parents.items() if parent == above]
        parent_by_child |= dict.fromkeys(children, above)
        rest += children
    return parent_by_child


def workers(pid: int) -> list[int]:
    """Return the pids of a run's fetchers and workers: the processes that its fork server started."""
    return [child for child, parent in descendants(pid).items() if parent != pid]


def has_open(pid: int, word: str) -> bool:
    """Return whether a process has a file open whose path contains this word."""
    try:
        return any(word in str(path.readlink()) for path in (PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False


def is_fetcher(pid: int) -> bool:
    """Return whether a process is a fetcher: it holds the archive's lock."""
    return has_open(pid, "/archive/.lock")


def is_reader(pid: int) -> bool:
    """Return whether a process is a worker that reads a file of the archive."""
    return has_open(pid, "/archive/") and not is_fetcher(pid)
