"""`windrow try`: read one thing and keep nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from windrow.cli.kind import kind_names, kinds
from windrow.cli.verb import option, verb
from windrow.cli.voice import Voice
from windrow.display import counted, show
from windrow.errors import NotAWorkspace

if TYPE_CHECKING:
    from windrow.adapter import Part
    from windrow.config import Workspace


@verb(
    "try",
    examples=[
        "windrow try https://example.org/a/page --as KIND",
        "windrow try ./a/file --as KIND --json",
    ],
    declared=True,
)
@click.argument("address", metavar="ADDRESS")
@option("--as", "kind", metavar="KIND", required=True, shell_complete=kinds, values=kind_names,
        help="Read it as this collection does.")  # fmt: skip
@option("--limit", type=click.IntRange(0), metavar="N", default=20, show_default=True,
        help="Print at most N records and N findings of a document; --json prints all.")  # fmt: skip
def command(voice: Voice, address: str, kind: str, limit: int) -> int:
    """Read one file or address, and print what is in it.

    ADDRESS is a file, an archive, a page or a document by itself, or an address of a server; one below a
    source of this workspace is reached with that source's own access. Members, findings with their
    line and column, and records are printed; nothing is written. Without a workspace, the standard's
    own schemas and centres are used. The exit code is 1 where something was refused.
    """
    from windrow.adapter import Document, Got  # noqa: PLC0415
    from windrow.registry import adapter  # noqa: PLC0415

    refused = False
    printer = _Printer(voice, limit)
    for part in adapter(kind).attempt(_workspace(voice), address):
        refused |= isinstance(part, Document | Got) and part.reason is not None
        if voice.json:
            voice.message(type(part).__name__.lower(), part, omit_empty=True)
        else:
            printer.tell(part)
    return int(refused)


def _workspace(voice: Voice) -> Workspace | None:
    try:
        return voice.open().config
    except NotAWorkspace:
        if voice.workspace:
            raise
        return None


class _Printer:
    """Prints parts as they come, the many of a kind cut short."""

    def __init__(self, voice: Voice, limit: int) -> None:
        self._voice = voice
        self._limit = limit
        self._shown: dict[tuple[str, str], int] = {}

    def tell(self, part: Part) -> None:
        """Print one part."""
        name = type(part).__name__
        getattr(self, f"_{name.lower()}")(part)

    def _got(self, part: Any) -> None:
        self._voice.talk(f"{part.address}: {part.size:,} bytes, {part.digest}, in {part.seconds:.2f} s")
        if part.reason:
            self._voice.data(f"its name would be refused: {part.reason.meaning}")

    def _note(self, part: Any) -> None:
        place = f"{part.line}" if part.line is not None else ""
        place += f":{part.column}" if place and part.column is not None else ""
        self._few("findings", part.document, f"  {part.level} {place} {part.kind}: {part.message}")

    def _record(self, part: Any) -> None:
        fields = ", ".join(f"{name}={show(value)}" for name, value in part.fields.items())
        self._few("records", part.document, f"  {part.kind} {part.identifier}  {fields}")

    def _document(self, part: Any) -> None:
        for what in ("findings", "records"):
            count = self._shown.get((what, part.name), 0)
            if count > self._limit:
                self._voice.data(f"  ... {count - self._limit:,} more {what}")
        end = f"refused at {part.phase}: {part.reason.meaning}" if part.reason else f"good up to {part.phase}"
        self._voice.data(f"{part.name}: {show(part.size)} bytes, {counted(part.records, 'record')}, {end}")

    def _few(self, what: str, document: str, line: str) -> None:
        count = self._shown[what, document] = self._shown.get((what, document), 0) + 1
        if count <= self._limit:
            self._voice.data(" ".join(line.split(" ")))
