"""Write files whole and private: only the user who runs windrow, or also a group, can read those in a workspace.

Harvested documents may be confidential. The umask of the process is set, since SQLite and the search index create files
themselves, and child processes inherit it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNER_ONLY, _OWNER_AND_GROUP = 0o077, 0o027  # umasks
_user_masks: list[int] = []
"""The umask that the user chose, once for each block of `private_files` that this process is in."""


@contextmanager
def private_files(*, group_reads: bool = False) -> Iterator[None]:
    """In the block, files are created with mode 0600 and folders with 0700; if `group_reads`, with 0640 and 0750.

    A stricter umask of the user is kept. The umask applies to all threads of the process.
    """
    previous_mask = os.umask(_OWNER_ONLY)
    _user_masks.append(_user_masks[-1] if _user_masks else previous_mask)
    os.umask(_user_masks[-1] | (_OWNER_AND_GROUP if group_reads else _OWNER_ONLY))
    try:
        yield
    finally:
        _user_masks.pop()
        os.umask(previous_mask)


@contextmanager
def published_files() -> Iterator[None]:
    """In the block, files are created with the user's own umask, for exports that others may read."""
    if not _user_masks:
        yield
        return
    mask = os.umask(_user_masks[-1])
    try:
        yield
    finally:
        os.umask(mask)


def current_mask() -> int:
    """Return the umask of this process."""
    mask = os.umask(_OWNER_ONLY)
    os.umask(mask)
    return mask


def write_whole(path: Path, texts: Iterable[str], *, synced: bool = True) -> None:
    """Write texts to a file under a temporary name and rename it, so that it is never incomplete; create its folder.

    If `synced`, the texts are on the disk before the rename, so that no power cut leaves an empty file. A link or a
    pipe of the temporary name is removed and not written to. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    with draft.open("x", encoding="utf-8") as file:
        file.writelines(texts)
        if synced:
            file.flush()
            os.fsync(file.fileno())
    draft.replace(path)
