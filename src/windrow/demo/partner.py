"""The partners of the demo: what each of them drops on its server, on the first day and on the second."""

from __future__ import annotations

from pathlib import Path

from windrow.demo.document import drop, experiments, pack, specimens

FOLDERS = ("add", "edit", "delete")
MONDAY, TUESDAY = "2026-01-12", "2026-01-13"


def first_day(root: Path) -> None:
    """Let four centres drop their files; some of them are not as they should be."""
    for centre in ("H", "J", "Ucd", "Wtsi"):
        for folder in FOLDERS:
            (root / centre / folder).mkdir(parents=True)
    for centre, number in (("H", 1), ("J", 1), ("J", 2), ("Ucd", 1), ("Wtsi", 1)):
        put(root / centre / "add", *drop(centre, MONDAY, number, documents=2))
    # A copy at another centre: fetched from its producer, unless that one is down.
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
    """Let them add, correct and take back."""
    put(root / "H" / "add", *drop("H", TUESDAY, 2, documents=2))
    corrected = {f"J.{TUESDAY}.1.experiment.impc.xml": experiments("J", 101, shift=1.0)}
    put(root / "J" / "edit", f"J.{TUESDAY}.50.impc.zip", pack(corrected))
    withdrawn = {f"Ucd.{TUESDAY}.1.experiment.impc.xml": experiments("Ucd", 102)}
    put(root / "Ucd" / "delete", f"Ucd.{TUESDAY}.50.impc.zip", pack(withdrawn))
    (root / "J" / "add" / f"H.{MONDAY}.1.impc.zip").unlink()


def put(folder: Path, name: str, content: bytes) -> None:
    """Drop a file."""
    (folder / name).write_bytes(content)
