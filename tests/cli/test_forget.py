"""`windrow forget`: no byte of a page stays, other pages are unchanged, and the next run finishes a killed one."""

from __future__ import annotations

import io
import shutil
import signal
import sqlite3
import threading
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from tests import programs
from tests.cli.test_past import page
from windrow.app import Windrow
from windrow.app.begin import prepare
from windrow.engine import takedown
from windrow.errors import DiskFull

SECRET = "zanzibarite"
SHARED = "quadrilobite"


def lay_out(village, turn: str) -> None:
    """Lay out a page with a secret that changes, two pages with one text, and others."""
    village.clear()
    links = ("secret.html", "one.html", "two.html", "calm.html")
    village.put(0, "index.html", page("Home", "<p>Welcome to all.</p>", *links))
    village.put(0, "calm.html", page("Calm", "<p>Nothing happens here, and that is good.</p>", "secret.html"))
    for name in ("one.html", "two.html"):
        village.put(0, name, page("Shared", f"<p>Two pages speak of {SHARED} with the same words.</p>"))
    text = f"<p>The {turn} word of {SECRET} is {SECRET}{turn}, which nobody else says.</p>"
    village.put(0, "secret.html", page(f"The {turn} {SECRET}", text, f"https://elsewhere.example/{SECRET}"))


@pytest.fixture(scope="module")
def crawled_twice(tmp_path_factory: pytest.TempPathFactory, village) -> Path:
    """Crawl the site before and after the page with the secret changed."""
    root = tmp_path_factory.mktemp("forget") / "workspace"
    prepare(root)
    (root / "windrow.toml").write_text(
        '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\ndelay = "1 ms"\n'
        f'[source.town]\ncollection = "pages"\nurl = "{village.origin(0)}/"\n'
    )
    for turn in ("first", "second"):
        lay_out(village, turn)
        assert Windrow(root).run(["town"], again=turn == "second").exit_code == 0
    return root


@pytest.fixture
def root(tmp_path: Path, village, crawled_twice: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The site, and a copy of the workspace that crawled it twice, as the current folder."""
    lay_out(village, "second")
    monkeypatch.chdir(shutil.copytree(crawled_twice, tmp_path / "workspace"))
    return tmp_path / "workspace"


def remains(root: Path, word: str) -> list[str]:
    """Return the files of a workspace that contain a word, compressed or not."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [str(path.relative_to(root)) for path in files if word.encode() in _plain(path.read_bytes()).lower()]


def _plain(content: bytes) -> bytes:
    whole = content
    while content[:3] == b"\x1f\x8b\x08":
        reader = zlib.decompressobj(31)
        whole += reader.decompress(content)
        content = reader.unused_data
    return whole


def test_no_byte_of_a_page_stays(root: Path, village, windrow) -> None:
    url = f"{village.origin(0)}/secret.html"
    assert {name.split("/")[0] for name in remains(root, SECRET)} >= {"archive", "summary.sqlite"}
    sizes = {path.name: path.stat().st_size for path in (root / "archive").glob("*.warc*")}
    output = windrow("forget", url, "--yes", "--reason", "asked by its author", "--json")
    assert output.code == 0, output.err
    (takedown,) = output.of("forgotten")
    assert (takedown["target"], takedown["captures"], takedown["records"], takedown["errors"]) == (url, 2, 2, [])
    assert remains(root, SECRET) == []
    assert {path.name: path.stat().st_size for path in (root / "archive").glob("*.warc*")} == sizes
    assert windrow("check").err.endswith("all agree\n")
    output = windrow("run", "town", "--json")
    assert output.of("summary")[0]["repairs"] == []
    assert {name: (root / "archive" / name).stat().st_size for name in sizes} == sizes
    assert windrow("search", SECRET).out == ""
    assert windrow("search", f"{SECRET} seen:2026").out == ""
    assert "/calm.html" in windrow("search", "nothing happens").out


def test_a_takedown_whose_bytes_cannot_be_overwritten_stays_open(root: Path, village, windrow, monkeypatch) -> None:
    url = f"{village.origin(0)}/secret.html"
    real_erase = takedown.erase

    def erase(*_arguments: object) -> int:
        raise DiskFull("the disk is full")

    monkeypatch.setattr(takedown, "erase", erase)
    output = windrow("forget", url, "--yes", "--json")
    (forgotten,) = output.of("forgotten")
    assert not forgotten["done"]
    assert "the disk is full" in forgotten["errors"][0]
    assert [name for name in remains(root, SECRET) if name.startswith("archive/")]
    problem = f"{url}: its takedown is not finished, and a part of it remains: windrow forget"
    assert problem in windrow("status").out
    (summary,) = windrow("run", "town", "--json").of("summary")
    assert summary["problems"] == [problem]
    monkeypatch.setattr(takedown, "erase", real_erase)
    (forgotten,) = windrow("forget", "--yes", "--json").of("forgotten")
    assert (forgotten["target"], forgotten["captures"], forgotten["done"]) == (url, 2, True)
    assert remains(root, SECRET) == []
    assert windrow("status", "--json").of("status")[0]["problems"] == []


def test_a_page_does_not_return_with_a_restored_file(root: Path, village, windrow) -> None:
    backup = shutil.copytree(root / "archive", root.parent / "backup")
    assert windrow("forget", f"{village.origin(0)}/secret.html", "--yes").code == 0
    for path in backup.glob("*.warc*"):
        shutil.copy(path, root / "archive")
    returned = sorted(name.removeprefix("archive/") for name in remains(root, SECRET))
    assert len(returned) == 2
    problems = windrow("status", "--json").of("status")[0]["problems"]
    problem = "has 2 records again that were taken down: windrow run erases them"
    assert problems == [f"{root / 'archive' / name} {problem}" for name in returned]
    assert "records again that were taken down" in windrow("check").out
    assert windrow("export", "captures", "--as", "wacz").code == 2
    (summary,) = windrow("run", "town", "--json").of("summary")
    repaired = "erased 2 records that were taken down, since a copy of the file was restored"
    assert summary["repairs"] == [f"{name}: {repaired}" for name in returned]
    assert remains(root, SECRET) == []
    assert windrow("check").code == 0


def test_a_takedown_waits_for_a_missing_file(root: Path, village, windrow, monkeypatch) -> None:
    url = f"{village.origin(0)}/secret.html"
    missing, _erased = (root / name for name in remains(root, SECRET) if name.startswith("archive/"))
    backup = missing.rename(root.parent / missing.name)
    output = windrow("forget", url, "--yes", "--json")
    (forgotten,) = output.of("forgotten")
    assert (output.code, forgotten["done"]) == (1, False)
    loss = f"{missing} is missing: captures in it are lost; restore it from a backup, or accept the loss: touch {missing}.lost"
    assert loss in forgotten["errors"]
    assert remains(root, SECRET) == []  # the other file is erased at once
    problem = f"{url}: its takedown is not finished, and a part of it remains: windrow forget"
    assert problem in windrow("status").out
    accepting = shutil.copytree(root, root.parent / "accepting")
    shutil.copy(backup, missing)
    assert windrow("forget", "--yes").code == 0
    assert remains(root, SECRET) == []
    assert windrow("check").code == 0

    monkeypatch.chdir(accepting)
    (accepting / "archive" / f"{missing.name}.lost").touch()
    assert windrow("forget", "--yes").code == 0
    assert windrow("status", "--json").of("status")[0]["problems"] == []
    shutil.copy(backup, accepting / "archive")
    assert windrow("run", "town").code == 0
    assert remains(accepting, SECRET) == []


def test_the_tombstone_is_told_and_the_page_is_left_alone(root: Path, village, windrow) -> None:
    url = f"{village.origin(0)}/secret.html"
    assert windrow("forget", url, "--yes", "--reason", "asked by its author").code == 0
    mark = village.mark()
    assert windrow("run", "town", "--again").code == 0
    assert "/secret.html" not in {request.path for request in village.asked(mark)}
    (story,) = windrow("why", url, "--json").of("page")
    (grave,) = story["tombstones"]
    assert (story["state"], story["reason"], story["due"]) == ("forgotten", "forgotten", None)
    assert (grave["target"], grave["reason"], grave["lifted"]) == (url, "asked by its author", None)
    assert grave["done"] >= grave["at"]
    text = windrow("why", url).out
    assert "state: forgotten; taken down, and not requested again" in text
    assert ": asked by its author" in text
    assert windrow("check").code == 0

    assert windrow("forget", url, "--lift").code == 0
    assert windrow("run", "town").code == 0
    (story,) = windrow("why", url, "--json").of("page")
    assert (story["state"], len(story["tombstones"])) == ("open", 1)
    assert SECRET in windrow("search", SECRET).out
    assert windrow("check").code == 0

    with closing(sqlite3.connect(root / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE address SET due = NULL")  # as `cancel` does
    windrow("forget", url, "--lift")
    (story,) = windrow("why", url, "--json").of("page")
    assert story["due"] is None, "it is not taken down"


def test_what_others_have_of_the_same_text_stays_theirs(root: Path, village, windrow) -> None:
    first, second = (f"{village.origin(0)}/{name}.html" for name in ("one", "two"))
    assert "and 1 more address with the same text" in windrow("search", SHARED).out
    assert windrow("forget", first, "--yes").code == 0
    out = windrow("search", SHARED).out
    assert second in out
    assert "more address with the same text" not in out
    (story,) = windrow("why", second, "--json").of("page")
    assert (story["state"], story["alike"]) == ("open", [])
    assert windrow("why", second, "--json").of("version")[-1]["duplicate_of"] == ""
    assert windrow("check").err.endswith("all agree\n")
    assert len(windrow("why", first, "--json").of("version")) == 0


def test_a_whole_site_goes(root: Path, village, windrow) -> None:
    dry = windrow("forget", "town", "--dry-run", "--json").of("would_forget")
    assert [(estimate["target"], estimate["addresses"]) for estimate in dry] == [(village.origin(0), 6)]
    output = windrow("forget", "town", "--yes")
    assert output.code == 0, output.err
    for word in (SECRET, SHARED, "Welcome to all"):
        assert remains(root, word.lower()) == []
    mark = village.mark()
    output = windrow("run", "town", "--again")
    assert village.asked(mark) == []
    assert output.code == 3
    assert f"{village.origin(0)}/: it was taken down" in output.err
    assert "a seed that was taken down" in windrow("status").out
    assert windrow("search", "welcome").out == ""
    assert windrow("check").err.endswith("all agree\n")
    assert "taken down by" in windrow("why", "town").out


class Typed(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_is_asked(root: Path, village, windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{village.origin(0)}/secret.html"
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    refused = windrow("forget", url)
    assert refused.code == 130
    assert "Take this down? This cannot be undone." in refused.err
    assert remains(root, SECRET) != []
    monkeypatch.setattr("sys.stdin", Typed("y\n"))
    assert windrow("forget", url).code == 0
    assert remains(root, SECRET) == []


def test_nobody_is_asked_twice_and_nothing_goes_unasked(root: Path, village, windrow) -> None:
    url = f"{village.origin(0)}/secret.html"
    before = remains(root, SECRET)
    output = windrow("forget", url)
    assert output.code == 2
    assert "--yes" in output.err
    assert windrow("forget", url, "--dry-run").out.splitlines()[1].split()[1:4] == ["1", "2", "2"]
    assert windrow("forget", "https://elsewhere.example/", "--yes").code == 2
    assert databases(remains(root, SECRET)) == databases(before)
    assert windrow("forget", "--yes").err.endswith("there is no takedown to finish\n")


def databases(names: list[str]) -> set[str]:
    """Take a database and its write-ahead log, which comes and goes with who has it open, as one."""
    return {name.removesuffix("-wal") for name in names}


KILLED = """
import sys
from tests.crash.deadly import kill_at
from windrow.collections.pages.adapter import commands as forget
from windrow.engine import takedown
from windrow.ledger.takedowns import TakedownWriter
from windrow.archive import erase
from windrow.cli import main
kill_at(int(sys.argv[1]), (
    (TakedownWriter, "begin"), (takedown, "_mark_records"), (takedown, "erase"), (erase, "_write_at"), (forget, "forget_versions"),
    (forget, "forget_crawls"), (forget, "update_touched"), (forget, "make_index_phase"), (forget, "vacuum"),
))
main(["forget", sys.argv[2], "--yes", "--reason", "asked"])
"""


def test_a_killed_one_is_finished_by_the_next(root: Path, village, windrow, tmp_path: Path) -> None:
    url = f"{village.origin(0)}/secret.html"
    killed = 0
    for number in range(1, 60):
        done = programs.run("-c", KILLED, number, url, cwd=root)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        killed += 1
        if number % 9 == 0:  # now and then the next one is not killed
            assert windrow("forget", "--yes").code == 0
            assert remains(root, SECRET) == []
            assert windrow("check").err.endswith("all agree\n")
            assert windrow("forget", url, "--lift").code == 0
            assert windrow("run", "town", "--again").code == 0
            assert remains(root, SECRET) != []
    assert killed > 12
    assert remains(root, SECRET) == []
    assert windrow("check").err.endswith("all agree\n")
    assert "/calm.html" in windrow("search", "nothing happens").out


@pytest.mark.parametrize("database", ["ledger.sqlite", "summary.sqlite", "crawler.sqlite"])
def test_a_page_is_not_forgotten_while_another_process_reads_its_old_bytes(
    root: Path, village, windrow, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    """A read transaction keeps old pages in the log beside a database, and SQLite says so in an answer alone."""
    monkeypatch.setattr("windrow.stores.sqlite.LOCK_TIMEOUT", 0.5)
    url = f"{village.origin(0)}/secret.html"
    with closing(sqlite3.connect(root / database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        output = windrow("forget", url, "--yes")
        assert output.code == 1
        assert f"{database}-wal" in output.err
        assert "then: windrow forget" in output.err
        assert f"{url}: removed" not in output.out
        (grave,) = windrow("why", url, "--json").of("page")[0]["tombstones"]
        assert grave["done"] is None
        assert "windrow forget" in windrow("check").out
        (takedown,) = windrow("forget", "--yes", "--json").of("forgotten")
        assert (takedown["target"], takedown["done"]) == (url, False)
        reader.execute("COMMIT")
    assert windrow("forget", "--yes").code == 0
    assert remains(root, SECRET) == []
    (grave,) = windrow("why", url, "--json").of("page")[0]["tombstones"]
    assert grave["done"] >= grave["at"]
    assert windrow("check").err.endswith("all agree\n")


def test_a_reader_that_ends_in_time_does_not_keep_a_page_from_being_forgotten(root: Path, village, windrow) -> None:
    reader = sqlite3.connect(root / "summary.sqlite", isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
    timer = threading.Timer(3.0, reader.close)
    timer.start()
    try:
        assert windrow("forget", f"{village.origin(0)}/secret.html", "--yes").code == 0
    finally:
        timer.join()
    assert remains(root, SECRET) == []


def test_what_a_killed_replay_left_is_forgotten_too(root: Path, village, windrow) -> None:
    left = root / ".summary.sqlite.replay"
    left.mkdir()
    shutil.copyfile(root / "summary.sqlite", left / "summary.sqlite")
    assert windrow("forget", f"{village.origin(0)}/secret.html", "--yes").code == 0
    assert not left.exists()
    assert remains(root, SECRET) == []


def test_a_source_that_was_taken_down_has_no_error_in_status(root: Path, windrow) -> None:
    """It said that robots.txt could not be fetched, because the attempt has the reason `forgotten` now."""
    assert windrow("forget", "town", "--yes").code == 0
    ((source,),) = (status["sources"] for status in windrow("status", "--json").of("status"))
    assert (source["source"], source["items"], source["failed"], source["error"]) == ("town", 0, 0, "")
    assert windrow("forget", "town", "--lift").code == 0
    told = windrow("status")
    assert "5 addresses due now" in told.out
    assert "robots.txt" not in told.out


def test_a_renamed_site_keeps_its_pages(root: Path, village, windrow) -> None:
    """To forget the old name, as status advised, took the pages from the new one, which was never requested again."""
    config = root / "windrow.toml"
    text = config.read_text()
    config.write_text(text.replace("[source.town]", "[source.place]"))
    for _ in range(2):
        assert "windrow forget NAME" not in windrow("status").err
        for option in ("--dry-run", "--yes"):
            refused = windrow("forget", "town", option)
            assert refused.code == 2
            assert "belongs to the source place too, which would lose it" in refused.err
            assert "if " in refused.err and "was only renamed, nothing needs to be done" in refused.err
            assert f"windrow forget {village.origin(0)[7:]} would remove it from all sources, for good" in refused.err
        assert windrow("run").code == 0
    url = f"{village.origin(0)}/calm.html"
    for name, target in ((url, url), (village.origin(0)[7:], village.origin(0))):
        estimate = windrow("forget", name, "--dry-run")
        assert f"{target}: it is removed from all sources that have it: place, town\n" in estimate.err
    config.write_text(text.partition("[source.town]")[0])
    assert "windrow forget NAME" in windrow("status").err
    assert windrow("forget", "place", "--yes").code == 0
    assert remains(root, SECRET) == [], "what the earlier name has of these pages goes too"


def test_a_new_source_whose_only_seed_was_taken_down_fails(root: Path, windrow) -> None:
    """A run gave nothing from it, and said that all was well."""
    config = root / "windrow.toml"
    text = config.read_text()
    config.write_text(text.partition("[source.town]")[0])
    assert windrow("forget", "town", "--yes").code == 0
    config.write_text(text.replace("[source.town]", "[source.place]"))
    assert windrow("run").code == 3
    assert "; to lift that: windrow forget NAME --lift" in windrow("status").out
