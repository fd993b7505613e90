"""Find the WARC and WACZ files that a run is to import instead of harvesting sources, and prepare them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from zipfile import is_zipfile

from windrow.adapters.adapter import ImportsWarc
from windrow.archive import read_blocks
from windrow.archive.wacz import WACZ_SUFFIX, is_wacz, unpack_wacz
from windrow.archive.warc_reader import PACKED_SUFFIXES, WARC_SUFFIXES, detect_form
from windrow.caps import LIST_FILE_BYTES
from windrow.config import Workspace
from windrow.contract.registry import capable
from windrow.contract.registry import names as collection_names
from windrow.engine.captures.warc_names import CDX_NAMES, WarcNames, files_below
from windrow.engine.frontier import Preview, Waiting
from windrow.engine.run import WarcFile
from windrow.errors import ArchiveError, UsageError
from windrow.formats.cdx import CaptureColumns, CdxFault, parse_lines
from windrow.formats.text import replace_lone_surrogates
from windrow.model import CdxLine, Limits
from windrow.reasons import Reason
from windrow.settings.setting import is_name

_SUFFIXES = (*WARC_SUFFIXES, WACZ_SUFFIX)
_MAX_LIST_SIZE = LIST_FILE_BYTES.number  # bytes
_NOT_IN_SOURCE_NAME = re.compile(r"[^\w-]+", re.ASCII)


def import_collection() -> str:
    """Return the name of the collection that imports WARC files; empty if none is installed."""
    return next(iter(capable(ImportsWarc)), "")


def named_warc_files(workspace: Workspace, names: Sequence[str], source: str = "") -> tuple[WarcFile, ...]:
    """Return the WARC files among names; () if no name is a file or a folder of WARC files.

    Names of sources and collections are not taken as paths. A folder stands for all files below it whose suffix, in any
    letter case, is that of a WARC or WACZ file, or of a packed file, to which `unpack_files` gives a `problem`. A CDX
    or CDXJ file stands for the WARC files that its lines name. Any other file is a list of paths relative to its own
    folder, one on each line. Each file is imported under the source `source` or, if that is empty, under a source named
    after the file. Raises UsageError for names that cannot be imported together, if `source` is not valid, and if
    `source` is set although no WARC file is named.
    """
    harvestable_names = {*collection_names(), *(configured.name for configured in workspace.sources)}
    paths = [Path(name) for name in names if name not in harvestable_names]
    if not paths or not any(_is_importable(path) for path in paths):
        if source:
            problem = f"{paths[0]} is neither a file nor a folder of WARC files" if paths else "no file is named"
            raise UsageError(f"--source is for importing WARC files, but {problem}", hint="windrow run --help")
        return ()
    collection = import_collection()
    harvested_names = [name for name in names if name in harvestable_names and name != collection]
    if harvested_names:
        raise UsageError(
            f"{harvested_names[0]} cannot be harvested in the run that imports {paths[0]}",
            hint=f"windrow run {harvested_names[0]}, then: windrow run {paths[0]}",
        )
    other_sources = {configured.name for configured in workspace.sources if configured.collection != collection}
    if source and (not is_name(source) or source in other_sources):
        problem = "is a source of another collection" if source in other_sources else "is not a valid name of a source"
        raise UsageError(f"--source: {source[:100]!r} {problem}", hint="windrow run --help")
    given_paths = {path.resolve(): path for named_path in paths for path in _expand_path(named_path)}
    return tuple(
        WarcFile(
            given_path,
            replace_lone_surrogates(str(resolved), "backslashreplace"),
            source or _source_name(given_path, other_sources),
        )
        for resolved, given_path in given_paths.items()
    )


def _is_importable(path: Path) -> bool:
    is_named_so = path.name.lower().endswith(_SUFFIXES)
    return is_named_so or path.is_file() or (path.is_dir() and has_warc_files(path))


def has_warc_files(folder: Path) -> bool:
    """Return whether there are WARC or WACZ files below a folder."""
    return bool(files_below(folder, _SUFFIXES))


def _expand_path(path: Path) -> Iterator[Path]:
    """Yield the files that a path names: the WARC files below a folder, one file, or the files in an index or a list.

    Raise UsageError if there are none, or if the path cannot be read as any of these.
    """
    if path.is_dir():
        warc_files = files_below(path, _SUFFIXES)
        if not warc_files:
            raise UsageError(f"{path} contains no file whose name ends in {' or '.join(_SUFFIXES)}")
        yield from (*warc_files, *files_below(path, PACKED_SUFFIXES))
    elif not path.is_file():
        raise UsageError(f"there is no file {path}")
    elif path.name.lower().endswith(CDX_NAMES):
        yield from _read_index(path)
    elif path.name.lower().endswith((*_SUFFIXES, *PACKED_SUFFIXES)) or _is_warc(path) or is_wacz(path):
        yield path
    elif is_zipfile(path):
        raise UsageError(f"{path} is a zip file without WARC files in a folder archive/, so it is not a WACZ file")
    else:
        yield from _read_list(path)


def _is_warc(path: Path) -> bool:
    try:
        detect_form(path)
    except ArchiveError:
        return False
    return True


def _read_list(path: Path) -> Iterator[Path]:
    """Yield the files that the lines of a list name; `#` begins a comment. Raise UsageError if `path` is not a list."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_LIST_SIZE + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint=f"ls -l {path}") from error
    try:
        lines = [line.decode() for line in content.splitlines()]  # of a text, it would split at U+0085 and others too
    except UnicodeDecodeError:
        lines = []
    listed_paths = [path.parent / line.strip() for line in lines if line.strip() and not line.startswith("#")]
    missing_path = next((listed_path for listed_path in listed_paths if not listed_path.is_file()), None)
    if not listed_paths or len(content) > _MAX_LIST_SIZE or missing_path:
        explanation = f": it names {str(missing_path)[:200]}, which is not a file" if missing_path else ""
        explanation = f": it is larger than {_MAX_LIST_SIZE:,} bytes" if len(content) > _MAX_LIST_SIZE else explanation
        raise UsageError(f"{path} is neither a WARC file nor a list of them{explanation}")
    yield from listed_paths


def _read_index(path: Path) -> list[Path]:
    """Return the WARC files that the lines of a CDX or CDXJ file name; they must be in its folder or below it.

    Raises UsageError for a line that has no name or cannot be read, and for a name that does not identify one file.
    """
    instead = f"windrow run {quote(str(path.parent))}"
    warc_names = WarcNames()
    warc_names.add(files_below(path.parent, WARC_SUFFIXES, lambda _: None))  # a file that is not found is refused below
    named: dict[str, Path | None] = {}
    for block in read_blocks(path):
        for parsed in parse_lines(block.content.split(b"\n"), block.legend):
            names = parsed.warc if isinstance(parsed, CaptureColumns) else ()
            if isinstance(parsed, CdxLine):
                names = (parsed.warc,)
            if isinstance(parsed, CdxFault) or not all(name.strip("-") for name in names):
                line = parsed.line if isinstance(parsed, CdxFault) else "one without the name of a WARC file"
                raise UsageError(f"{path} has a line that cannot be read: {line}", hint=instead)
            named |= {name: warc_names.find(name, path) for name in names if name not in named}
    missing = [name for name, warc_path in named.items() if warc_path is None]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        place = f"{path.parent} contains no file of this name, or several"
        raise UsageError(f"{path} names {missing[0][:200]!r}{more}, but {place}", hint=instead)
    if not named:
        raise UsageError(f"{path} has no lines", hint=instead)
    return [warc_path for warc_path in named.values() if warc_path is not None]


def _source_name(path: Path, other_sources: set[str]) -> str:
    """Return the name of a WARC file's source: the file's name without suffix, and `-` for refused characters.

    If the name would not be valid, or a source of another collection has it, `warc-` is put before it. The name is cut
    to 64 characters.
    """
    stem = path.name
    for ending in _SUFFIXES:
        stem = stem[: -len(ending)] if stem.lower().endswith(ending) else stem
    name = _NOT_IN_SOURCE_NAME.sub("-", stem).strip("-_")[:64] or "warc"
    return f"warc-{name}"[:64] if name in other_sources or not is_name(name) else name


def preview_import(files: Sequence[WarcFile]) -> Preview:
    """Return the preview of an import: the files that it would read, each with its size."""
    return Preview(
        (), tuple(Waiting(file.name, file.source, str(file.path), file.path.stat().st_size) for file in files), ()
    )


def unpack_files(files: Sequence[WarcFile], folder: Path, limits: Limits) -> tuple[WarcFile, ...]:
    """Return WARC files; each WACZ file is replaced by the WARC files in it, which are unpacked into `folder`.

    What cannot be unpacked within `limits`, or is packed in a way that is not read, has a `problem`. Raises DiskFull
    unless `limits.free_space` bytes remain free on the folder's disk.
    """
    return tuple(
        warc_file for number, file in enumerate(files) for warc_file in _unpack(file, folder / str(number), limits)
    )


def _unpack(file: WarcFile, folder: Path, limits: Limits) -> Iterator[WarcFile]:
    """Yield the WARC files in a WACZ file, unpacked into the new folder `folder`.

    A file that is packed in another way, which windrow does not read, gets a `problem`. Any other file is unchanged.
    """
    name = file.path.name.lower()
    if name.endswith(PACKED_SUFFIXES) and not _is_warc(file.path):
        yield file._replace(problem=f"files packed or named like this are not read ({Reason.UNSUPPORTED})")
        return
    if not is_wacz(file.path) and (not name.endswith(WACZ_SUFFIX) or _is_warc(file.path)):
        yield file
        return
    folder.mkdir()
    for warc in unpack_wacz(file.path, folder, limits):
        path = file.path / warc.name if warc.problem else warc.path
        name = f"{file.name}/{warc.name}" if warc.name else file.name
        yield WarcFile(path, name, file.source, warc.problem)
