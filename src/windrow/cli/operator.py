"""`windrow retry`, `cancel`, `forget` and `check`: the operator's commands."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from windrow.cli.command import Console, command, option
from windrow.cli.options import complete_reasons, complete_sources
from windrow.errors import UsageError
from windrow.formats.text import counted, spell_size, table
from windrow.renamed import REASONS, current_name

if TYPE_CHECKING:
    from windrow.adapters.adapter import TakedownEstimate
    from windrow.app import Windrow

_EFFECTS = {"retry": ("put back to be fetched or read again", "windrow run"), "cancel": ("cancelled", "windrow status")}
"""For each decision: what was done to the items, and the next command."""


def _decide(decision: str, console: Console, names: tuple[str, ...], **selection: Any) -> int:
    workspace = console.open()
    items = (workspace.retry if decision == "retry" else workspace.cancel)(names, **selection)
    counts = Counter(item.key for item in items)
    for item in items:
        if console.json:
            phase, status = item.state
            console.message(
                decision, {"key": item.key, "source": item.source, "phase": phase, "status": status.name.lower()}
            )
        else:
            console.print(f"{item.key} (source {item.source})" if counts[item.key] > 1 else item.key)
    if not items:
        console.inform(f"there is nothing to {decision}")
        if decision == "retry" and (left_out := _count_left_out(workspace, selection["reason"])):
            console.inform(
                f"reading left out {counted(left_out, 'record')} for this reason; to read all again: windrow replay"
            )
        return 0
    effect, next_command = _EFFECTS[decision]
    effect = f"would be {effect}" if selection["dry_run"] else effect
    console.inform(f"{counted(len(items), 'item')} {effect}; next: {next_command}")
    return 0


def _count_left_out(workspace: Windrow, reason: str) -> int:
    """Return how many records of documents that were read are left out for a reason: no request gets them."""
    counts = {count.reason: count.items for count in workspace.status().not_read} if reason else {}
    return counts.get(current_name(REASONS, reason), 0)


def _selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorator in (
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        option("--source", default="", metavar="SOURCE", shell_complete=complete_sources, section="Which",
               help="Items of this source."),
        option("--reason", default="", metavar="WORD", shell_complete=complete_reasons, section="Which",
               help="Items that have this reason."),
        option("--dry-run", is_flag=True, help="Only list the items."),
    ):  # fmt: skip
        function = decorator(function)
    return function


@command(
    "retry",
    examples=[
        "windrow retry https://example.org/a/page",
        "windrow retry --reason timeout --dry-run",
        "windrow retry --service grobid",
    ],
)
@_selection_options
@option(
    "--service",
    default="",
    metavar="SERVICE",
    section="Which",
    help="Send documents to this service, such as grobid, again.",
)
def retry_command(console: Console, names: tuple[str, ...], **selection: Any) -> int:
    """Put failed or cancelled items back: the next run fetches them again, or reads them if a reader failed.

    NAME is a file's name, `add/NAME` if it is offered for several actions, or the address of a page.
    Without names, failed and cancelled items with this source and reason are selected, except those of sources that are
    no longer declared. Loaded records are kept. A document of which reading left out records, for example because of
    their dates, has not failed: with changed settings, `windrow replay` reads it again. With --service, NAME is the key
    of a record, and WORD is the reason that the service gave in its last answer; without both, the service is asked
    again about every document. Its earlier answers are kept until it has answered again.
    """
    return _decide("retry", console, names, **selection)


@command("cancel", examples=["windrow cancel https://example.org/a/page", "windrow cancel --source blog --dry-run"])
@_selection_options
def cancel_command(console: Console, names: tuple[str, ...], **selection: Any) -> int:
    """Stop work on items: they remain in their phase until `windrow retry`.

    NAME is a file's name, `add/NAME` if it is offered for several actions, or the address of a page.
    Without names, waiting items with this source and reason are selected. Loaded records are kept.
    """
    return _decide("cancel", console, names, **selection)


@command(
    "forget",
    examples=[
        "windrow forget https://example.org/a/page --reason 'asked by its author'",
        "windrow forget example.org --dry-run",
        "windrow forget https://example.org/a/page --lift",
    ],
)
@click.argument("names", nargs=-1, metavar="[X]...", shell_complete=complete_sources)
@option("--reason", default="", metavar="TEXT", help="The reason, which is stored; `windrow why` shows it.")
@option("--yes", is_flag=True, help="Do not ask for confirmation.")
@option("--dry-run", "dry", is_flag=True, help="Only list what would be removed.")
@option("--lift", is_flag=True, help="Allow X to be fetched again; what was removed is not restored.")
def forget_command(console: Console, names: tuple[str, ...], **flags: object) -> int:
    """Take pages and sites down: remove their bytes, texts, versions and index entries.

    X is the address of a page, a host, or a site of windrow.toml. Its records in the archive are overwritten; other
    records, and other pages with the same text, are not changed. Records that other collections read from the same
    captures are removed too. A tombstone with the time, the reason and the user remains, and X is not fetched again.
    Without X, this command finishes takedowns that were killed, or that could not remove everything because another
    process was reading a database.
    """
    workspace = console.open()
    if flags["lift"]:
        return _lift(console, workspace, names)
    estimates = workspace.would_forget(names)
    if names:
        _print_estimates(console, estimates, in_full=bool(flags["dry"] or not flags["yes"]))
    if flags["dry"]:
        return 0
    if names and not flags["yes"]:  # without names, it finishes takedowns that were confirmed before
        _confirm(len(estimates))
    takedowns = workspace.forget(names, str(flags["reason"]))
    for takedown in takedowns:
        if console.json:
            console.message("forgotten", takedown)
        else:
            captures, versions = counted(takedown.captures, "capture"), counted(takedown.records, "version")
            removed = f"{captures}, {spell_size(takedown.bytes)} in total, {versions}"
            console.print(f"{takedown.target}: {'removed' if takedown.done else 'partly removed'}: {removed}")
        for message in takedown.errors:
            console.inform(f"{takedown.target}: {message}")
    if not takedowns:
        console.inform("there is no takedown to finish")
    return 1 if any(takedown.errors for takedown in takedowns) else 0


def _print_estimates(console: Console, estimates: Sequence[TakedownEstimate], *, in_full: bool) -> None:
    """Print the estimates if `in_full`, and in any case of which targets several sources would lose something."""
    if in_full and console.json:
        for estimate in estimates:
            console.message("would_forget", estimate)
    elif in_full:
        head = ["target", "addresses", "attempts", "captures", "size"]
        console.print(table(head, [(*estimate[:4], spell_size(estimate.bytes)) for estimate in estimates]))
    for estimate in estimates:
        if len(estimate.sources) > 1:
            names = ", ".join(estimate.sources)
            console.inform(f"{estimate.target}: it is removed from all sources that have it: {names}")


def _lift(console: Console, workspace: Windrow, names: tuple[str, ...]) -> int:
    count, standing = workspace.lift(names), workspace.taken_down(names)
    if console.json:
        console.message("lifted", {"tombstones": count, "standing": standing})
    lifted = f"{counted(count, 'target')} may be fetched again; next: windrow run"
    console.inform(lifted if count else "nothing was lifted: none of the targets is taken down under this name")
    for target in standing:
        console.inform(f"still taken down, since it was named otherwise: {target}")
    return 0


def _confirm(count: int) -> None:
    if not sys.stdin.isatty():
        message = "the takedown cannot be confirmed: standard input is not a terminal"
        raise UsageError(message, hint="windrow forget --yes, or --dry-run")
    target = "this" if count == 1 else f"these {count}"
    click.confirm(f"Take {target} down? This cannot be undone.", abort=True, err=True)


@command("check", examples=["windrow check", "windrow check --sandbox", "windrow check ../articles"])
@click.argument("place", nargs=-1, metavar="[[COLLECTION] FOLDER]")
@option("--sandbox", is_flag=True, help="Test this machine's sandbox for processes that read or fetch documents.")
def check_command(console: Console, place: tuple[str, ...], sandbox: bool) -> int:
    """Read every capture back, and compare ledger, archive and projections.

    With a FOLDER: check the files in it against a collection's standard, whoever wrote them; no workspace is needed.
    With --sandbox: show how the kernel restricts the processes that read or fetch documents, and which forbidden acts
    it does not refuse to them; no workspace is needed. Each fault is a line; if there is one, the exit code is 1.
    """
    if sandbox:
        if place:
            raise UsageError("--sandbox tests this machine; it does not check a folder", hint="windrow check --help")
        return _check_sandbox(console)
    if place:
        return _check_tree(console, place)
    checkup = console.open().check()
    for fault in checkup.faults:
        if console.json:
            console.message("fault", fault)
        else:
            console.print(f"{fault.location}: {fault.problem}" + (f" ({fault.hint})" if fault.hint else ""))
    if console.json:
        counts = {"captures": checkup.captures, "bytes": checkup.bytes, "faults": len(checkup.faults)}
        console.message("check", counts)
    result = counted(len(checkup.faults), "fault") if checkup.faults else "all agree"
    console.inform(f"{counted(checkup.captures, 'capture')} read back, {checkup.bytes:,} bytes in total: {result}")
    return 1 if checkup.faults else 0


def _check_sandbox(console: Console) -> int:
    from windrow.engine.steps.sandbox import try_sandbox  # noqa: PLC0415 `--help` needs no engine

    trial, fetcher_trial = try_sandbox(), try_sandbox(is_fetcher=True)
    fault_count = len(trial.allowed) + len(fetcher_trial.allowed)
    if console.json:
        allowed = {"allowed": list(trial.allowed), "allowed_to_fetchers": list(fetcher_trial.allowed)}
        console.message("sandbox", {**trial.sandbox._asdict(), **allowed})
        return 1 if fault_count else 0
    no_new_privs, landlock, seccomp = trial.sandbox
    console.print(f"no_new_privs: {'yes' if no_new_privs else 'no'}")
    console.print(f"Landlock: {f'version {landlock}' if landlock else 'no (not in the kernel, or switched off)'}")
    console.print(f"seccomp: {'yes' if seccomp else 'no'}")
    for act_name in trial.allowed:
        console.print(f"not refused to processes that read documents: {act_name}")
    for act_name in fetcher_trial.allowed:
        console.print(f"not refused to processes that fetch documents: {act_name}")
    console.inform(counted(fault_count, "fault") if fault_count else "every act that was tried is refused")
    return 1 if fault_count else 0


def _check_tree(console: Console, arguments: tuple[str, ...]) -> int:
    from windrow.app.check import check_tree  # noqa: PLC0415 `--help` needs no collection

    file_count = fault_count = byte_count = 0
    collection, faults_and_sizes = check_tree(arguments)
    for fault_or_size in faults_and_sizes:
        if isinstance(fault_or_size, int):
            file_count, byte_count = file_count + 1, byte_count + fault_or_size
            continue
        fault_count += 1
        if console.json:
            console.message("fault", fault_or_size)
        else:
            console.print(f"{fault_or_size.location}: {fault_or_size.problem}")
    if console.json:
        counts = {"files": file_count, "bytes": byte_count, "faults": fault_count}
        console.message("folder_check", {"collection": collection, **counts})
    result = counted(fault_count, "fault") if fault_count else "all follow the standard"
    result += f" of {collection}" if not fault_count else f" by the standard of {collection}"
    console.inform(f"{counted(file_count, 'file')}, {byte_count:,} bytes in total: {result}")
    return 1 if fault_count else 0
