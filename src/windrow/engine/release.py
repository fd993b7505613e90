"""Give everything back that a part of a run holds, whatever of that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Close = Callable[[], object]


def release(parts: Iterable[Close], error: BaseException | None = None) -> None:
    """Call all of the parts in order; the first error is raised at the end, with the others noted on it.

    With an `error` that is under way nothing is raised, and all are noted on that.
    """
    first = error
    for part in parts:
        try:
            part()
        except BaseException as failure:  # noqa: BLE001 the rest must be given back too
            if first is None:
                first = failure
            else:
                first.add_note(f"and then: {type(failure).__name__}: {failure}")
    if error is None and first is not None:
        raise first


@contextmanager
def released(*parts: Close) -> Iterator[None]:
    """Call all of the parts when the block ends, however it ends."""
    try:
        yield
    except BaseException as error:
        release(parts, error)
        raise
    else:
        release(parts)
