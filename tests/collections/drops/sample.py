"""Small documents of both kinds, and the tasks and submissions around them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from windrow.collections.drops.database.table_store import Submission
from windrow.collections.drops.rows import read_rows
from windrow.contract import Rows, Task
from windrow.digest import digest
from windrow.model import Item, Limits, Resource

CORE = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def mouse(
    specimen: str,
    *,
    colony: str | None = "C1",
    strain: str | None = None,
    baseline: bool = False,
    dob: str = "2024-01-31",
    project: str = "BaSH",
    production: str | None = None,
    inner: str = "",
) -> str:
    more = "".join(
        f' {name}="{value}"'
        for name, value in (("colonyID", colony), ("strainID", strain), ("productionCentre", production))
        if value is not None
    )
    return (
        f'<mouse specimenID="{specimen}" isBaseline="{str(baseline).lower()}" gender="male" zygosity="homozygous"'
        f' litterId="L1" pipeline="IMPC_001" phenotypingCentre="H" project="{project}" DOB="{dob}"{more}>{inner}</mouse>'
    )


def embryo(specimen: str, stage: str = "E9.5", unit: str = "DPC") -> str:
    return mouse(specimen).replace("mouse", "embryo").replace('DOB="2024-01-31"', f'stage="{stage}" stageUnit="{unit}"')


def specimens(*records: str, centre: str = "H") -> bytes:
    return (
        f'<centreSpecimenSet xmlns="{CORE}specimen"><centre centreID="{centre}">\n'
        + "\n".join(records)
        + "</centre></centreSpecimenSet>"
    ).encode()


def simple(parameter: str, value: str | None = "1", *, sequence: int | None = None, status: str = "") -> str:
    number = "" if sequence is None else f' sequenceID="{sequence}"'
    inner = ("" if value is None else f"<value>{value}</value>") + (
        f"<parameterStatus>{status}</parameterStatus>" if status else ""
    )
    return f'<simpleParameter parameterID="{parameter}"{number}>{inner}</simpleParameter>'


def procedure(*parameters: str, name: str = "P_001") -> str:
    return f'<procedure procedureID="{name}">\n' + "\n".join(parameters) + "</procedure>"


def experiment(
    name: str, *specimen: str, inner: str | None = None, sequence: str | None = None, day: str = "2024-02-01"
) -> str:
    number = "" if sequence is None else f' sequenceID="{sequence}"'
    ids = "".join(f"<specimenID>{specimen_id}</specimenID>" for specimen_id in specimen)
    content = procedure(simple("P_001_001")) if inner is None else inner
    return f'<experiment experimentID="{name}" dateOfExperiment="{day}"{number}>{ids}{content}</experiment>'


def experiments(*records: str, centre: str = "H", pipeline: str = "IMPC_001", project: str = "BaSH") -> bytes:
    return (
        f'<centreProcedureSet xmlns="{CORE}procedure"><centre centreID="{centre}" pipeline="{pipeline}"'
        f' project="{project}">\n' + "\n".join(records) + "</centre></centreProcedureSet>"
    ).encode()


def task(
    content: bytes,
    resources: Mapping[str, bytes] | None = None,
    *,
    limits: Limits | None = None,
    **options: str,
) -> Task:
    files = {name: Resource(name, Path(name), digest(text), text) for name, text in (resources or {}).items()}
    item = Item(1, "drops", "xml", "key")
    return Task(item, io.BytesIO(content), limits or Limits(), files, {"today": "2024-05-01"} | options)


def load(content: bytes) -> Rows:
    return read_rows(task(content))


def submission(item: int, content: bytes, action: str = "add", **fields: str) -> Submission:
    kind = "specimen" if b"centreSpecimenSet" in content else "experiment"
    values = {"name": f"H.2024-05-01.{item}.{kind}.impc.xml", "zip_name": "H.2024-05-01.1.impc.zip", "centre": "H"}
    return Submission(item=item, action=action, digest=digest(content), kind=kind, staged_at=START, **(values | fields))
