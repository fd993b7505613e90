"""A wrong path in windrow.toml costs nobody a file: every command refuses it, exit 4, and touches nothing."""

from __future__ import annotations

from pathlib import Path

COMMANDS = [("run", "pages"), ("forget", "--yes"), ("replay",), ("config",), ("status",), ("search", "tea")]


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_index_in_a_place_of_the_workspace_is_refused(crawled: Path, windrow) -> None:
    text = (crawled / "windrow.toml").read_text()
    for index in (".", "..", "archive", "sources", "ledger.sqlite"):
        (crawled / "windrow.toml").write_text(text.replace("[pages]\n", f'[pages]\nindex = "{index}"\n', 1))
        before = everything(crawled)
        for words in COMMANDS:
            said = windrow(*words)
            assert said.code == 4, (index, words)
            assert "pages.index" in said.err
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
        said = windrow(*words)
        assert said.code == 4, (words, said.err)
        assert "not empty" in said.err
        assert "pages.index" in said.err
    assert everything(home) == {str(home / "letter.txt"): b"dear"}
    assert not small.asked(mark)
