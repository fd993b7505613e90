"""Keep the index of the catalogue up to date with the files in its folders, and report what was taken from each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from windrow.collections.papers.database.index import CatalogueFile, CatalogueIndex
from windrow.collections.papers.work_files import read_works
from windrow.formats.text import counted

_MAX_NAMED_FILES = 5  # in a message


class CatalogueState(NamedTuple):
    """What an update of the index changed, as a clause, and what must be repaired, or empty texts."""

    changes: str = ""
    problems: str = ""


def update_index(index: CatalogueIndex, places: Sequence[Path], pulse: Callable[[], bool]) -> CatalogueState:
    """Import new and changed files below `places`, and remove the works of files that are gone.

    A file that cannot be read keeps its former works, and so do the files of a place that does not exist or is empty:
    it may be a disk that is not mounted.
    """
    if not places:
        count = index.count()
        return CatalogueState(f"no catalogue is configured, the index has {counted(count, 'work')}" if count else "")
    files_by_place = {place: _files_in(place) for place in places}
    absent = [place for place, files in files_by_place.items() if not files]
    paths = sorted({file for files in files_by_place.values() for file in files})
    earlier = {file.path: file for file in index.files()}
    imported: list[CatalogueFile] = []
    for path in paths:
        file, stamp = earlier.get(str(path)), _stamp(path)
        if file and stamp and stamp == (file.problem_stamp if file.problem else file.stamp):
            continue
        new_file = index.import_file(str(path), stamp, read_works(path), pulse)
        if new_file is None:
            return CatalogueState("the catalogue is not read to its end")
        imported.append(new_file)
    kept = {str(path) for path in paths}
    gone = [
        file for name, file in earlier.items()
        if name not in kept and not any(Path(name).is_relative_to(place) for place in absent)
    ]  # fmt: skip
    for file in gone:
        index.remove_file(file.path)
    problems = [f"{place} does not exist or has no files" for place in absent]
    problems += [file.problem for file in index.files() if file.problem]
    return CatalogueState(_describe_changes(imported, gone, earlier), _join(problems, "; "))


def _describe_changes(
    imported: Sequence[CatalogueFile], gone: Sequence[CatalogueFile], earlier: dict[str, CatalogueFile]
) -> str:
    """Return a clause on the files that were imported, each with its counts and its former works, and on those gone."""
    read = [file for file in imported if not file.problem]
    clauses = []
    for file in read:
        before = earlier.get(file.path)
        text = f"{file.path}: {counted(file.works, 'work')}"
        text += f" ({before.works:,} before)" if before else ""
        text += f", {describe_refused(file.refused)}" if file.refused else ""
        clauses.append(text)
    clauses += [f"{file.path} is gone: {counted(file.works, 'work')} removed" for file in gone]
    if not clauses:
        return ""
    refused = sum((file.refused for file in read), Counter[str]())
    total = f"the catalogue: {counted(sum(file.works for file in read), 'work')} read from {counted(len(read), 'file')}"
    total += f", {describe_refused(refused)}" if refused else ""
    return f"{total} ({_join(clauses, '; ')})"


def describe_refused(refused: Counter[str]) -> str:
    """Return the numbers of refused records by reason.

    >>> describe_refused(Counter({"bad_line": 2, "not_wanted": 1}))
    '3 records refused: bad_line 2, not_wanted 1'
    """
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(refused.items()))
    return f"{counted(refused.total(), 'record')} refused: {reasons}"


def _join(clauses: Sequence[str], separator: str) -> str:
    """Join the first clauses; the number of the others is at the end, with the command that lists all."""
    text = separator.join(clauses[:_MAX_NAMED_FILES])
    others = len(clauses) - _MAX_NAMED_FILES
    return f"{text}{separator}and {others:,} more: windrow export paper-catalogue --as tsv" if others > 0 else text


def _files_in(place: Path) -> list[Path]:
    """Return the files in a folder, or a file itself, or none if the path does not exist."""
    if place.is_dir():
        return [file for file in place.rglob("*") if file.is_file()]
    return [place] if place.is_file() else []


def _stamp(path: Path) -> str:
    """Return the size and time of a file, or an empty text if it cannot be examined."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{stat.st_size} {stat.st_mtime_ns}"
