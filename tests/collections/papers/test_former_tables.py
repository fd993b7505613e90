"""Tables of papers that the settings named before, or that were restored: their rows stay known."""

import shutil
from contextlib import closing
from pathlib import Path

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from windrow.app.takedowns import take_down
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.rows import bring_up_to_date
from windrow.collections.papers.database.store import RowRegister

SECRET, OTHER = pdf("Nobody knows of this paper"), pdf("Everybody knows of this paper")


def test_rows_stay_windrows_own_when_the_workspace_is_moved(tmp_path: Path) -> None:
    """The register named the table by its absolute path, so all rows counted as another program's after a move."""
    shelf = Shelf(tmp_path / "one.warc.gz")
    shelf.put("http://example.org/other.pdf", OTHER)
    (root := tmp_path / "here").mkdir()
    library = Library(root, "", f'warc = ["{shelf.path}"]\n')
    for table in ("former.db", "papers.table.db"):
        library.section = f'table = "{table}"'
        library.run()
    with closing(RowRegister(root / "papers.rows.db")) as register:  # as windrow named them before
        register.put_meta("made", register.meta("made").replace("papers.table.db", f"{root}/papers.table.db"))
        register._connection.execute(f"UPDATE former_row SET place = replace(place, 'former.db', '{root}/former.db')")
    library.run()
    library = Library(root.rename(tmp_path / "there"), "", f'warc = ["{shelf.path}"]\n')
    for table in ("papers.table.db", "former.db"):
        library.section = f'table = "{table}"'
        library.run()
        with closing(RowRegister(tmp_path / "there" / "papers.rows.db")) as register:
            assert register.own_columns([key := f"sha1:{sha1(OTHER)}"]) == {key: {*library.rows()[key]}}


def test_a_table_or_register_that_is_an_older_copy_gets_its_rows_back(tmp_path: Path) -> None:
    """A run said that all rows are up to date, and the rows of later papers stayed missing."""
    (tmp_path / "warcs").mkdir()
    library = Library(tmp_path, "", 'warc = ["warcs"]\n')
    names = ["papers.table.db", "papers.rows.db"]
    for number, content in enumerate((SECRET, OTHER)):
        if number:
            for name in names:
                shutil.copy(tmp_path / name, tmp_path / f"{name}.old")
        Shelf(tmp_path / "warcs" / f"{number}.warc.gz").put(f"http://example.org/{number}.pdf", content)
        library.run()
    whole = library.rows()
    settings = ADAPTER._paper_settings(library.workspace())
    for name in names:
        shutil.copy(tmp_path / f"{name}.old", tmp_path / name)
        message = bring_up_to_date(settings, lambda: True).message
        assert message.startswith("2 rows written, 0 removed; the ")
        assert message.endswith("of rows had been replaced by an older copy, so all are written again")
        assert library.rows() == whole
        with closing(RowRegister(settings.register)) as register:
            assert register.own_columns([*whole]) == {key: {*cells} for key, cells in whole.items()}
            assert register.keys() == sorted(whole)
        assert bring_up_to_date(settings, lambda: True).message == "all rows are up to date"


def test_a_takedown_reaches_former_tables_and_rows_are_own_again_after_a_return(tmp_path: Path) -> None:
    """Rows of a former table were forgotten: their text stayed there, and they counted as others' after a return."""
    shelf = Shelf(tmp_path / "one.warc.gz")
    for name, content in {"secret": SECRET, "other": OTHER}.items():
        shelf.put(f"http://example.org/{name}.pdf", content)
    library = Library(tmp_path, "", f'warc = ["{shelf.path}"]\n')
    for table in ("one", "two", "three"):
        library.section = f'table = "{table}.db"'
        library.run()
        assert len(library.rows()) == 2
    (tmp_path / "one.db").rename(tmp_path / "away.db")

    def forget() -> list[str]:
        results = take_down(library.workspace(), library.setup(), [sha1(SECRET)], "asked", {"papers": ADAPTER})
        return [error for result in results for error in result.errors]

    (error,) = forget()
    assert error.startswith(
        "not removed: 1 row in the former table wbgrp-journal-extract-0-prod, which cannot be opened"
    )
    (tmp_path / "away.db").rename(tmp_path / "one.db")
    assert forget() == []
    files = [*tmp_path.glob("one.db*"), *tmp_path.glob("two.db*"), *tmp_path.glob("three.db*")]
    files += [path for path in tmp_path.glob("papers*.db*") if path.is_file()]
    assert len(files) >= 5
    assert not any(sha1(SECRET).encode() in path.read_bytes() for path in files)
    library.section = 'table = "one.db"'
    library.run()
    with closing(RowRegister(ADAPTER._paper_settings(library.workspace()).register)) as register:
        assert register.own_columns([key := f"sha1:{sha1(OTHER)}"]) == {key: {*library.rows()[key]}}
