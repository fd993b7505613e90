"""A disk that is full: what fits is loaded, what does not is on record, and room heals it all."""

import os
import resource
import subprocess
import sys

import pytest

from tests.faults.place import DAY, RUN, Place, put
from tests.waiting import PATIENCE
from windrow.demo.partner import drop, pack, specimens

MB = 1 << 20


def large(number, size):
    """A good zip of about so many bytes."""
    noise = os.urandom(size)
    return pack({f"H.{DAY}.{number}.specimen.impc.xml": specimens("H", number, 3), "plot.png": noise})


class Mounted:
    """A disk of its own for the workspace, of a few MB."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=11m", "tmpfs", str(folder)], check=True, capture_output=True
        )

    def run(self, made):
        return finish(made)

    def widen(self):
        subprocess.run(["mount", "-o", "remount,size=200m", str(self.folder)], check=True)

    def end(self):
        subprocess.run(["umount", "-l", str(self.folder)], check=True)


class Bounded:
    """A bound on the size of each file, which the kernel keeps: a full disk for who writes beyond it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.most = 3 * MB

    def run(self, made):
        return finish(made, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (self.most, self.most)))

    def widen(self):
        self.most = resource.RLIM_INFINITY

    def end(self):
        """Nothing is to be undone."""


def finish(made, before=None):
    command = [sys.executable, "-c", RUN, str(made.root)]
    done = subprocess.run(command, stderr=subprocess.PIPE, preexec_fn=before, check=False, timeout=PATIENCE)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stderr.decode()


@pytest.fixture(params=["its own", "bounded"])
def disk(request, tmp_path):
    """A disk with little room. Where this user cannot mount one, the bound stands in for it."""
    made = None
    if request.param == "its own":
        try:
            made = Mounted(tmp_path / "small")
        except (OSError, subprocess.CalledProcessError):
            (tmp_path / "small").rmdir()
    made = made or Bounded(tmp_path / "small")
    yield made
    made.end()


def test_a_disk_that_fills_up(disk, tmp_path):
    made = Place(disk.folder / "w", f"[limits]\nfree_space = {3 * MB}\n")
    good = made.healthy()
    partner = made.folder("own", place=tmp_path / "own")
    keys = [put(partner, f"H.{DAY}.{number}.impc.zip", large(number, number // 2 * MB)) for number in (3, 4, 8, 9)]
    code, _ = disk.run(made)
    assert code == 3
    made.whole(good)
    items = [made.item(key) for key in keys]
    full = [key for key, item in zip(keys, items, strict=True) if item == ("download", "failed", "disk_full")]
    assert full
    assert all(item == ("overview", "done", None) for key, item in zip(keys, items, strict=True) if key not in full)
    assert made.zip_log(full[0])[0][0] == "DiskFull"
    assert made.zip_log(full[0])[0][1]
    assert made.session() > 0
    assert made.wrong() == []
    disk.widen()
    code, told = disk.run(made)
    assert code == 0, told
    made.whole(good, *keys)
    assert made.wrong() == []


def test_a_disk_without_the_room_that_must_stay_free(place, tmp_path):
    room = os.statvfs(tmp_path)
    made = place(f"[limits]\nfree_space = {room.f_bavail * room.f_frsize * 2}\n")
    good = made.healthy()
    assert made.run().code == 3
    assert made.item(good) == ("download", "failed", "disk_full")
    assert "must stay free" in made.zip_log(good)[0][1]
    assert made.fetches(good)[0][2] == 0  # not one byte was asked for
    made.configure()
    assert made.run().code == 0
    made.whole(good)


@pytest.mark.parametrize("most", [None, 200_000, 900_000])
def test_no_room_for_the_books(disk, tmp_path, most):
    """Where ledger, tracker or store cannot grow, the run ends and says so; the next one goes on."""
    if isinstance(disk, Bounded):
        disk.most = most or MB // 2
    made = Place(disk.folder / "w", "[limits]\nfree_space = 0\n")
    folder = made.folder("own", place=tmp_path / "own")
    keys = [put(folder, *drop("H", DAY, number, 6)) for number in range(10, 16)]
    if isinstance(disk, Mounted):
        room = os.statvfs(disk.folder)
        (disk.folder / "other").write_bytes(bytes(room.f_bavail * room.f_frsize - (most or MB // 2)))
    code, told = disk.run(made)
    assert code == 1
    # What lies beyond a bound is for SQLite an error of the disk like any other.
    assert "no room" in told or "full" in told or (isinstance(disk, Bounded) and "disk I/O error" in told)
    disk.widen()
    code, told = disk.run(made)
    assert code == 0, told
    assert made.wrong() == []
    made.whole(*keys)
