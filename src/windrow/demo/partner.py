"""The documents on the servers of the demo's partners. The same seed gives the same bytes."""

from __future__ import annotations

import random
from datetime import date, timedelta
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_NAMESPACE = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/"
_XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_FIRST_DAY = date(2025, 1, 6)


def specimens(centre: str, seed: int, count: int = 20) -> bytes:
    """Return a document with `count` mice of a centre (about 320 bytes each)."""
    generator = random.Random(f"specimens {centre} {seed}")  # noqa: S311 made-up documents, no secret
    elements = []
    for number in range(count):
        is_baseline = number % 4 == 0
        attributes = {
            "DOB": (_FIRST_DAY + timedelta(days=generator.randrange(200))).isoformat(),
            "isBaseline": str(is_baseline).lower(),
            **({"strainID": "MGI:2159965"} if is_baseline else {"colonyID": f"{centre}C{seed % 7}"}),
            "specimenID": specimen_id(seed, number),
            "gender": generator.choice(["male", "female"]),
            "zygosity": "wild type" if is_baseline else generator.choice(["homozygous", "heterozygous"]),
            "litterId": f"L{generator.randrange(1000)}",
            "pipeline": "IMPC_001",
            "productionCentre": centre,
            "phenotypingCentre": centre,
            "project": "BaSH",
        }
        elements.append(f"    <mouse {_attributes(attributes)}>\n" + _related_specimen(seed, number) + "    </mouse>")
    body = "\n".join(elements)
    return (
        f'{_XML_DECLARATION}<centreSpecimenSet xmlns="{_NAMESPACE}specimen">\n  <centre centreID="{centre}">\n{body}\n'
        "  </centre>\n</centreSpecimenSet>\n"
    ).encode()


def specimen_id(seed: int, number: int) -> str:
    """Return the specimenID of a mouse. `number` is its number, from 0, in the document made with `seed`."""
    return f"M{seed:04}-{number:03}"


def _related_specimen(seed: int, number: int) -> str:
    """Return the XML element that names a littermate: the mouse before `number`, or mouse 0."""
    attributes = {"specimenID": specimen_id(seed, max(0, number - 1)), "relationship": "littermate"}
    return f"      <relatedSpecimen {_attributes(attributes)}/>\n"


def experiments(centre: str, seed: int, shift: float = 0.0) -> bytes:
    """Return a document with blood counts of eight mice, about 1,700 bytes each. `shift` is added to each value."""
    generator = random.Random(f"experiments {centre} {seed}")  # noqa: S311 made-up documents, no secret
    lines = []
    for number in range(8):
        day = (_FIRST_DAY + timedelta(days=200 + generator.randrange(100))).isoformat()
        lines.append(f'    <experiment experimentID="E{seed:04}-{number:03}" dateOfExperiment="{day}">')
        lines.append(f"      <specimenID>{specimen_id(seed, number)}</specimenID>")
        lines.append('      <procedure procedureID="IMPC_HEM_001">')
        for parameter in range(1, 13):
            value = round(generator.uniform(1, 60) + shift, 2)
            lines.append(f'        <simpleParameter parameterID="IMPC_HEM_{parameter:03}_001" unit="g/dl">')
            lines.append(f"          <value>{value}</value>\n        </simpleParameter>")
        lines.append("      </procedure>\n    </experiment>")
    body = "\n".join(lines)
    return (
        f'{_XML_DECLARATION}<centreProcedureSet xmlns="{_NAMESPACE}procedure">\n'
        f'  <centre centreID="{centre}" pipeline="IMPC_001" project="BaSH">\n{body}\n'
        "  </centre>\n</centreProcedureSet>\n"
    ).encode()


def _attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(text)}" for name, text in attributes.items())


def pack(members: dict[str, bytes]) -> bytes:
    """Return a zip of `members`, a dict from file name to content. The same members give the same bytes."""
    zip_bytes = BytesIO()
    with ZipFile(zip_bytes, "w", ZIP_DEFLATED) as zip_file:
        for name, content in members.items():
            zip_file.writestr(ZipInfo(name, (2026, 1, 12, 9, 0, 0)), content, ZIP_DEFLATED)
    return zip_bytes.getvalue()


def drop(centre: str, day: str, number: int, documents: int = 1, *, shift: float = 0.0) -> tuple[str, bytes]:
    """Return the name and bytes of a zip with `documents` specimen documents and as many experiment documents.

    `day` (such as 2026-01-12) and `number` are parts of its name. `shift` is added to the values of experiments.
    """
    members = {}
    for index in range(1, documents + 1):
        seed = number * 100 + index
        members[f"{centre}.{day}.{index}.specimen.impc.xml"] = specimens(centre, seed)
        members[f"{centre}.{day}.{index}.experiment.impc.xml"] = experiments(centre, seed, shift=shift)
    return f"{centre}.{day}.{number}.impc.zip", pack(members)


FOLDERS = ("add", "edit", "delete")  # of each partner's server
MONDAY, TUESDAY = "2026-01-12", "2026-01-13"


def write_first_day(root: Path) -> None:
    """Write the files of four centres below `root`; some files are faulty on purpose."""
    for centre in ("H", "J", "Ucd", "Wtsi"):
        for folder in FOLDERS:
            (root / centre / folder).mkdir(parents=True)
    for centre, number in (("H", 1), ("J", 1), ("J", 2), ("Ucd", 1), ("Wtsi", 1)):
        write_file(root / centre / "add", *drop(centre, MONDAY, number, documents=2))
    # A copy at another centre: it is fetched from its producer unless that server is down.
    write_file(root / "J" / "add", *drop("H", MONDAY, 1, documents=2))
    name, zip_content = drop("H", MONDAY, 7)
    write_file(root / "H" / "add", name, zip_content[: len(zip_content) // 2])
    write_file(root / "H" / "add", "H.2026-02-30.3.impc.zip", zip_content)
    write_file(root / "Ucd" / "add", "readme.txt", b"nothing to see here")
    write_file(root / "Ucd" / "add", "Nobody.2026-01-12.1.impc.zip", zip_content)
    invalid = specimens("Wtsi", 900).replace(b'gender="male"', b'gender="unsure"')
    members = {f"Wtsi.{MONDAY}.1.specimen.impc.xml": invalid, f"Wtsi.{MONDAY}.2.specimen.impc.xml": b"<centre"}
    write_file(root / "Wtsi" / "add", f"Wtsi.{MONDAY}.8.impc.zip", pack(members))
    write_file(root / "Wtsi" / "add", f"Wtsi.{MONDAY}.9.impc.zip", pack({"../../escape.xml": b"<x/>"}))


def write_second_day(root: Path) -> None:
    """Change the files below `root`: centres add, correct and withdraw documents, and a mirror of a zip is removed."""
    write_file(root / "H" / "add", *drop("H", TUESDAY, 2, documents=2))
    corrected = {f"J.{TUESDAY}.1.experiment.impc.xml": experiments("J", 101, shift=1.0)}
    write_file(root / "J" / "edit", f"J.{TUESDAY}.50.impc.zip", pack(corrected))
    withdrawn = {f"Ucd.{TUESDAY}.1.experiment.impc.xml": experiments("Ucd", 102)}
    write_file(root / "Ucd" / "delete", f"Ucd.{TUESDAY}.50.impc.zip", pack(withdrawn))
    (root / "J" / "add" / f"H.{MONDAY}.1.impc.zip").unlink()


def write_file(folder: Path, name: str, content: bytes) -> None:
    """Write a file into a folder."""
    (folder / name).write_bytes(content)
