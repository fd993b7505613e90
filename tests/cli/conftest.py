"""A workspace with a folder as its source, one with two small sites, and the command line within this process."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import programs
from tests.clock import real_clock, real_clock_after_module  # noqa: F401
from tests.servers.village import Village
from windrow.app import Windrow as App
from windrow.app.begin import NewSource, add_source, prepare
from windrow.cli import main
from windrow.demo.partner import drop

AGENT = "tester-crawler (for https://example.org/bot)"
OPERATOR = '[pages]\noperator = "tester"\ncontact = "https://example.org/bot"\nprivate_hosts = ["127.0.0.1"]\n'


class CommandOutput(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]


Windrow = Callable[..., CommandOutput]


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WINDROW_")]:
        monkeypatch.delenv(name)


def open_files() -> set[str]:
    """Return the databases in folders of tests that this process has open."""
    held = set()
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own
            held.add(str(path.readlink()))
    return {name for name in held if "/pytest-" in name and re.search(r"\.(sqlite|db)(-wal|-shm)?$", name)}


@pytest.fixture
def windrow(capfd: pytest.CaptureFixture[str]) -> Iterator[Windrow]:
    """Run a command in this process, and return its exit code and its output.

    A command closes what it opened: a database left to the garbage collector writes into its file whenever
    that comes by. So none runs while commands do.
    """

    def call(*words: object) -> CommandOutput:
        capfd.readouterr()
        before = open_files()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert not open_files() - before, words
        return CommandOutput(int(ended.value.code or 0), *capfd.readouterr())

    gc.disable()
    yield call
    gc.enable()


Start = Callable[..., programs.PipedProcess]
IGNORING = """
import signal, sys
from windrow.cli import main
signal.signal(signal.SIGINT, signal.SIG_IGN)
main(sys.argv[1:])
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Start commands in process groups of their own; they end with the test."""
    with ExitStack() as ends:

        def call(*words: object, cwd: Path, ignores_interrupts: bool = False) -> programs.PipedProcess:
            program = ("-c", IGNORING) if ignores_interrupts else ("-m", "windrow")
            return ends.enter_context(programs.start_piped(*program, *words, cwd=cwd))

        yield call


def lay_out_partner(folder: Path) -> None:
    """Write a partner's folder: two good zips, an invalid one, names with a bad date and too long, a file to leave out."""
    for number in (1, 2):
        name, content = drop("H", "2026-01-12", number)
        put(folder, f"add/{name}", content)
    put(folder, "add/H.2026-01-13.9.impc.zip", b"not a zip")
    put(folder, "add/H.2026-02-31.1.impc.zip", b"PK")
    put(folder, f"add/{'X' * 200}.zip", b"PK")
    put(folder, "add/readme.txt", b"hello")


@pytest.fixture(scope="session")
def place_of_drops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that each test's partner and workspace are copied to: a harvest records both addresses."""
    return tmp_path_factory.mktemp("drops") / "place"


@pytest.fixture
def partner(place_of_drops: Path) -> Path:
    """Lay out the partner's folder anew."""
    shutil.rmtree(place_of_drops, ignore_errors=True)
    lay_out_partner(place_of_drops / "partner")
    return place_of_drops / "partner"


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def lay_out_workspace(root: Path, partner: Path) -> None:
    """Make a workspace that knows the partner as `harwell`."""
    prepare(root)
    add_source(root, NewSource("harwell", f"file://{partner}", "drops", {"centre": "H"}))


@pytest.fixture
def workspace(partner: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that knows the partner as `harwell`; it is the current folder."""
    root = partner.parent / "workspace"
    lay_out_workspace(root, partner)
    monkeypatch.chdir(root)
    return root


@pytest.fixture(scope="session")
def drops_of_all(place_of_drops: Path) -> Path:
    """Harvest the partner once; return a copy of it and of the workspace."""
    shutil.rmtree(place_of_drops, ignore_errors=True)
    lay_out_partner(place_of_drops / "partner")
    lay_out_workspace(place_of_drops / "workspace", place_of_drops / "partner")
    assert App(place_of_drops / "workspace").run().exit_code == 0
    return place_of_drops.rename(place_of_drops.with_name("harvested"))


@pytest.fixture
def harvested(drops_of_all: Path, workspace: Path) -> Path:
    """The workspace after a first run, as the current folder; the partner is the one that was harvested."""
    for each in (workspace, workspace.parent / "partner"):
        shutil.rmtree(each)
    shutil.copytree(drops_of_all, workspace.parent, dirs_exist_ok=True)
    os.chdir(workspace)  # the one before is gone
    return workspace


def setting(root: Path, text: str) -> None:
    """Put settings at the head of windrow.toml."""
    main_file = root / "windrow.toml"
    main_file.write_text(f"{main_file.read_text()}\n{text}\n")


def page(title: str, *links: str, head: str = "") -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>{title}</title>{head}<main><h1>{title}</h1><p>All about {title}.</p>{anchors}</main>"


def lay_out_sites(village: Village) -> None:
    """Write a site with all kinds of links, and a second one beside it."""
    village.clear()
    other_origin = village.origin(1)
    village.put(0, "robots.txt", "User-agent: *\nDisallow: /shut/\n")
    village.put(
        0, "index.html",
        page("home", "a.html", "b.html", "old.html", "gone.html", "shut/x.html", "hidden.html", "list?sort=1", "p.png",
             f"{other_origin}/", "http://192.0.2.1/", "mailto:a@b.example", "a.html?utm_source=x", "nofollow.html"),
    )  # fmt: skip
    village.put(0, "a.html", page("a", "b.html", "/"))
    village.put(0, "b.html", page("b", "missing.html"))
    village.put(0, "new.html", page("new"))
    village.put(0, "hidden.html", page("hidden", "behind.html"))
    village.put(0, "behind.html", page("behind"))
    village.put(0, "nofollow.html", page("nofollow", "behind.html", head='<meta name="robots" content="nofollow">'))
    village.put(0, "shut/x.html", page("x"))
    village.put(0, "packed.html", gzip.compress(page("packed").encode()))
    village.put(0, "packed.html", gzip.compress(page("packed").encode()))
    village.put(1, "robots.txt", "User-agent: tester-crawler\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    village.put(1, "index.html", page("other"))


def know_sites(folder: Path, village: Village) -> None:
    """Make a workspace that knows both sites."""
    prepare(folder)
    (folder / "windrow.toml").write_text(
        f'{OPERATOR}delay = "1 ms"\n'
        f'[source.one]\ncollection = "pages"\nurl = "{village.origin(0)}/"\n'
        f'[source.two]\ncollection = "pages"\nseeds = ["{village.origin(1)}/"]\n'
    )


@pytest.fixture
def small(village: Village) -> Village:
    """Lay out both sites."""
    lay_out_sites(village)
    return village


@pytest.fixture
def root(tmp_path: Path, small: Village, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a workspace that knows both sites; it is the current folder."""
    folder = tmp_path / "workspace"
    know_sites(folder, small)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def crawl_of_all(tmp_path_factory: pytest.TempPathFactory, village: Village) -> Path:
    """Crawl both sites once; return the workspace."""
    folder = tmp_path_factory.mktemp("crawled") / "workspace"
    lay_out_sites(village)
    know_sites(folder, village)
    assert App(folder).run(["pages"]).exit_code == 0
    return folder


@pytest.fixture
def crawled(crawl_of_all: Path, root: Path) -> Path:
    """A workspace after both sites were crawled, as the current folder."""
    shutil.copytree(crawl_of_all, root, dirs_exist_ok=True)
    return root


def paths(asked: Iterable[Any], port: int) -> list[str]:
    return sorted(request.path for request in asked if request.port == port)


WHOLE = ["/", "/a.html", "/b.html", "/gone.html", "/hidden.html", "/missing.html", "/new.html", "/nofollow.html",
         "/old.html", "/robots.txt"]  # fmt: skip
