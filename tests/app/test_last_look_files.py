"""What may be in the place of a last look: nothing there is waited for, believed or a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windrow.app.last_look import read_look, write_look
from windrow.errors import WindrowError

LAST_FACT = 1000
CONTENTS = [
    b"", b"many", b"-1", b"1.5", b"1001", b"9" * 18, b"9" * 19, b"9" * 25, b"9" * 5000, b"\xff\xfe1\0", b"1\n2\n",
    "\u0661".encode(),
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "windrow" / "looked-1"


def check_refused(path: Path) -> None:
    with pytest.raises(WindrowError, match="cannot be used") as caught:
        read_look(path, LAST_FACT)
    assert f"remove {path}" in caught.value.hint


def test_a_look_is_read_as_it_was_written(path: Path) -> None:
    assert read_look(path, LAST_FACT) == 0
    for fact in (0, 17, LAST_FACT):
        write_look(path, fact)
        assert read_look(path, LAST_FACT) == fact


@pytest.mark.parametrize("content", CONTENTS)
def test_other_content_than_a_fact_of_the_ledger_is_refused(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    check_refused(path)
    write_look(path, 5)
    assert read_look(path, LAST_FACT) == 5


def test_a_pipe_is_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    os.mkfifo(path.with_name(f".{path.name}.part"))
    check_refused(path)
    write_look(path, 5)
    assert read_look(path, LAST_FACT) == 5


@pytest.mark.parametrize("kind", ["folder", "device", "loop"])
def test_what_is_no_file_is_refused(path: Path, kind: str) -> None:
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path if kind == "loop" else "/dev/zero")
    check_refused(path)


def test_a_link_in_place_of_the_draft_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    (tmp_path / "mine").write_text("mine")
    path.with_name(f".{path.name}.part").symlink_to(tmp_path / "mine")
    write_look(path, 5)
    assert (tmp_path / "mine").read_text() == "mine"
    assert read_look(path, LAST_FACT) == 5
