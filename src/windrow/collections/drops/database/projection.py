"""The tracker's rows as a projection of the ledger: pure functions from facts to row changes.

The key of a row is taken from the ledger. For a `zip_file`, it is the name in lower case; for a `zip_action`, it is the
number of the listed file; for a `zip_download`, that of the attempt; and for an `xml_file`, that of the member. So the
same facts always produce the same rows. Facts about items of other collections produce no rows (specification, section
"Settled").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from windrow import ledger_facts
from windrow.collections.drops import name as names
from windrow.collections.drops.collection import COLLECTION, XML_KIND, ZIP_KIND
from windrow.collections.drops.database.declared import Declarations, action_id, tracker_time
from windrow.collections.drops.database.projection_rows import Insert, LateReference, RowChange, SharedChange
from windrow.collections.drops.phase import phase_id
from windrow.collections.drops.states import ZipStates
from windrow.model import State, Status
from windrow.reasons import Reason

_UNLESS_IN_QC = ("phase_id", phase_id("qc"))
"""A column and a value: rows with this value are not changed, because quality control has taken them over."""
_DOWNLOAD_PHASE = phase_id("download")
_RUNNING_STATE = {"phase_id": _DOWNLOAD_PHASE, "status_id": int(Status.RUNNING)}
_PENDING_STATE = {"phase_id": _DOWNLOAD_PHASE, "status_id": int(Status.PENDING)}
_NAMED_STATE = {"phase_id": phase_id("xml_name"), "status_id": int(Status.PENDING)}
_MAX_MESSAGE_LENGTH = 16_000  # characters of a message: 64 kB in the worst encoding
_MAX_SMALLINT = 2**15 - 1  # the greatest value of the column `status` of sessions
_MAX_RETRIES = 2**8 - 1  # the greatest value of the column `num_retries`

_STATE_CHANGING_FACTS = (ledger_facts.StepStarted, ledger_facts.DocumentRead, ledger_facts.Decided)
"""Types of facts that may change the state of the zip or XML file `item`; `find_touched` also handles others."""

_AddChange = Callable[[RowChange], None]
_ProjectFact = Callable[[Any, Declarations, _AddChange], None]


def project_facts(facts: Iterable[ledger_facts.Fact], declarations: Declarations) -> list[RowChange]:
    """Return the changes to the tracker's rows for these facts, in order. They set states only in new rows.

    The rows of centres and sources, from `make_declared_rows`, must be written before these changes.
    """
    changes: list[RowChange] = []
    for fact in facts:
        if project_fact := _FACT_PROJECTIONS.get(type(fact)):
            project_fact(fact, declarations, changes.append)
    return changes


def find_touched(facts: Iterable[ledger_facts.Fact]) -> set[int]:
    """Return the numbers on the ledger of the zips and XML files whose states these facts may have changed."""
    items: set[int] = set()
    for fact in facts:
        if isinstance(fact, ledger_facts.FileFound | ledger_facts.MemberFound) and fact.collection == COLLECTION.name:
            items.add(fact.seq)
        elif isinstance(fact, ledger_facts.AttemptOpened | ledger_facts.AttemptClosed):
            if fact.subject.collection == COLLECTION.name:
                items.add(fact.file)
        elif isinstance(fact, _STATE_CHANGING_FACTS) and fact.subject.collection == COLLECTION.name:
            items.add(fact.item)
    return items


def project_states(
    zip_states_by_item: Mapping[int, ZipStates], xml_states_by_item: Mapping[int, State]
) -> list[SharedChange]:
    """Return the changes that write these states to the rows of zips, attempts and XML files."""
    keys_by_state: dict[tuple[str, State], list[str]] = {}
    for item, zip_states in zip_states_by_item.items():
        keys_by_state.setdefault(("zip_action", zip_states.shown), []).append(str(item))
        for attempt, state in zip_states.attempt_states.items():
            keys_by_state.setdefault(("zip_download", state), []).append(str(attempt))
    for item, state in xml_states_by_item.items():
        keys_by_state.setdefault(("xml_file", state), []).append(str(item))
    return [
        SharedChange(table, keys, {"phase_id": phase, "status_id": int(status)}, _UNLESS_IN_QC)
        for (table, (phase, status)), keys in keys_by_state.items()
    ]


def project_progress(sizes: Mapping[int, int]) -> list[RowChange]:
    """Return the changes that write the progress of transfers; `sizes` is a dict from attempt to bytes received."""
    return [
        RowChange("zip_download", str(attempt), {"downloaded_size_bytes": size}, insert=Insert.NEVER)
        for attempt, size in sizes.items()
    ]


def _project_session_opened(fact: ledger_facts.SessionOpened, _: Declarations, add_change: _AddChange) -> None:
    opened_at = tracker_time(fact.at)
    add_change(
        RowChange("crawling_session", str(fact.seq), {"start_time": opened_at, "status": 0, "created": opened_at})
    )


def _project_session_closed(fact: ledger_facts.SessionClosed, _: Declarations, add_change: _AddChange) -> None:
    late_references = {}
    if fact.outcome and fact.failed is not None:
        status = LateReference("session_task", str(fact.failed), max_id=_MAX_SMALLINT, substitute=1)
        late_references = {"status": status}
    values = {"finish_time": tracker_time(fact.at), "status": int(bool(fact.outcome))}
    row = ("crawling_session", str(fact.session))
    add_change(RowChange(*row, values, insert=Insert.NEVER, late_references=late_references))


def _project_task_opened(fact: ledger_facts.TaskOpened, _: Declarations, add_change: _AddChange) -> None:
    if fact.collection == COLLECTION.name:
        opened_at = tracker_time(fact.at)
        values = {"phase_id": fact.phase, "start_time": opened_at, "status": 0, "created": opened_at}
        values["comment"] = clean_text(fact.source, 256) or None
        references = {"session_id": ("crawling_session", str(fact.session))}
        add_change(RowChange("session_task", str(fact.seq), values, references))


def _project_task_closed(fact: ledger_facts.TaskClosed, _: Declarations, add_change: _AddChange) -> None:
    values: dict[str, object] = {"finish_time": tracker_time(fact.at), "status": int(fact.failed)}
    if fact.comment:
        values["comment"] = clean_text(fact.comment, 256)
    add_change(RowChange("session_task", str(fact.task), values, insert=Insert.NEVER))


def _project_file_found(fact: ledger_facts.FileFound, declarations: Declarations, add_change: _AddChange) -> None:
    if fact.collection == COLLECTION.name:
        folder, _, name = fact.key.partition("/")
        add_change(_make_zip_row(name, declarations.names_for(fact.reason), declarations, fact.size))
        values, references = {"todo_id": action_id(folder)}, {"zip_id": ("zip_file", name.lower())}
        add_change(RowChange("zip_action", str(fact.seq), values, references, _PENDING_STATE, _UNLESS_IN_QC))


def _project_member_found(fact: ledger_facts.MemberFound, declarations: Declarations, add_change: _AddChange) -> None:
    if fact.collection == COLLECTION.name and not names.refusal_reason(fact.name):
        name_parts = names.read_xml_name(fact.name, declarations.names_for(fact.reason), declarations.xml_name)
        values, references = _make_name_values(name_parts)
        values |= {"fname": fact.name, "size_bytes": fact.size, "content_md5": fact.md5 or None}
        references["zip_id"] = ("zip_download", str(fact.attempt))
        add_change(RowChange("xml_file", str(fact.seq), values, references, _NAMED_STATE, _UNLESS_IN_QC))


def _make_zip_row(name: str, centres: Iterable[str], declarations: Declarations, size: int | None = None) -> RowChange:
    values, references = _make_name_values(names.read_zip_name(name, centres, declarations.zip_name))
    initial_values = {"file_name": name, "size_bytes": size}
    return RowChange("zip_file", name.lower(), values, references, initial_values)


def _make_name_values(
    name_parts: names.ZipName | names.XmlName | Reason,
) -> tuple[dict[str, object], dict[str, tuple[str, str]]]:
    """Return values and references for the parts of a file's name. If the name was refused, the values are None."""
    if isinstance(name_parts, Reason):
        return {"centre_id": None, "created": None, "inc": None}, {}
    return {"created": name_parts.date, "inc": name_parts.inc}, {"centre_id": ("centre", name_parts.centre.lower())}


def _project_listed(fact: ledger_facts.Listed, _: Declarations, add_change: _AddChange) -> None:
    # A source that no longer lists the zip keeps its row: deleting it would delete its downloads.
    if _is_about(fact.subject, ZIP_KIND) and fact.event in {"listed", "refused", "changed"}:
        references = {"za_id": ("zip_action", str(fact.file)), "file_source_id": ("file_source", fact.source)}
        row = ("file_source_has_zip", _mirror_row_key(fact))
        add_change(RowChange(*row, {}, references, {"num_retries": 0}, insert=Insert.AGAIN))


def _mirror_row_key(fact: ledger_facts.Listed | ledger_facts.AttemptOpened) -> str:
    return f"{fact.file}@{fact.source}"


def _project_attempt_opened(fact: ledger_facts.AttemptOpened, _: Declarations, add_change: _AddChange) -> None:
    if not _is_about(fact.subject, ZIP_KIND):
        return
    if fact.cut is not None:
        download = ("zip_download", str(fact.cut))
        _add_log_line(add_change, f"cut {fact.cut}", download, Reason.INTERRUPTED.class_name, "")
    if fact.errors:
        values = {"num_retries": min(fact.errors, _MAX_RETRIES)}
        add_change(RowChange("file_source_has_zip", _mirror_row_key(fact), values, insert=Insert.NEVER))
    opened_at = tracker_time(fact.at)
    times = {"request": opened_at, "received": opened_at}
    references = {"zf_id": ("file_source_has_zip", _mirror_row_key(fact))}
    add_change(RowChange("zip_download", str(fact.seq), times, references, _RUNNING_STATE, _UNLESS_IN_QC))


def _project_attempt_closed(fact: ledger_facts.AttemptClosed, _: Declarations, add_change: _AddChange) -> None:
    if not _is_about(fact.subject, ZIP_KIND):
        return
    size = fact.size if fact.reason is None and fact.size is not None else fact.received
    values = {"received": tracker_time(fact.at), "downloaded_size_bytes": size}
    download = ("zip_download", str(fact.attempt))
    add_change(RowChange(*download, values, insert=Insert.NEVER))
    if fact.reason is None:
        add_change(RowChange("zip_file", _zip_row_key(fact.subject), {"size_bytes": size}, insert=Insert.NEVER))
    else:
        _add_log_line(add_change, str(fact.seq), download, fact.reason.class_name, fact.message)


def _project_document_read(fact: ledger_facts.DocumentRead, _: Declarations, add_change: _AddChange) -> None:
    if fact.md5 and _is_about(fact.subject, ZIP_KIND):
        add_change(RowChange("zip_file", _zip_row_key(fact.subject), {"content_md5": fact.md5}, insert=Insert.NEVER))


def _project_decision(fact: ledger_facts.Decided, declarations: Declarations, add_change: _AddChange) -> None:
    if not _is_about(fact.subject, ZIP_KIND):
        return
    if fact.act is Reason.RETRIED and fact.subject.attempt is None:
        # Its centre may be declared by now.
        add_change(_make_zip_row(fact.subject.key.partition("/")[2], declarations.names_for(None), declarations))
    if fact.act is Reason.CANCELLED and fact.subject.attempt is not None:
        download = ("zip_download", str(fact.subject.attempt))
        _add_log_line(add_change, str(fact.seq), download, Reason.CANCELLED.class_name, fact.message)


def _project_finding_made(fact: ledger_facts.FindingMade, _: Declarations, add_change: _AddChange) -> None:
    if _is_about(fact.subject, ZIP_KIND) and fact.subject.attempt is not None:
        _add_log_line(add_change, str(fact.seq), ("zip_download", str(fact.subject.attempt)), fact.kind, fact.message)
    elif _is_about(fact.subject, XML_KIND):
        xml_row = ("xml_file", str(fact.item))
        _add_log_line(add_change, str(fact.seq), xml_row, fact.kind, fact.message, line=fact.line, col=fact.column)


def _add_log_line(
    add_change: _AddChange,
    key: str,
    owner_row: tuple[str, str],
    finding_kind: str,
    message: str,
    **position: int | None,
) -> None:
    """Add the changes for a line in the log of a download or an XML file, and for the kind of its finding.

    `owner_row` is the download or XML file as (table, key), and `key` is the key of the line. `position` has the `line`
    and `col` of a finding in an XML file.
    """
    exception_name = clean_text(finding_kind, 64)
    initial_values = {"short_name": exception_name}
    exception_row = ("an_exception", exception_name.lower())
    add_change(RowChange(*exception_row, initial_values=initial_values, insert=Insert.AGAIN))
    table, owner_column = ("zip_log", "zip_id") if owner_row[0] == "zip_download" else ("xml_log", "xml_id")
    values = {"message": clean_text(message) or None, **position}
    add_change(RowChange(table, key, values, {owner_column: owner_row, "exception_id": exception_row}))


def _is_about(subject: ledger_facts.Subject, kind: str) -> bool:
    return subject.collection == COLLECTION.name and subject.kind == kind


def _zip_row_key(subject: ledger_facts.Subject) -> str:
    return subject.key.partition("/")[2].lower()


def clean_text(raw: str, max_length: int = _MAX_MESSAGE_LENGTH) -> str:
    r"""Return a text that every database accepts: without NULs and lone surrogates, and cut to `max_length` characters.

    >>> clean_text("a\x00b\ud800")
    'a\ufffdb?'
    """
    return raw.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:max_length]


_FACT_PROJECTIONS: dict[type, _ProjectFact] = {
    ledger_facts.SessionOpened: _project_session_opened,
    ledger_facts.SessionClosed: _project_session_closed,
    ledger_facts.TaskOpened: _project_task_opened,
    ledger_facts.TaskClosed: _project_task_closed,
    ledger_facts.FileFound: _project_file_found,
    ledger_facts.MemberFound: _project_member_found,
    ledger_facts.Listed: _project_listed,
    ledger_facts.AttemptOpened: _project_attempt_opened,
    ledger_facts.AttemptClosed: _project_attempt_closed,
    ledger_facts.DocumentRead: _project_document_read,
    ledger_facts.Decided: _project_decision,
    ledger_facts.FindingMade: _project_finding_made,
}
