"""The places of a workspace do not overlap: what windrow writes or removes in one is not part of another."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windrow.config import load
from windrow.errors import ConfigError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "home" / "workspace"
    (root / "sources").mkdir(parents=True)
    (root / "windrow.toml").write_text("")
    return root


def load_with(root: Path, text: str) -> None:
    (root / "windrow.toml").write_text(text)
    load(root, {})


PATHS = [
    *(".", "..", "../..", "./", "x/..", "../workspace", "/", "{root}", "{root}/..", "//{root}"),
    *("sources", "sources/x", "sources/../sources", "windrow.toml", "windrow.toml/x", "host_keys.toml", ".replay"),
    *(".replay/x", ".summary.sqlite.replay", ".summary.sqlite.replay/index"),
]
NAMES = ["pages.index", "archive.folder", "ledger.path", "pages.summary_database", "drops.store"]


@pytest.mark.parametrize(
    ("name", "path"),
    # with another name the database has another folder beside it
    [(name, path) for name in NAMES for path in PATHS if (name, path[:8]) != ("pages.summary_database", ".summary")],
)
def test_no_place_is_the_workspace_or_what_windrow_keeps_there(root: Path, name: str, path: str) -> None:
    section, _, word = name.partition(".")
    with pytest.raises(ConfigError, match=f"windrow.toml: {name}: ") as caught:
        load_with(root, f'[{section}]\n{word} = "{path.replace("{root}", str(root))}"')
    assert caught.value.exit_code == 4
    assert name in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[pages]\nindex = "archive"', "is the same as"),
        ('[pages]\nindex = "archive/index"', "contains pages.index|is in archive"),
        ('[archive]\nfolder = "index/archive"', "is in pages.index|contains archive"),
        ('[archive]\nfolder = "a/b"\n[pages]\nindex = "a/b/../b/c"', "archive.folder: .* contains pages.index"),
        ('[pages]\nindex = "ledger.sqlite"', "is the same as"),
        ('[pages]\nindex = "ledger.sqlite/x"', "ledger.path"),
        ('[pages]\nsummary_database = "archive/summary.sqlite"', "pages.summary_database: .* is in archive.folder"),
        ('[pages]\nsummary_database = "crawler.sqlite"', "is the same as"),
        ('[pages]\nsummary_database = "drops.sqlite"', "is the same as"),
        ('[drops]\nstore = "tracker.sqlite"', "is the same as"),
        ('[drops]\nstore = "sqlite:///{root}/ledger.sqlite"', "is the same as"),
        ('[drops]\nstore = "sqlite:///{root}/ledger.sqlite?timeout=5"', "is the same as"),
        ('[drops]\nstore = "sqlite:///{root}/%6cedger.sqlite"', "is the same as"),
        ('[drops]\nstore = "ledger.sqlite-wal"', "clashes with a file that SQLite keeps beside ledger.path"),
        ('[drops]\nschemas.specimen = "archive/x.xsd"', "archive.folder: .* contains drops.schemas.specimen"),
        ('[drops]\nlists.strains = "summary.sqlite"', "is the same as drops.lists.strains"),
        (
            '[source.h]\ncollection = "drops"\nurl = "ftp://a.example/"\nsecret = "file:index/key"',
            "contains source.h.secret",
        ),
    ],
)
def test_two_places_of_a_workspace_never_overlap(root: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_with(root, text.replace("{root}", str(root)))


def test_two_places_do_not_overlap_through_a_link(root: Path) -> None:
    (root / "archive").mkdir()
    (root / "elsewhere").symlink_to("archive")
    with pytest.raises(ConfigError, match="is the same as"):
        load_with(root, '[pages]\nindex = "elsewhere"')
    (root / "up").symlink_to("..")
    with pytest.raises(ConfigError, match="contains the whole workspace"):
        load_with(root, '[pages]\nindex = "up"')
    (root / "round").symlink_to("round")
    load_with(root, '[pages]\nindex = "round/x"')


def test_two_names_of_one_file_overlap(root: Path) -> None:
    (root / "ledger.sqlite").write_bytes(b"")
    os.link(root / "ledger.sqlite", root / "other.sqlite")
    with pytest.raises(ConfigError, match="is the same as"):
        load_with(root, '[pages]\nsummary_database = "other.sqlite"')


def test_a_place_of_the_environment_is_refused_with_its_variable(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"env WINDROW_PAGES_INDEX: pages\.index") as caught:
        load(root, {"WINDROW_PAGES_INDEX": ".."})
    assert caught.value.hint == "unset WINDROW_PAGES_INDEX"


def test_places_that_lie_apart_are_accepted(root: Path) -> None:
    server = "postgresql+psycopg://u@h/d"
    load_with(
        root,
        f'[archive]\nfolder = "{root.parent}/archive"\n[pages]\nindex = "archive.index"\nsummary_database = "data/summary.sqlite"\n'
        f'crawler_database = "data/crawler.sqlite"\n[drops]\ntracker = "{server}"\nstore = "{server}"\n'
        '[source.h]\ncollection = "drops"\nurl = "file:partner"\n',
    )


def test_the_home_of_nobody_is_no_path(root: Path) -> None:
    with pytest.raises(ConfigError, match="the path begins with ~NAME, but this machine has no user of that name"):
        load_with(root, '[pages]\nindex = "~nobody-of-this-name/index"')
