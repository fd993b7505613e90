"""Fixtures of this collection's tests: the schemas that the project ships, as resources."""

from __future__ import annotations

from pathlib import Path

import pytest

import windrow.collections.drops as package
from windrow.digest import digest
from windrow.model import Resource

SCHEMAS = Path(package.__file__).parent / "schemas"


def sheet(name: str, file: str, *siblings: Resource) -> Resource:
    path = SCHEMAS / file
    content = path.read_bytes()
    return Resource(name, path, digest(content), content, siblings)


@pytest.fixture(scope="session")
def schemas() -> dict[str, Resource]:
    common = sheet("common", "common.xsd")
    return {
        "specimen": sheet("specimen", "specimen_definition.xsd", common),
        "experiment": sheet("experiment", "procedure_definition.xsd", common),
    }
