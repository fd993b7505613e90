"""Links that another program put into an archive: what windrow writes there never goes where they lead."""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from windrow.archive import mark_ledger, repair_archive
from windrow.archive.erase import erase
from windrow.archive.part_file import PartFile
from windrow.collections.news.adapter.publish import publish_file
from windrow.engine.captures.piped_indexes import store_piped
from windrow.engine.check import index_archive
from windrow.engine.run import HarvestRun
from windrow.ledger import Ledger
from windrow.model import Limits

LETTER = b"a letter outside the archive"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "letter").write_bytes(LETTER)
    (tmp_path / "archive").mkdir()
    return tmp_path / "archive"


def plant(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(next(folder / "letter" for folder in path.parents if (folder / "letter").exists()))
    return path


def open_part(archive: Path) -> None:
    PartFile(plant(archive / "parts/a.warc")).close()


def mark(archive: Path) -> None:
    plant(archive / ".ledger.part")
    mark_ledger(archive, 1)


def repair(archive: Path) -> None:
    for name in ("windrow-000001-1-00001.warc", "large-1.warc", "windrow-000002-1-00001.warc"):
        plant(archive / name)
    assert repair_archive(archive, {"windrow-000001-1-00001.warc": 3}) == []


def erase_hard_link(archive: Path) -> None:
    (archive / "a.warc").write_bytes(b"WARC/1.0")
    os.link(archive / "a.warc", archive.parent / "imported.warc")
    plant(archive / ".a.warc.part")
    erase(archive, "a.warc", [], datetime(2026, 1, 2, tzinfo=UTC))


def index(archive: Path) -> None:
    plant(archive / ".index-rules")
    with closing(Ledger(archive.parent / "ledger.sqlite")) as ledger:
        index_archive(ledger, archive)


def store_index(archive: Path) -> None:
    plant(archive / "indexes/.part")
    index_lines = archive.parent / "lines"
    index_lines.write_text("a line")
    run = SimpleNamespace(
        settings=SimpleNamespace(archive=archive, limits=Limits()), tick=lambda: None, stopping=lambda: 0
    )
    store_piped(cast(HarvestRun, run), index_lines, ["papers"])


def publish(archive: Path) -> None:
    plant(archive / ".article.json.part")
    publish_file(archive / "article.json", "{}")


@pytest.mark.parametrize("write", [open_part, mark, repair, erase_hard_link, index, store_index, publish])
def test_what_a_link_leads_to_is_not_written(archive: Path, write) -> None:
    write(archive)
    assert (archive.parent / "letter").read_bytes() == LETTER
