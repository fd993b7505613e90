"""The processes of a run, found below its own pid, so that a test can kill one of them."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


def below(pid: int) -> dict[int, int]:
    """Return the processes below one, by pid, each with its parent's."""
    parents = {}
    for place in PROC.iterdir():
        if place.name.isdigit():
            try:
                parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has ended meanwhile
    found: dict[int, int] = {}
    rest = [pid]
    while rest:
        above = rest.pop()
        children = [child for child, parent in parents.items() if parent == above]
        found |= dict.fromkeys(children, above)
        rest += children
    return found


def forked(pid: int) -> list[int]:
    """Return the fetchers and workers of a run: what its fork server started."""
    return [child for child, parent in below(pid).items() if parent != pid]


def holds(pid: int, word: str) -> bool:
    """Tell whether a process has a file open whose path has this word in it."""
    try:
        return any(word in str(path.readlink()) for path in (PROC / str(pid) / "fd").iterdir())
    except OSError:
        return False


def fetches(pid: int) -> bool:
    """Tell whether a process is a fetcher: it may write to the archive."""
    return holds(pid, "/archive/.lock")


def reads(pid: int) -> bool:
    """Tell whether a process is a worker with an archive's file in hand."""
    return holds(pid, "/archive/") and not fetches(pid)
