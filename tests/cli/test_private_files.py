"""Files of a workspace can be read by its user only, whatever the umask allows; what is published follows the umask."""

import os
import sys
from pathlib import Path
from stat import S_IMODE

import pytest

from tests.cli.test_held import held  # noqa: F401 a fixture
from windrow.app import Windrow
from windrow.app.run import notify
from windrow.collections.news.adapter.publish import publish_file
from windrow.private_files import private_files


@pytest.fixture(autouse=True)
def umask():
    """Set a umask that lets all others read, and expect that it is set again after each command."""
    old = os.umask(0o022)
    yield
    assert os.umask(old) == 0o022


def open_modes(folder: Path, mask: int) -> dict[str, str]:
    """Return the modes of files and folders below a folder with rights in `mask`; hard links are files of others."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {
        str(path.relative_to(folder)): oct(S_IMODE(stat.st_mode))
        for path, stat in found.items()
        if S_IMODE(stat.st_mode) & mask and (path.is_dir() or stat.st_nlink == 1)
    }


@pytest.mark.parametrize(("group_reads", "mask", "mode"), [("false", 0o077, 0o600), ("true", 0o027, 0o640)])
def test_what_commands_write_is_private(tmp_path, held, windrow, monkeypatch, group_reads, mask, mode):  # noqa: F811
    monkeypatch.setenv("WINDROW_RUN_GROUP_READS", group_reads)
    folder = tmp_path / "there-before"
    folder.mkdir(mode=0o755)
    monkeypatch.chdir(folder)
    assert windrow("init").code == 0
    assert open_modes(folder, 0o077) == {}
    for words in (("run", held), ("search", "porcelain"), ("check",)):
        output = windrow(*words)
        assert output.code == 0, output.err
    assert open_modes(folder, mask) == {}
    assert {"ledger.sqlite", "summary.sqlite", "archive"} <= {path.name for path in folder.iterdir()}
    assert S_IMODE((folder / "summary.sqlite").stat().st_mode) == mode
    assert S_IMODE(folder.stat().st_mode) == 0o755


def test_a_new_folder_is_private_and_a_stricter_umask_is_kept(tmp_path):
    os.umask(0o277)
    try:
        with private_files(group_reads=True):
            (tmp_path / "file").touch()
    finally:
        os.umask(0o022)
    assert S_IMODE((tmp_path / "file").stat().st_mode) == 0o400
    Windrow.init(tmp_path / "new")
    assert S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_what_is_published_follows_the_umask(tmp_path):
    with private_files():
        publish_file(tmp_path / "site/article.json", "{}")
        program = f"open({str(tmp_path / 'notified')!r}, 'w')"
        assert notify([sys.executable, "-c", program], {}, tmp_path) == ""
        (tmp_path / "own").touch()
    modes = {
        name: S_IMODE((tmp_path / name).stat().st_mode) for name in ("site", "site/article.json", "notified", "own")
    }
    assert modes == {"site": 0o755, "site/article.json": 0o644, "notified": 0o644, "own": 0o600}
