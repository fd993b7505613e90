"""Find the WARC files that index lines name, in the folders of a source."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from errno import EILSEQ
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from windrow.errors import ArchiveError
from windrow.formats.text import replace_lone_surrogates

CDX_NAMES = (".cdx", ".cdx.gz", ".cdxj", ".cdxj.gz")
"""The endings of the names of index files; the parts of Common Crawl's indexes are index files, too (cdx-00001.gz)."""

_INDEX_PART_MATCH = re.compile(r"cdx-\d+\.gz").fullmatch

MAX_PATHS_NAMED = 3
"""The maximum number of files with the same name that are listed in a message."""


def raise_unread(error: OSError) -> None:
    """Raise ArchiveError for a folder, file or link that cannot be read."""
    raise ArchiveError(describe_unread(error), hint=f"ls -ld {error.filename}") from error


def describe_unread(error: OSError) -> str:
    """Return a message about a folder, file or link that cannot be read."""
    return f"{replace_lone_surrogates(str(error.filename), 'backslashreplace')} cannot be read: {error.strerror}"


def with_utf_8_names(paths: Iterable[Path], report: Callable[[OSError], object]) -> Iterator[Path]:
    """Yield the paths that a database can store as text; call `report` with an error for each of the others."""
    for path in paths:
        if replace_lone_surrogates(str(path)) == str(path):
            yield path
        else:
            report(OSError(EILSEQ, "its name is not valid UTF-8; rename it", str(path)))


def files_below(
    folder: Path, endings: tuple[str, ...], report: Callable[[OSError], object] = raise_unread
) -> list[Path]:
    """Return the regular files below a folder whose names have one of the `endings` (in any case), sorted by path.

    If `endings` are CDX_NAMES, these are the index files.

    Links are followed, to each folder once. `report` is called with the error for each folder that cannot be read, and
    for each name with these endings that is a broken link or in a folder that may be listed but not entered.
    """
    files: list[Path] = []
    known_folders: set[str] = set()
    for parent, folder_names, file_names in os.walk(folder, onerror=report, followlinks=True):
        real_path = os.path.realpath(parent)
        if real_path in known_folders:
            folder_names.clear()
            continue
        known_folders.add(real_path)
        folder_names.sort()
        for path in (Path(parent, name) for name in file_names if _has_ending(name.lower(), endings)):
            try:
                files += [path] if S_ISREG(path.stat().st_mode) else []
            except FileNotFoundError as error:
                if path.is_symlink():  # any other file was removed meanwhile
                    report(error)
            except OSError as error:
                report(error)
    return sorted(files)


def _has_ending(name: str, endings: tuple[str, ...]) -> bool:
    return name.endswith(endings) or (endings == CDX_NAMES and _INDEX_PART_MATCH(name) is not None)


class WarcNames:
    """The WARC files of a source, by file name. An index line may name folders before the file name.

    If several files have the same name, an index line means the one whose path ends with the most names of the line.
    If several paths end with equally many, the line means one below the folder of the index. If this leaves several, it
    is not known which one is meant. A WARC file that is read without an index is its own index.
    """

    def __init__(self) -> None:
        self._paths_by_name: dict[str, list[Path]] = {}

    def add(self, paths: Iterable[Path]) -> None:
        """Add WARC files. A file is added once under each of its names, even if links lead to it by several paths."""
        for path in paths:
            same_named = self._paths_by_name.setdefault(path.name, [])
            if path not in same_named and path.resolve() not in {known_path.resolve() for known_path in same_named}:
                same_named.append(path)

    def find(self, warc: str, index: Path) -> Path | None:
        """Return the file that a line of `index` names, or None if no file or more than one may be meant."""
        paths = self._best_matches(warc, index)
        return paths[0] if len(paths) == 1 else None

    def describe_missing(self, warc: str, index: Path) -> str:
        """Return a message that says why `find` returns None."""
        paths = self._best_matches(warc, index)
        if not paths:
            return f"{warc[:200]} is not in any folder of the source"
        names = ", ".join(map(str, paths[:MAX_PATHS_NAMED]))
        names += f" and {len(paths) - MAX_PATHS_NAMED} more" if len(paths) > MAX_PATHS_NAMED else ""
        hint = "move the index into the folder of its WARC files"
        return f"{warc[:200]} may be any of {len(paths)} files with this name: {names}; {hint}"

    def _best_matches(self, warc: str, index: Path) -> list[Path]:
        name = PurePosixPath(warc)
        paths = self._paths_by_name.get(name.name, [])
        if len(paths) < 2:
            return paths
        if index in paths:  # this file was read without an index, so its lines are about its own records
            return [index]
        ranks = [(_count_equal_names(name, path), path.is_relative_to(index.parent)) for path in paths]
        return [path for path, rank in zip(paths, ranks, strict=True) if rank == max(ranks)]


def _count_equal_names(name: PurePosixPath, path: Path) -> int:
    """Return how many names at the ends of two paths are equal.

    >>> _count_equal_names(PurePosixPath("crawl-7/a.warc.gz"), Path("/data/crawl-7/a.warc.gz"))
    2
    """
    count = 0
    for part, other_part in zip(reversed(name.parts), reversed(path.parts), strict=False):
        if part != other_part:
            return count
        count += 1
    return count
