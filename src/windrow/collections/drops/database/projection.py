"""The tracker's rows as a projection of the ledger: a pure function from facts to puts.

The keys of rows are the ledger's own numbers: an action's is its listed file, a download's its attempt, an
XML file's its member, a log line's its finding. So the same facts always give the same rows, and facts
of other collections have none (specification, section "Settled").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from windrow import ledger_facts
from windrow.collections.drops import name as names
from windrow.collections.drops.database.declared import Declared, action, moment
from windrow.collections.drops.database.projection_rows import LateReference, RowMaking, RowPut, SameValues
from windrow.collections.drops.phase import phase
from windrow.collections.drops.states import ZipStates
from windrow.model import State, Status
from windrow.reasons import Reason

COLLECTION = "drops"
ZIP, XML = "zip", "xml"
"""A listed file, which is a zip with what is to be done with it, and its members, the XML files of one download."""

_QC = ("phase_id", phase("qc"))
"""Rows that quality control has taken over are not changed."""
_DOWNLOAD = phase("download")
_RUNNING = {"phase_id": _DOWNLOAD, "status_id": int(Status.RUNNING)}
_PENDING = {"phase_id": _DOWNLOAD, "status_id": int(Status.PENDING)}
_NAMED = {"phase_id": phase("xml_name"), "status_id": int(Status.PENDING)}
_LONGEST = 16_000  # characters of a message: 64 kB in the worst of encodings
_MOST_TASK = 2**15 - 1
_MOST_RETRIES = 2**8 - 1

_CHANGING = (ledger_facts.StepStarted, ledger_facts.DocumentRead, ledger_facts.Decided)
"""Facts beside attempts that change the state of their subject."""

_Write = Callable[[Any, Declared, Callable[[RowPut], None]], None]


def project_facts(facts: Iterable[ledger_facts.Fact], declared: Declared) -> list[RowPut]:
    """Return the tracker's rows for the facts, in their order, without states: see `project_states`.

    The rows of centres and sources, from `declare`, must be written first.
    """
    puts: list[RowPut] = []
    for fact in facts:
        if write := _WRITE.get(type(fact)):
            write(fact, declared, puts.append)
    return puts


def find_touched(facts: Iterable[ledger_facts.Fact]) -> set[int]:
    """Return the zips and XML files in the facts: their states may have changed."""
    items: set[int] = set()
    for fact in facts:
        if isinstance(fact, ledger_facts.FileFound | ledger_facts.MemberFound) and fact.collection == COLLECTION:
            items.add(fact.seq)
        elif isinstance(fact, ledger_facts.AttemptOpened | ledger_facts.AttemptClosed):
            if fact.subject.collection == COLLECTION:
                items.add(fact.file)
        elif isinstance(fact, _CHANGING) and fact.subject.collection == COLLECTION:
            items.add(fact.item)
    return items


def project_states(zips: Mapping[int, ZipStates], xmls: Mapping[int, State]) -> list[SameValues]:
    """Return the states of the rows of zips, of attempts at them and of XML files."""
    groups: dict[tuple[str, State], list[str]] = {}
    for item, zip_ in zips.items():
        groups.setdefault(("zip_action", zip_.shown), []).append(str(item))
        for attempt, state in zip_.downloads.items():
            groups.setdefault(("zip_download", state), []).append(str(attempt))
    for item, state in xmls.items():
        groups.setdefault(("xml_file", state), []).append(str(item))
    return [
        SameValues(table, keys, {"phase_id": phase, "status_id": int(status)}, _QC)
        for (table, (phase, status)), keys in groups.items()
    ]


def project_progress(sizes: Mapping[int, int]) -> list[RowPut]:
    """Return the progress of transfers under way; `sizes` are the bytes received so far by attempt."""
    return [
        RowPut("zip_download", str(attempt), {"downloaded_size_bytes": size}, make=RowMaking.NEVER)
        for attempt, size in sizes.items()
    ]


def _session_opened(fact: ledger_facts.SessionOpened, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    at = moment(fact.at)
    put(RowPut("crawling_session", str(fact.seq), {"start_time": at, "status": 0, "created": at}))


def _session_closed(fact: ledger_facts.SessionClosed, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    late = {}
    if fact.outcome and fact.failed is not None:
        late = {"status": LateReference("session_task", str(fact.failed), _MOST_TASK, 1)}
    values = {"finish_time": moment(fact.at), "status": int(bool(fact.outcome))}
    put(RowPut("crawling_session", str(fact.session), values, make=RowMaking.NEVER, late=late))


def _task_opened(fact: ledger_facts.TaskOpened, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    if fact.collection == COLLECTION:
        at = moment(fact.at)
        values = {"phase_id": fact.phase, "start_time": at, "status": 0, "created": at}
        values["comment"] = clean_text(fact.source, 256) or None
        put(RowPut("session_task", str(fact.seq), values, {"session_id": ("crawling_session", str(fact.session))}))


def _task_closed(fact: ledger_facts.TaskClosed, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    values: dict[str, object] = {"finish_time": moment(fact.at), "status": int(fact.failed)}
    if fact.comment:
        values["comment"] = clean_text(fact.comment, 256)
    put(RowPut("session_task", str(fact.task), values, make=RowMaking.NEVER))


def _file_found(fact: ledger_facts.FileFound, declared: Declared, put: Callable[[RowPut], None]) -> None:
    if fact.collection == COLLECTION:
        folder, _, name = fact.key.partition("/")
        put(_make_zip_file(name, declared, fact.size))
        refs = {"zip_id": ("zip_file", name.lower())}
        put(RowPut("zip_action", str(fact.seq), {"todo_id": action(folder)}, refs, _PENDING, _QC))


def _member_found(fact: ledger_facts.MemberFound, declared: Declared, put: Callable[[RowPut], None]) -> None:
    if fact.collection == COLLECTION and not names.refusal(fact.name):
        parsed = names.read_xml_name(fact.name, declared.names, declared.xml_name)
        values, refs = _name_values(parsed)
        values |= {"fname": fact.name, "size_bytes": fact.size, "content_md5": fact.md5 or None}
        refs["zip_id"] = ("zip_download", str(fact.attempt))
        put(RowPut("xml_file", str(fact.seq), values, refs, _NAMED, _QC))


def _make_zip_file(name: str, declared: Declared, size: int | None = None) -> RowPut:
    values, refs = _name_values(names.read_zip_name(name, declared.names, declared.zip_name))
    initial = {"file_name": name, "size_bytes": size}
    return RowPut("zip_file", name.lower(), values, refs, initial)


def _name_values(
    parsed: names.ZipName | names.XmlName | Reason,
) -> tuple[dict[str, object], dict[str, tuple[str, str]]]:
    """Return the values and references of a name: producer, day and increment; NULLs if the name was refused."""
    if isinstance(parsed, Reason):
        return {"centre_id": None, "created": None, "inc": None}, {}
    return {"created": parsed.date, "inc": parsed.inc}, {"centre_id": ("centre", parsed.centre.lower())}


def _listed(fact: ledger_facts.Listed, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    # A host that does not list the zip any more keeps its row: deleting it would delete its downloads.
    if _concerns(fact.subject, ZIP) and fact.event in {"listed", "refused", "changed"}:
        refs = {"za_id": ("zip_action", str(fact.file)), "file_source_id": ("file_source", fact.source)}
        put(RowPut("file_source_has_zip", _host_key(fact), {}, refs, {"num_retries": 0}, make=RowMaking.AGAIN))


def _host_key(fact: ledger_facts.Listed | ledger_facts.AttemptOpened) -> str:
    return f"{fact.file}@{fact.source}"


def _attempt_opened(fact: ledger_facts.AttemptOpened, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    if not _concerns(fact.subject, ZIP):
        return
    if fact.cut is not None:
        _put_log(
            put,
            f"cut {fact.cut}",
            ("zip_download", str(fact.cut)),
            exception_class(Reason.INTERRUPTED),
            _message_value(""),
        )
    if fact.errors:
        values = {"num_retries": min(fact.errors, _MOST_RETRIES)}
        put(RowPut("file_source_has_zip", _host_key(fact), values, make=RowMaking.NEVER))
    at = moment(fact.at)
    times = {"request": at, "received": at}
    put(
        RowPut("zip_download", str(fact.seq), times, {"zf_id": ("file_source_has_zip", _host_key(fact))}, _RUNNING, _QC)
    )


def _attempt_closed(fact: ledger_facts.AttemptClosed, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    if not _concerns(fact.subject, ZIP):
        return
    size = fact.size if fact.reason is None and fact.size is not None else fact.received
    values = {"received": moment(fact.at), "downloaded_size_bytes": size}
    put(RowPut("zip_download", str(fact.attempt), values, make=RowMaking.NEVER))
    if fact.reason is None:
        put(RowPut("zip_file", _zip_key(fact.subject), {"size_bytes": size}, make=RowMaking.NEVER))
    else:
        _put_log(
            put,
            str(fact.seq),
            ("zip_download", str(fact.attempt)),
            exception_class(fact.reason),
            _message_value(fact.message),
        )


def _document_read(fact: ledger_facts.DocumentRead, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    if fact.md5 and _concerns(fact.subject, ZIP):
        put(RowPut("zip_file", _zip_key(fact.subject), {"content_md5": fact.md5}, make=RowMaking.NEVER))


def _decided(fact: ledger_facts.Decided, declared: Declared, put: Callable[[RowPut], None]) -> None:
    if not _concerns(fact.subject, ZIP):
        return
    if fact.act is Reason.RETRIED and fact.subject.attempt is None:
        put(_make_zip_file(fact.subject.key.partition("/")[2], declared))  # its centre is known by now
    if fact.act is Reason.CANCELLED and fact.subject.attempt is not None:
        download = ("zip_download", str(fact.subject.attempt))
        _put_log(put, str(fact.seq), download, exception_class(Reason.CANCELLED), _message_value(fact.message))


def _finding_made(fact: ledger_facts.FindingMade, _declared: Declared, put: Callable[[RowPut], None]) -> None:
    if _concerns(fact.subject, ZIP) and fact.subject.attempt is not None:
        _put_log(
            put, str(fact.seq), ("zip_download", str(fact.subject.attempt)), fact.kind, _message_value(fact.message)
        )
    elif _concerns(fact.subject, XML):
        values = {**_message_value(fact.message), "line": fact.line, "col": fact.column}
        _put_log(put, str(fact.seq), ("xml_file", str(fact.item)), fact.kind, values)


def _put_log(
    put: Callable[[RowPut], None], key: str, owner: tuple[str, str], kind: str, values: Mapping[str, object]
) -> None:
    """Put a line in the log of a download or an XML file, and its class of exceptions."""
    short = clean_text(kind, 64)
    put(RowPut("an_exception", short.lower(), once={"short_name": short}, make=RowMaking.AGAIN))
    table, column = ("zip_log", "zip_id") if owner[0] == "zip_download" else ("xml_log", "xml_id")
    put(RowPut(table, key, values, {column: owner, "exception_id": ("an_exception", short.lower())}))


def _message_value(message: str) -> dict[str, object]:
    return {"message": clean_text(message) or None}


def _concerns(subject: ledger_facts.Subject, kind: str) -> bool:
    return subject.collection == COLLECTION and subject.kind == kind


def _zip_key(subject: ledger_facts.Subject) -> str:
    """Return the key of the zip that an action is about."""
    return subject.key.partition("/")[2].lower()


def exception_class(reason: Reason) -> str:
    """Return a reason as a class of the tracker's exceptions.

    >>> exception_class(Reason.LOGIN_FAILED)
    'LoginFailed'
    """
    return reason.value.title().replace("_", "")


def clean_text(raw: str, longest: int = _LONGEST) -> str:
    r"""Return a text that every database accepts: without NUL and lone surrogates, and not too long.

    >>> clean_text("a\x00b\ud800")
    'a\ufffdb?'
    """
    return raw.replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:longest]


_WRITE: dict[type, _Write] = {
    ledger_facts.SessionOpened: _session_opened,
    ledger_facts.SessionClosed: _session_closed,
    ledger_facts.TaskOpened: _task_opened,
    ledger_facts.TaskClosed: _task_closed,
    ledger_facts.FileFound: _file_found,
    ledger_facts.MemberFound: _member_found,
    ledger_facts.Listed: _listed,
    ledger_facts.AttemptOpened: _attempt_opened,
    ledger_facts.AttemptClosed: _attempt_closed,
    ledger_facts.DocumentRead: _document_read,
    ledger_facts.Decided: _decided,
    ledger_facts.FindingMade: _finding_made,
}
