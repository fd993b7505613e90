"""A full disk: zips that fit are loaded, the others are recorded, and all are loaded once there is room."""

import os
import resource
import subprocess
import sys

import pytest

from tests import programs
from tests.faults.workspace import DAY, RUN, DropsWorkspace, put
from tests.waiting import PATIENCE
from windrow.demo.partner import drop, pack, specimens

MB = 1 << 20


def large(number, size):
    """Return a good zip of about so many bytes."""
    noise = os.urandom(size)
    return pack({f"H.{DAY}.{number}.specimen.impc.xml": specimens("H", number, 3), "plot.png": noise})


class MountedDisk:
    """A disk of a few MB for the workspace."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=11m", "tmpfs", str(folder)], check=True, capture_output=True
        )

    def run(self, workspace):
        completed = programs.run("-c", RUN, workspace.root, timeout=PATIENCE)
        assert "Traceback" not in completed.stderr, completed.stderr
        return completed.returncode, completed.stderr

    def widen(self):
        subprocess.run(["mount", "-o", "remount,size=200m", str(self.folder)], check=True)

    def end(self):
        subprocess.run(["umount", "-l", str(self.folder)], check=True)


class LimitedDisk:
    """A limit on the size of each file, kept by the kernel: a write beyond it fails as on a full disk."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.max_bytes = 3 * MB
        self.limits_fetchers = True  # else only the process that writes ledger, tracker and store, which is forked

    def run(self, workspace):
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({self.max_bytes}, {self.max_bytes}))\n"
        if self.limits_fetchers:
            command = [sys.executable, "-c", limit + RUN, str(workspace.root)]
            completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
        else:
            completed = programs.run("-c", limit + RUN, workspace.root, timeout=PATIENCE)
        assert "Traceback" not in completed.stderr, completed.stderr
        return completed.returncode, completed.stderr

    def widen(self):
        self.max_bytes, self.limits_fetchers = resource.RLIM_INFINITY, False

    def end(self):
        """Do nothing: the limit ends with each process."""


@pytest.fixture(params=["its own", "bounded"])
def disk(request, tmp_path):
    """Yield a disk with little room; if this user cannot mount one, a size limit instead."""
    small_disk = None
    if request.param == "its own":
        try:
            small_disk = MountedDisk(tmp_path / "small")
        except (OSError, subprocess.CalledProcessError):
            (tmp_path / "small").rmdir()
    small_disk = small_disk or LimitedDisk(tmp_path / "small")
    yield small_disk
    small_disk.end()


def test_a_disk_that_fills_up(disk, tmp_path):
    workspace = DropsWorkspace(disk.folder / "w", f"[limits]\nfree_space = {3 * MB}\n")
    good = workspace.add_healthy()
    partner = workspace.add_folder("own", path=tmp_path / "own")
    keys = [put(partner, f"H.{DAY}.{number}.impc.zip", large(number, number // 2 * MB)) for number in (3, 4, 8, 9)]
    code, _ = disk.run(workspace)
    assert code == 3
    workspace.assert_complete(good)
    states = [workspace.item_state(key) for key in keys]
    full = [key for key, state in zip(keys, states, strict=True) if state == ("download", "failed", "disk_full")]
    assert full
    assert all(state == ("overview", "done", None) for key, state in zip(keys, states, strict=True) if key not in full)
    assert workspace.zip_log(full[0])[0][0] == "DiskFull"
    assert workspace.zip_log(full[0])[0][1]
    assert workspace.session_status() > 0
    assert workspace.faults() == []
    disk.widen()
    code, errors = disk.run(workspace)
    assert code == 0, errors
    workspace.assert_complete(good, *keys)
    assert workspace.faults() == []


def test_a_disk_without_the_room_that_must_stay_free(make_workspace, tmp_path):
    room = os.statvfs(tmp_path)
    workspace = make_workspace(f"[limits]\nfree_space = {room.f_bavail * room.f_frsize * 2}\n")
    good = workspace.add_healthy()
    assert workspace.run().code == 3
    assert workspace.item_state(good) == ("download", "failed", "disk_full")
    assert "must stay free" in workspace.zip_log(good)[0][1]
    assert workspace.attempts(good)[0][2] == 0  # not one byte was asked for
    workspace.configure()
    assert workspace.run().code == 0
    workspace.assert_complete(good)


@pytest.mark.parametrize("most", [None, 200_000, 900_000])
def test_no_room_for_the_books(disk, tmp_path, most):
    """If ledger, tracker or store cannot grow, the run ends with an error; the next one continues."""
    if isinstance(disk, LimitedDisk):
        disk.max_bytes, disk.limits_fetchers = most or MB // 2, False
    workspace = DropsWorkspace(disk.folder / "w", "[limits]\nfree_space = 0\n")
    folder = workspace.add_folder("own", path=tmp_path / "own")
    keys = [put(folder, *drop("H", DAY, number, 6)) for number in range(10, 16)]
    if isinstance(disk, MountedDisk):
        room = os.statvfs(disk.folder)
        (disk.folder / "other").write_bytes(bytes(room.f_bavail * room.f_frsize - (most or MB // 2)))
    code, errors = disk.run(workspace)
    assert code == 1
    # SQLite reports a write beyond the limit as a disk I/O error.
    assert "no room" in errors or "full" in errors or (isinstance(disk, LimitedDisk) and "disk I/O error" in errors)
    disk.widen()
    code, errors = disk.run(workspace)
    assert code == 0, errors
    assert workspace.faults() == []
    workspace.assert_complete(*keys)
