"""Keep the index of the catalogue up to date with the catalogue's files, and describe what was read from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from windrow.collections.papers.catalogue import MAX_AUTHORS
from windrow.collections.papers.database.index import CatalogueFile, CatalogueIndex
from windrow.collections.papers.work_files import read_works
from windrow.engine.captures.warc_names import describe_unread, files_below, with_utf_8_names
from windrow.formats.text import counted
from windrow.ledger.sessions import RuleCount
from windrow.reasons import Reason

_MAX_NAMED_FILES = 5  # in a message


class CatalogueState(NamedTuple):
    """The result of an update of the index. `changes` and `problems` are clauses for messages, and may be empty.

    `refused` counts, by reason, the records and files that were refused, so that the index does not have them.
    """

    changes: str = ""
    problems: str = ""
    refused: tuple[RuleCount, ...] = ()


def update_index(index: CatalogueIndex, locations: Sequence[Path], pulse: Callable[[], bool]) -> CatalogueState:
    """Import new and changed files of `locations` (files and folders); remove the works of files that are gone.

    A file that cannot be read keeps its former works, and so do files below a folder that cannot be read. The files of
    a location that does not exist or is empty also keep their works: the location may be a disk that is not mounted. If
    `pulse` returns False, the update is stopped, and the works of files that are gone remain. If `locations` is empty,
    the index is not changed.
    """
    if not locations:
        count = index.count()
        return CatalogueState(
            f"no catalogue is configured, but the index has {counted(count, 'work')}" if count else ""
        )
    unread: dict[str, OSError] = {}  # by path
    files_by_location = {location: _files_in(location, unread) for location in locations}
    absent = [location for location, files in files_by_location.items() if not files and str(location) not in unread]
    paths = sorted({file for files in files_by_location.values() for file in files})
    old_files = {file.path: file for file in index.files()}
    imported_files: list[CatalogueFile] = []
    is_stopped = False
    for path in paths:
        old_file, stamp = old_files.get(str(path)), _stamp(path)
        if old_file and stamp and stamp == (old_file.problem_stamp if old_file.problem else old_file.stamp):
            continue
        new_file = index.import_file(str(path), stamp, read_works(path), pulse)
        if new_file is None:
            is_stopped = True
            break
        imported_files.append(new_file)
    existing_paths = {str(path) for path in paths}
    kept = [*absent, *map(Path, unread)]
    gone_files = [
        file for name, file in ({} if is_stopped else old_files).items()
        if name not in existing_paths and not any(Path(name).is_relative_to(location) for location in kept)
    ]  # fmt: skip
    for file in gone_files:
        index.remove_file(file.path)
    problems = [f"{location} does not exist or has no files" for location in absent]
    problems += map(describe_unread, unread.values())
    files = index.files()
    problems += [file.problem for file in files if file.problem]
    changes = _describe_changes(imported_files, gone_files, old_files)
    if is_stopped:
        changes += f"{'; ' if changes else ''}the catalogue was not read to its end, as the run was stopped"
    return CatalogueState(changes, _join(problems, "; "), tuple(_count_refused(files)))


def _count_refused(files: Sequence[CatalogueFile]) -> Iterator[RuleCount]:
    for reason, count in sorted(sum((file.refused for file in files), Counter[str]()).items()):
        example = next(file.path for file in files if file.refused[reason])
        noun = "files" if reason == Reason.UNSUPPORTED else "records"
        yield RuleCount(
            "", reason, f"{noun} of the catalogue that are refused: {Reason(reason).meaning}", count, example
        )


def _describe_changes(
    imported_files: Sequence[CatalogueFile], gone_files: Sequence[CatalogueFile], old_files: dict[str, CatalogueFile]
) -> str:
    read_files = [file for file in imported_files if not file.problem]
    clauses = []
    for file in read_files:
        old_file = old_files.get(file.path)
        clause = f"{file.path}: {counted(file.works, 'work')}"
        clause += f" ({old_file.works:,} before)" if old_file else ""
        clause += describe_losses(file)
        clauses.append(clause)
    clauses += [f"{file.path} is gone: {counted(file.works, 'work')} removed" for file in gone_files]
    if not clauses:
        return ""
    work_count = sum(file.works for file in read_files)
    total = f"the catalogue: {counted(work_count, 'work')} read from {counted(len(read_files), 'file')}"
    total += describe_losses(*read_files)
    return f"{total} ({_join(clauses, '; ')})"


def describe_losses(*files: CatalogueFile) -> str:
    """Return how many works are deleted or shortened, and how many records are repeated, or refused and why.

    The text begins with ", " or is empty.

    >>> describe_losses(CatalogueFile("", "", 3, Counter({"bad_line": 2, "not_wanted": 1}), shortened=1))
    ', 1 work shortened to 200 authors, 3 records refused: bad_line 2, not_wanted 1'
    """
    refused = sum((file.refused for file in files), Counter[str]())
    deleted, repeated = sum(file.deleted for file in files), sum(file.repeated for file in files)
    shortened = sum(file.shortened for file in files)
    clauses = [f", {counted(deleted, 'work')} declared as deleted"] if deleted else []
    clauses += [f", {counted(repeated, 'record')} replaced by later ones with the same id"] if repeated else []
    clauses += [f", {counted(shortened, 'work')} shortened to {MAX_AUTHORS} authors"] if shortened else []
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(refused.items()))
    clauses += [f", {counted(refused.total(), 'record')} refused: {reasons}"] if refused else []
    return "".join(clauses)


def _join(clauses: Sequence[str], separator: str) -> str:
    """Join at most `_MAX_NAMED_FILES` clauses; add the number of the others, if any, and the command that lists all."""
    text = separator.join(clauses[:_MAX_NAMED_FILES])
    others = len(clauses) - _MAX_NAMED_FILES
    return f"{text}{separator}and {others:,} more: windrow export paper-catalogue --as tsv" if others > 0 else text


def _files_in(location: Path, unread: dict[str, OSError]) -> list[Path]:
    """Return the files of a location. Add to `unread` the error for each file or folder that cannot be used."""
    try:
        mode = location.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        unread[str(location)] = error
        return []
    if S_ISDIR(mode):
        report: Callable[[OSError], object] = lambda error: unread.setdefault(error.filename, error)  # noqa: E731
        return [*with_utf_8_names(files_below(location, ("",), report), report)]
    return [location] if S_ISREG(mode) else []


_READER = "2"  # another version of the readers of catalogues reads all files again


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""
    return f"{_READER} {stat.st_size} {stat.st_mtime_ns}"
