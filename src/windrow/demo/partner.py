"""The partners of the demo, and the documents that each puts on its server; the same seed gives the same bytes."""

from __future__ import annotations

import random
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_CORE = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_FIRST_DAY = date(2025, 1, 6)


def specimens(centre: str, seed: int, count: int = 20) -> bytes:
    """Return a document with `count` mice of a centre (about 420 bytes each)."""
    dice = random.Random(f"specimens {centre} {seed}")  # noqa: S311 made-up documents, no secret
    rows = []
    for number in range(count):
        baseline = number % 4 == 0
        attributes = {
            "DOB": (_FIRST_DAY + timedelta(days=dice.randrange(200))).isoformat(),
            "isBaseline": str(baseline).lower(),
            **({"strainID": "MGI:2159965"} if baseline else {"colonyID": f"{centre}C{seed % 7}"}),
            "specimenID": specimen_id(seed, number),
            "gender": dice.choice(["male", "female"]),
            "zygosity": "wild type" if baseline else dice.choice(["homozygous", "heterozygous"]),
            "litterId": f"L{dice.randrange(1000)}",
            "pipeline": "IMPC_001",
            "productionCentre": centre,
            "phenotypingCentre": centre,
            "project": "BaSH",
        }
        rows.append(f"    <mouse {_attributes(attributes)}>\n" + _mother(seed, number) + "    </mouse>")
    body = "\n".join(rows)
    return (
        f'{_HEAD}<centreSpecimenSet xmlns="{_CORE}specimen">\n  <centre centreID="{centre}">\n{body}\n'
        "  </centre>\n</centreSpecimenSet>\n"
    ).encode()


def specimen_id(seed: int, number: int) -> str:
    """Return the name of the `number`-th mouse of a document."""
    return f"M{seed:04}-{number:03}"


def _mother(seed: int, number: int) -> str:
    attributes = {"specimenID": specimen_id(seed, max(0, number - 1)), "relationship": "littermate"}
    return f"      <relatedSpecimen {_attributes(attributes)}/>\n"


def experiments(centre: str, seed: int, count: int = 8, shift: float = 0.0) -> bytes:
    """Return a document with blood counts of `count` mice (about 1.2 kB each with 12 parameters).

    `shift` is added to every value: the same experiments, corrected.
    """
    dice = random.Random(f"experiments {centre} {seed}")  # noqa: S311 made-up documents, no secret
    rows = []
    for number in range(count):
        day = (_FIRST_DAY + timedelta(days=200 + dice.randrange(100))).isoformat()
        rows.append(f'    <experiment experimentID="E{seed:04}-{number:03}" dateOfExperiment="{day}">')
        rows.append(f"      <specimenID>{specimen_id(seed, number)}</specimenID>")
        rows.append('      <procedure procedureID="IMPC_HEM_001">')
        for parameter in range(1, 13):
            value = round(dice.uniform(1, 60) + shift, 2)
            rows.append(f'        <simpleParameter parameterID="IMPC_HEM_{parameter:03}_001" unit="g/dl">')
            rows.append(f"          <value>{value}</value>\n        </simpleParameter>")
        rows.append("      </procedure>\n    </experiment>")
    body = "\n".join(rows)
    return (
        f'{_HEAD}<centreProcedureSet xmlns="{_CORE}procedure">\n'
        f'  <centre centreID="{centre}" pipeline="IMPC_001" project="BaSH">\n{body}\n'
        "  </centre>\n</centreProcedureSet>\n"
    ).encode()


def _attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())


def pack(members: dict[str, bytes]) -> bytes:
    """Zip documents; the same documents make the same bytes."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(ZipInfo(name, (2026, 1, 12, 9, 0, 0)), content, ZIP_DEFLATED)
    return packed.getvalue()


def drop(centre: str, day: str, number: int, documents: int = 1, *, shift: float = 0.0) -> tuple[str, bytes]:
    """Return the name and bytes of a conforming zip with pairs of specimen and experiment documents."""
    members = {}
    for index in range(1, documents + 1):
        seed = number * 100 + index
        members[f"{centre}.{day}.{index}.specimen.impc.xml"] = specimens(centre, seed)
        members[f"{centre}.{day}.{index}.experiment.impc.xml"] = experiments(centre, seed, shift=shift)
    return f"{centre}.{day}.{number}.impc.zip", pack(members)


FOLDERS = ("add", "edit", "delete")
MONDAY, TUESDAY = "2026-01-12", "2026-01-13"


def first_day(root: Path) -> None:
    """Put the files of four centres below `root`; some of them are faulty on purpose."""
    for centre in ("H", "J", "Ucd", "Wtsi"):
        for folder in FOLDERS:
            (root / centre / folder).mkdir(parents=True)
    for centre, number in (("H", 1), ("J", 1), ("J", 2), ("Ucd", 1), ("Wtsi", 1)):
        put(root / centre / "add", *drop(centre, MONDAY, number, documents=2))
    # A copy at another centre: it is fetched from its producer unless that server is down.
    put(root / "J" / "add", *drop("H", MONDAY, 1, documents=2))
    name, whole = drop("H", MONDAY, 7)
    put(root / "H" / "add", name, whole[: len(whole) // 2])
    put(root / "H" / "add", f"H.2026-02-30.{3}.impc.zip", whole)
    put(root / "Ucd" / "add", "readme.txt", b"nothing to see here")
    put(root / "Ucd" / "add", "Nobody.2026-01-12.1.impc.zip", whole)
    invalid = specimens("Wtsi", 900).replace(b'gender="male"', b'gender="unsure"')
    members = {f"Wtsi.{MONDAY}.1.specimen.impc.xml": invalid, f"Wtsi.{MONDAY}.2.specimen.impc.xml": b"<centre"}
    put(root / "Wtsi" / "add", f"Wtsi.{MONDAY}.8.impc.zip", pack(members))
    put(root / "Wtsi" / "add", f"Wtsi.{MONDAY}.9.impc.zip", pack({"../../escape.xml": b"<x/>"}))


def second_day(root: Path) -> None:
    """Add, correct and withdraw documents of the centres."""
    put(root / "H" / "add", *drop("H", TUESDAY, 2, documents=2))
    corrected = {f"J.{TUESDAY}.1.experiment.impc.xml": experiments("J", 101, shift=1.0)}
    put(root / "J" / "edit", f"J.{TUESDAY}.50.impc.zip", pack(corrected))
    withdrawn = {f"Ucd.{TUESDAY}.1.experiment.impc.xml": experiments("Ucd", 102)}
    put(root / "Ucd" / "delete", f"Ucd.{TUESDAY}.50.impc.zip", pack(withdrawn))
    (root / "J" / "add" / f"H.{MONDAY}.1.impc.zip").unlink()


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file into a folder."""
    (folder / name).write_bytes(content)
