"""A folder as a source: no path leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fetch.memory_sink import MemorySink, get_file, list_entries
from tests.fetch.test_fault_any import assert_fails
from windrow.errors import TerminalFailure
from windrow.fetch.local import LocalConnection
from windrow.model import ListingEntry, Site
from windrow.reasons import Reason


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "secret.zip").write_bytes(b"outside")
    (tmp_path / "root" / "add").mkdir(parents=True)
    (tmp_path / "root" / "add" / "a.zip").write_bytes(b"inside")
    return Site("file", base=str(tmp_path / "root"))


def test_links_are_not_followed(site: Site, tmp_path: Path) -> None:
    base = Path(site.base)
    (base / "out").symlink_to(tmp_path)
    (base / "add" / "link.zip").symlink_to("../../secret.zip")
    assert_fails(lambda: get_file(site, "add/link.zip"), TerminalFailure, Reason.NOT_A_FILE)
    assert_fails(lambda: get_file(site, "out/secret.zip"), TerminalFailure, Reason.NOT_A_FILE)
    assert_fails(lambda: list_entries(site, "out"), TerminalFailure, Reason.NOT_A_FILE)


def test_dots_are_refused(site: Site) -> None:
    assert_fails(lambda: get_file(site, "add/../../secret.zip"), TerminalFailure, Reason.UNSAFE_NAME)


def test_absolute_paths_stay_below_the_base(site: Site) -> None:
    assert get_file(site, "/add/a.zip").content == b"inside"


def test_a_pipe_does_not_hang(site: Site) -> None:
    os.mkfifo(Path(site.base) / "add" / "pipe")
    assert not list_entries(site, "add")["pipe"].is_file
    assert_fails(lambda: get_file(site, "add/pipe"), TerminalFailure, Reason.NOT_A_FILE)
    assert_fails(lambda: get_file(site, "add"), TerminalFailure, Reason.NOT_A_FILE)


def test_a_file_that_is_renamed_while_its_folder_is_listed_fails_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = Path(site.base) / "add" / "b.zip.part"
    partial.touch()
    make_entry = LocalConnection._entry

    def rename_first(self: LocalConnection, folder: str, entry: os.DirEntry[str]) -> ListingEntry | None:
        if entry.name == partial.name:
            partial.rename(partial.with_suffix(""))
        return make_entry(self, folder, entry)

    monkeypatch.setattr(LocalConnection, "_entry", rename_first)
    assert {"a.zip"} <= list_entries(site, "add").keys() <= {"a.zip", "b.zip"}


def test_names_of_any_bytes(site: Site) -> None:
    (Path(site.base) / "add" / os.fsdecode(b"\xff.zip")).write_bytes(b"odd")
    assert "\udcff.zip" in list_entries(site, "add")
    assert get_file(site, "add/\udcff.zip").content == b"odd"
    failure = assert_fails(lambda: get_file(site, "add/\udcfe.zip"), TerminalFailure, Reason.NOT_FOUND)
    assert str(failure).encode()


def test_the_base_itself(site: Site, tmp_path: Path) -> None:
    assert set(list_entries(site, "")) == {"add"}
    assert_fails(
        lambda: list_entries(Site("file", base=str(tmp_path / "no")), "add"), TerminalFailure, Reason.NOT_FOUND
    )


def test_a_file_in_place_of_a_folder(site: Site) -> None:
    assert_fails(lambda: list_entries(site, "add/a.zip"), TerminalFailure, Reason.NOT_A_FILE)


def test_resume(site: Site) -> None:
    assert get_file(site, "add/a.zip", MemorySink(b"ins")).content == b"inside"
