"""The home of drops: the tracker as a matrix of centre by phase by status, its zips, XML files and findings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from windrow.adapters.home import (
    Cell,
    Fact,
    Facts,
    Home,
    HomeLink,
    HomeTable,
    HomeView,
    Matrix,
    MatrixCount,
    MatrixRow,
    Part,
    read_start,
    refuse_unknown,
    refuse_unread,
    unknown_name,
)
from windrow.collections.drops.adapter.export import open_tracker
from windrow.collections.drops.collection import COLLECTION
from windrow.collections.drops.phase import PHASES
from windrow.config import Workspace
from windrow.errors import UsageError, WindrowError
from windrow.ledger import Ledger
from windrow.reasons import Reason
from windrow.stores.databases import map_errors

_TRACKER, _ZIPS, _XMLS = "tracker", "zips", "XML files"
_NO_CENTRE = "no centre"  # of files whose names have none
_PAGE_FILES = 50
_MAX_ROWS = 500  # of a table about one zip
_MAX_FINDINGS = 200  # about an XML file, on one page

_STATUSES = sa.text("SELECT id, short_name, description, rgba FROM a_status ORDER BY id")
_COUNT_ZIPS = sa.text("""
SELECT c.short_name, a.phase_id, a.status_id, count(*) FROM zip_action a JOIN zip_file z ON z.id = a.zip_id
LEFT JOIN centre c ON c.id = z.centre_id GROUP BY c.short_name, a.phase_id, a.status_id ORDER BY c.short_name
""")
_COUNT_XMLS = sa.text("""
SELECT c.short_name, n.phase_id, n.status_id, n.number FROM (
    SELECT centre_id, phase_id, status_id, count(*) AS number FROM xml_file GROUP BY centre_id, phase_id, status_id
) n LEFT JOIN centre c ON c.id = n.centre_id ORDER BY c.short_name
""")
_LIST_ZIPS = sa.text("""
SELECT a.id, z.file_name, t.short_name, coalesce(c.short_name, :none), p.short_name, s.short_name, z.size_bytes
FROM zip_action a JOIN zip_file z ON z.id = a.zip_id JOIN processing_type t ON t.id = a.todo_id
LEFT JOIN centre c ON c.id = z.centre_id JOIN phase p ON p.id = a.phase_id JOIN a_status s ON s.id = a.status_id
WHERE a.id < :before AND (:centre = '' OR coalesce(c.short_name, :none) = :centre)
    AND (:phase = '' OR p.short_name = :phase) AND (:status = '' OR s.short_name = :status)
ORDER BY a.id DESC LIMIT :most
""")
_JOINED_XMLS = """
FROM xml_file x JOIN zip_download d ON d.id = x.zip_id JOIN file_source_has_zip f ON f.id = d.zf_id
JOIN zip_action a ON a.id = f.za_id JOIN zip_file z ON z.id = a.zip_id JOIN processing_type t ON t.id = a.todo_id
LEFT JOIN centre c ON c.id = x.centre_id JOIN phase p ON p.id = x.phase_id JOIN a_status s ON s.id = x.status_id
"""
_LIST_XMLS = sa.text(f"""
SELECT x.id, z.file_name, x.fname, coalesce(c.short_name, :none), p.short_name, s.short_name, x.size_bytes
{_JOINED_XMLS}
WHERE x.id < :before AND (:centre = '' OR coalesce(c.short_name, :none) = :centre)
    AND (:phase = '' OR p.short_name = :phase) AND (:status = '' OR s.short_name = :status)
ORDER BY x.id DESC LIMIT :most
""")
_FIND_ZIP = sa.text("""
SELECT z.id, z.file_name, c.short_name, z.created, z.inc, z.size_bytes, z.content_md5
FROM zip_file z LEFT JOIN centre c ON c.id = z.centre_id WHERE z.file_name = :name
""")
_TRANSFERS = sa.text("""
SELECT t.short_name, o.hostname, d.request, d.received, d.downloaded_size_bytes, p.short_name, s.short_name
FROM zip_action a JOIN processing_type t ON t.id = a.todo_id JOIN file_source_has_zip f ON f.za_id = a.id
JOIN file_source o ON o.id = f.file_source_id JOIN zip_download d ON d.zf_id = f.id
JOIN phase p ON p.id = d.phase_id JOIN a_status s ON s.id = d.status_id
WHERE a.zip_id = :zip ORDER BY d.id DESC LIMIT :most
""")
_ACTIONS = sa.text("""
SELECT t.short_name, p.short_name, s.short_name FROM zip_action a JOIN processing_type t ON t.id = a.todo_id
JOIN phase p ON p.id = a.phase_id JOIN a_status s ON s.id = a.status_id WHERE a.zip_id = :zip ORDER BY a.id
""")
_XMLS_OF_ZIP = sa.text(f"""
SELECT x.fname, t.short_name, p.short_name, s.short_name, x.size_bytes,
    (SELECT count(*) FROM xml_log l WHERE l.xml_id = x.id)
{_JOINED_XMLS} WHERE a.zip_id = :zip ORDER BY x.id DESC LIMIT :most
""")
_ZIP_LOG = sa.text("""
SELECT e.short_name, l.message FROM zip_log l JOIN an_exception e ON e.id = l.exception_id
JOIN zip_download d ON d.id = l.zip_id JOIN file_source_has_zip f ON f.id = d.zf_id
JOIN zip_action a ON a.id = f.za_id WHERE a.zip_id = :zip ORDER BY l.id DESC LIMIT :most
""")
_FIND_XML = sa.text(f"""
SELECT t.short_name, c.short_name, x.created, x.inc, x.size_bytes, x.content_md5, p.short_name, s.short_name
{_JOINED_XMLS} WHERE z.file_name = :zip AND x.fname = :name ORDER BY x.id DESC LIMIT 1
""")
_XML_LOG = sa.text(f"""
SELECT e.short_name, l.line, l.col, l.message FROM xml_log l JOIN an_exception e ON e.id = l.exception_id
WHERE l.xml_id IN (SELECT x.id {_JOINED_XMLS} WHERE z.file_name = :zip AND x.fname = :name)
ORDER BY l.xml_id DESC, l.id LIMIT :most OFFSET :start
""")


class _Status(NamedTuple):
    """A status of the tracker: its name, its meaning, and its colour as rrggbb.

    The alpha of the tracker's own rgba is left out: it is 0 in all of its colours, which would show nothing.
    """

    name: str
    meaning: str
    colour: str


def home(workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
    """Return the tracker, its zips or XML files with a centre (`name`), phase and status, or one file.

    `view.group` is PHASE:STATUS. One zip has its name as `view.name`, one XML file `ZIP/XML`, and no `view.view`.
    """
    del ledger
    refuse_unknown("view", view.view, (_TRACKER, _ZIPS, _XMLS))
    is_list = view.view in {_ZIPS, _XMLS}
    refuse_unread(view, "view", *(("name", "group", "start") if is_list else ("name", "start") if view.name else ()))
    views = tuple(HomeLink(name, view=HomeView(name)) for name in (_TRACKER, _ZIPS, _XMLS))
    try:
        with open_tracker(workspace) as engine, map_errors(engine), engine.connect() as connection:
            if is_list:
                return _list_files(connection, view)._replace(views=views)
            if view.name:
                zip_name, _, xml_name = view.name.partition("/")
                shown = _show_xml(connection, view, xml_name) if xml_name else _show_zip(connection, zip_name)
                return shown._replace(views=views)
            return Home("Tracker", tuple(_show_tracker(connection)), views)
    except WindrowError as error:
        if error.reason != Reason.NOT_FOUND or view != HomeView():
            raise
        return Home("Tracker", note=f"{error}: {error.hint}")  # before the first run


def knows(workspace: Workspace, ledger: Ledger, name: str) -> bool:
    """Return whether the tracker has a zip with this name, or an XML file with a name `ZIP/XML`."""
    del ledger
    zip_name, _, xml_name = name.partition("/")
    query, names = (_FIND_XML, {"zip": zip_name, "name": xml_name}) if xml_name else (_FIND_ZIP, {"name": zip_name})
    with open_tracker(workspace) as engine, map_errors(engine), engine.connect() as connection:
        return connection.execute(query, names).first() is not None


def _show_tracker(connection: sa.Connection) -> Iterable[Part]:
    statuses = {
        number: _Status(name, meaning or "", rgba[:6]) for number, name, meaning, rgba in connection.execute(_STATUSES)
    }
    legend = tuple(MatrixCount(f"{status.name}: {status.meaning}", 0, status.colour) for status in statuses.values())
    for name, query in ((_ZIPS, _COUNT_ZIPS), (_XMLS, _COUNT_XMLS)):
        counts: dict[str, dict[int, list[MatrixCount]]] = {}
        for centre, phase, status, number in connection.execute(query):
            link = HomeView(name, centre or _NO_CENTRE, f"{PHASES[phase - 1]}:{statuses[status].name}")
            count = MatrixCount(statuses[status].name, number, statuses[status].colour, link)
            counts.setdefault(centre or _NO_CENTRE, {}).setdefault(phase, []).append(count)
        rows = tuple(
            MatrixRow(
                HomeLink(centre, view=HomeView(name, centre)),
                tuple(tuple(of_phase.get(phase, ())) for phase in range(1, len(PHASES) + 1)),
            )
            for centre, of_phase in counts.items()
        )
        if rows:
            yield Matrix("Zips" if name == _ZIPS else "XML files, of each transfer of a zip", PHASES, rows, legend)
        legend = ()  # said once


def _list_files(connection: sa.Connection, view: HomeView) -> Home:
    phase, _, status = view.group.partition(":")
    if phase and phase not in PHASES:
        raise UsageError(f"group: {view.group!r} is not PHASE:STATUS, where a phase is one of {', '.join(PHASES)}")
    before = read_start(view) or 2**62
    selection = {"centre": view.name, "phase": phase, "status": status, "none": _NO_CENTRE, "before": before}
    query = _LIST_ZIPS if view.view == _ZIPS else _LIST_XMLS
    found = connection.execute(query, {**selection, "most": _PAGE_FILES + 1}).all()
    rows: list[tuple[Cell, ...]] = []
    for _, zip_name, other, centre, file_phase, file_status, size in found[:_PAGE_FILES]:
        name = zip_name if view.view == _ZIPS else f"{zip_name}/{other}"
        file = HomeLink(zip_name if view.view == _ZIPS else other, view=HomeView(name=name))
        second = HomeLink(other) if view.view == _ZIPS else HomeLink(zip_name, view=HomeView(name=zip_name))
        rows.append((file, second, HomeLink(centre), HomeLink(file_phase), HomeLink(file_status), size or 0))
    further = None
    if len(found) > _PAGE_FILES:
        further = HomeLink("Earlier ones", view=view._replace(start=str(found[_PAGE_FILES - 1][0])))
    title = " ".join(filter(None, ("Zips" if view.view == _ZIPS else "XML files", view.name, phase, status)))
    columns = ("file", "action" if view.view == _ZIPS else "zip", "centre", "phase", "status", "bytes")
    note = "" if rows else "No such files."
    return Home(title, (HomeTable("", columns, tuple(rows)),) if rows else (), further=further, note=note)


def _show_zip(connection: sa.Connection, name: str) -> Home:
    found = connection.execute(_FIND_ZIP, {"name": name}).first()
    if found is None:
        raise unknown_name(COLLECTION.name, name)
    number, file_name, *values = found
    query = {"zip": number, "most": _MAX_ROWS + 1}
    facts = (*_describe_file(values), Fact("story", HomeLink("from the first listing on", story=file_name)))
    parts: list[Part] = [Facts("", facts)]
    parts += _table("State", ("action", "phase", "status"), map(_texts, connection.execute(_ACTIONS, {"zip": number})))
    transfers = (
        (
            HomeLink(action),
            HomeLink(host or "a folder"),
            _utc(asked),
            _utc(received),
            size,
            HomeLink(phase),
            HomeLink(status),
        )
        for action, host, asked, received, size, phase, status in connection.execute(_TRANSFERS, query)
    )
    columns = ("action", "from", "requested", "received", "bytes", "phase", "status")
    parts += _table("Transfers", columns, transfers)
    members = (
        (HomeLink(xml, view=HomeView(name=f"{file_name}/{xml}")), *map(HomeLink, texts), size or 0, findings)
        for xml, *texts, size, findings in connection.execute(_XMLS_OF_ZIP, query)
    )
    parts += _table("XML files", ("file", "action", "phase", "status", "bytes", "findings"), members)
    parts += _table("Findings", ("finding", "message"), map(_texts, connection.execute(_ZIP_LOG, query)))
    return Home(file_name, tuple(parts))


def _show_xml(connection: sa.Connection, view: HomeView, name: str) -> Home:
    zip_name, start = view.name.partition("/")[0], read_start(view)
    found = connection.execute(_FIND_XML, {"zip": zip_name, "name": name}).first()
    if found is None:
        raise unknown_name(COLLECTION.name, f"{zip_name}/{name}")
    action, *values, phase, status = found
    facts = (
        Fact("zip", HomeLink(zip_name, view=HomeView(name=zip_name))),
        *_describe_file(values),
        Fact("state", HomeLink(f"{phase}: {status}")),
        Fact("story", HomeLink("from the zip on", story=f"{action}/{zip_name}/{name}")),
    )
    findings = tuple(
        (HomeLink(kind), line or None, column or None, HomeLink(message or ""))
        for kind, line, column, message in connection.execute(
            _XML_LOG, {"zip": zip_name, "name": name, "most": _MAX_FINDINGS + 1, "start": start}
        )
    )
    # Those of earlier transfers of the zip follow: a table of them leads here, too.
    parts = _table("Findings", ("finding", "line", "column", "message"), findings[:_MAX_FINDINGS])
    note = "" if parts else "No findings about this file."
    further = None
    if len(findings) > _MAX_FINDINGS:
        further = HomeLink("Further findings", view=view._replace(start=str(start + _MAX_FINDINGS)))
    return Home(name, (Facts("", facts), *parts), further=further, note=note)


def _describe_file(values: Iterable[Any]) -> Iterable[Fact]:
    """Yield centre, day, increment, size and MD5 of a file; those that are not known are left out."""
    for name, value in zip(("centre", "dated", "increment", "bytes", "MD5"), values, strict=True):
        if value is not None:
            yield Fact(name, value if isinstance(value, int) else HomeLink(str(value)))


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[Cell, ...]]) -> list[Part]:
    """Return a table as a list, which is empty without rows. A title says if only the latest rows are there."""
    found = tuple(rows)
    capped = f", the latest {_MAX_ROWS}" if len(found) > _MAX_ROWS else ""
    return [HomeTable(f"{title}{capped}", columns, found[:_MAX_ROWS])] if found else []


def _texts(row: Iterable[Any]) -> tuple[Cell, ...]:
    return tuple(HomeLink(str(value or "")) for value in row)


def _utc(time: Any) -> Cell:
    """Return a time of the tracker, which is in UTC without a zone, or as a text if the database gives it so."""
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return time.replace(tzinfo=UTC) if isinstance(time, datetime) else None
