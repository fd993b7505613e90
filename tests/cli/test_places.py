"""A wrong path in windrow.toml: every command refuses it with exit code 4, and changes no file."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from windrow.config.load import declared_settings, load
from windrow.contract.registry import installed
from windrow.errors import ConfigError

COMMANDS = [("run", "pages"), ("forget", "--yes"), ("replay",), ("config",), ("status",), ("search", "tea")]


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_index_in_a_place_of_the_workspace_is_refused(crawled: Path, windrow) -> None:
    text = (crawled / "windrow.toml").read_text()
    for index in (".", "..", "archive", "sources", "ledger.sqlite"):
        (crawled / "windrow.toml").write_text(text.replace("[pages]\n", f'[pages]\nindex = "{index}"\n', 1))
        before = everything(crawled)
        for words in COMMANDS:
            output = windrow(*words)
            assert output.code == 4, (index, words)
            assert "pages.index" in output.err
        assert everything(crawled) == before


def test_an_index_in_the_folder_of_somebody_else_is_refused_before_anybody_is_asked(
    root: Path, small, windrow, tmp_path: Path
) -> None:
    home = tmp_path / "letters"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    text = (root / "windrow.toml").read_text()
    (root / "windrow.toml").write_text(text.replace("[pages]\n", f'[pages]\nindex = "{home}"\n', 1))
    mark = small.mark()
    for words in (("run", "pages"), ("run", "pages", "--dry-run"), ("forget", "--yes"), ("run",)):
        output = windrow(*words)
        assert output.code == 4, (words, output.err)
        assert "that folder has files that are not an index of windrow" in output.err
        assert "pages.index" in output.err
    assert everything(home) == {str(home / "letter.txt"): b"dear"}
    assert not small.asked(mark)


def test_an_archive_outlives_the_loss_of_its_ledger(crawled: Path, windrow) -> None:
    ledger = (crawled / "ledger.sqlite").read_bytes()
    (crawled / "ledger.sqlite").unlink()
    before = everything(crawled / "archive")
    for _ in range(2):
        output = windrow("run", "pages")
        assert output.code == 4
        assert "nothing in it was touched" in output.err
    assert everything(crawled / "archive") == before
    for name in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (crawled / name).unlink(missing_ok=True)
    (crawled / "ledger.sqlite").write_bytes(ledger)
    assert windrow("run", "pages").code == 0
    assert windrow("check").code == 0


def test_a_workspace_does_not_touch_warc_files_that_lay_in_its_archive_folder(root: Path, windrow) -> None:
    mine = root / "archive" / "holiday.warc.gz"
    mine.parent.mkdir(exist_ok=True)
    mine.write_bytes(b"mine")
    assert windrow("run", "pages").code == 4
    assert mine.read_bytes() == b"mine"


def test_no_two_places_of_all_collections_may_be_one_file_or_folder_or_lie_in_each_other(tmp_path: Path) -> None:
    """Every setting whose default is a file or folder of the workspace takes part, whatever its kind."""
    known = declared_settings(installed())
    places = [
        place.name for place in known.values()
        if place.written or (isinstance(place.default, str) and place.default.endswith((".db", ".sqlite")))
    ]  # fmt: skip
    assert {"events.documents", "news.raw_folder", "papers.table", "papers.catalogue_index"} <= {*places}
    for place, second_place in combinations(places, 2):
        for first, second in (("same", "same"), ("same", "same/deep"), ("same/deep", "same"), ("same", "same-wal")):
            tables: dict[str, list[str]] = {}
            for name, path in ((place, first), (second_place, second)):
                section, _, word = name.partition(".")
                tables.setdefault(section, []).append(f'{word} = "{path}"')
            text = "\n".join("\n".join((f"[{section}]", *lines)) for section, lines in tables.items())
            (tmp_path / "windrow.toml").write_text(text)
            with pytest.raises(ConfigError, match="nothing was read or written"):
                load(tmp_path, environ={})
