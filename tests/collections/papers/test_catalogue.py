"""The catalogue's files: what is taken from each, and what is reported when one changes, fails or is gone."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import closing
from errno import EACCES
from pathlib import Path

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from windrow.app import Windrow as App
from windrow.cli import main
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.catalogue_files import describe_losses, update_index
from windrow.collections.papers.adapter.rows import bring_up_to_date, open_rows
from windrow.collections.papers.columns import Put, decode_row
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.matching import STUBS, Paper
from windrow.engine.progress import Progress
from windrow.engine.session import Session
from windrow.ledger import Ledger

TITLES = ("A careful measure of everything", "Another measure of the whole thing")
CONTENTS = [pdf(title) for title in TITLES]


def work(number: int) -> bytes:
    fields = {"doi": f"10.5000/{number}", "title": TITLES[number], "authors": ["Nobody Known"], "year": 2001}
    return json.dumps(fields).encode()


@pytest.fixture
def library(tmp_path) -> Library:
    (tmp_path / "warcs").mkdir()
    (tmp_path / "works").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "shelf.warc.gz")
    for number, content in enumerate(CONTENTS):
        shelf.put(f"http://example.org/{number}.pdf", content)
    shelf.index(tmp_path / "shelf.cdx")
    return Library(tmp_path, 'catalogue = ["works"]', f'cdx = ["{tmp_path}/shelf.cdx"]\nwarc = ["{tmp_path}/warcs"]\n')


def matched(library: Library) -> list[str | None]:
    """Return the name of the work that each paper was matched with, or None."""
    rows = [decode_row(library.rows()[f"sha1:{sha1(content)}"]) for content in CONTENTS]
    return [row["match0:minfo"].get("record") for row in rows]


def update(library: Library) -> tuple[str, str]:
    """Bring the rows up to date as a run does; return the message, and the error that ends the run with 3."""
    derived = bring_up_to_date(ADAPTER._paper_settings(library.workspace()), lambda: True)
    return derived.message, derived.errors.get("", "")


def put(path: Path, content: bytes, at: int = 1) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(at, at))


def test_works_leave_when_their_file_does_and_the_counts_of_each_file_are_reported(library):
    works = library.root / "works"
    put(works / "a.jsonl", work(0) + b"\noops\n7\n" + json.dumps({"id": "no title"}).encode())
    put(works / "b.jsonl", work(1))
    assert not library.run().failed
    assert matched(library) == ["10.5000/0", "10.5000/1"]
    index = ADAPTER._paper_settings(library.workspace()).catalogue_index
    index.unlink()
    message, error = update(library)
    assert "2 works read from 2 files, 3 records refused: bad_line 2, not_wanted 1" in message
    assert f"{works}/a.jsonl: 1 work, 3 records refused: bad_line 2, not_wanted 1; {works}/b.jsonl: 1 work" in message
    assert error == ""
    assert matched(library) == ["10.5000/0", "10.5000/1"], "the index was deleted, and is made anew"
    assert update(library) == ("all rows are up to date", "")
    (works / "b.jsonl").unlink()
    assert f"{works}/b.jsonl is gone: 1 work removed" in update(library)[0]
    assert matched(library) == ["10.5000/0", None]
    put(works / "a.jsonl", work(0) + b"\n" + work(1), 2)
    assert "2 works (1 before)" in update(library)[0]
    assert matched(library) == ["10.5000/0", "10.5000/1"]
    put(works / "a.jsonl", work(1), 3)
    assert "1 work (2 before)" in update(library)[0], "a catalogue of half its size is reported"
    assert matched(library) == [None, "10.5000/1"]


def test_the_index_elsewhere_is_another_index(library):
    put(library.root / "works" / "a.jsonl", work(0))
    library.run()
    library.section += '\ncatalogue_index = "elsewhere.db"'
    put(library.root / "works" / "a.jsonl", work(1), 2)
    update(library)
    assert matched(library) == [None, "10.5000/1"]


def test_one_bad_file_costs_itself_alone_and_keeps_its_former_works(library):
    works = library.root / "works"
    put(works / "a.jsonl.gz", gzip.compress(work(0), mtime=0))
    put(works / "b.jsonl", work(1))
    library.run()
    put(works / "a.jsonl.gz", gzip.compress(work(0) * 50, mtime=0)[:60], 2)
    put(works / "c.jsonl.gz", gzip.compress(work(0) * 50, mtime=0)[:60])
    for _ in range(2):
        session = library.run()
        assert session.failed, "the run ends with exit code 3 as long as a file cannot be read"
    error = update(library)[1]
    assert f"{works}/a.jsonl.gz cannot be read" in error
    assert f"{works}/c.jsonl.gz cannot be read" in error
    assert matched(library) == ["10.5000/0", "10.5000/1"]
    put(works / "a.jsonl.gz", gzip.compress(b"", mtime=0), 3)
    (works / "c.jsonl.gz").unlink()
    assert "0 works (1 before)" in update(library)[0]
    assert update(library) == ("all rows are up to date", "")
    assert matched(library) == [None, "10.5000/1"]


def test_a_catalogue_that_is_not_there_is_a_failure_and_keeps_its_works(library, capsys):
    works = library.root / "works"
    put(works / "a.jsonl", work(0))
    library.run()
    works.rename(library.root / "away")
    assert library.run().failed
    with pytest.raises(SystemExit):
        main(["status", "--workspace", str(library.root)])
    assert f"the catalogue: {works} does not exist or has no files" in capsys.readouterr().out
    with Session(library.setup(), "run"):  # of other collections
        pass
    with pytest.raises(SystemExit):
        main(["status", "--workspace", str(library.root)])
    assert f"the catalogue: {works} does not exist or has no files" in capsys.readouterr().out
    works.mkdir()
    assert f"{works} does not exist or has no files; works imported earlier are kept" in update(library)[1]
    assert matched(library) == ["10.5000/0", None]
    library.section = 'catalogue = ["away"]'
    update(library)
    assert matched(library) == ["10.5000/0", None]
    library.section = ""
    assert "no catalogue is configured, but the index has 1 work" in update(library)[0]


def test_linked_folders_are_read_and_folders_that_cannot_be_read_keep_their_works(library, monkeypatch):
    linked = library.root / "elsewhere" / "deep"
    linked.mkdir(parents=True)
    (linked / "loop").symlink_to(library.root / "works")
    (library.root / "works" / "link").symlink_to(library.root / "elsewhere")
    put(linked / "a.jsonl", work(0))
    library.run()
    assert matched(library) == ["10.5000/0", None]
    scan = os.scandir

    def refuse(path):
        if Path(path).name == "deep":
            raise PermissionError(EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    put(library.root / "works" / "b.jsonl", work(1))
    assert f"{library.root}/works/link/deep cannot be read: Permission denied" in update(library)[1]
    assert matched(library) == ["10.5000/0", "10.5000/1"]


def test_a_stopped_update_says_what_it_changed_and_removes_nothing(library, tmp_path):
    """A file that was halved just before the stop was never mentioned: the next run found it unchanged."""
    works = library.root / "works"
    for name, content in {"a": work(0) + b"\n" + work(1), "b": work(0), "gone": work(1)}.items():
        put(works / f"{name}.jsonl", content)
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        update_index(index, [works], lambda: True)
        (works / "gone.jsonl").unlink()
        put(works / "a.jsonl", work(1), 2)
        put(works / "b.jsonl", work(1), 2)
        changes = update_index(index, [works], iter([True, False]).__next__).changes
        assert f"{works}/a.jsonl: 1 work (2 before)" in changes
        assert changes.endswith("; the catalogue was not read to its end, as the run was stopped")
        changes = update_index(index, [works], lambda: True).changes
        assert f"({works}/b.jsonl: 1 work (1 before); {works}/gone.jsonl is gone: 1 work removed)" in changes


def test_files_and_places_that_may_not_be_entered_are_problems(library, tmp_path, monkeypatch):
    """They ended the run with a traceback."""
    works, look = library.root / "works", os.stat
    put(works / "a.jsonl", work(0))
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        update_index(index, [works], lambda: True)
        for barred in (works, works / "a.jsonl"):

            def refuse(path, *arguments, barred=barred, **options):
                if Path(path) == barred:
                    raise PermissionError(EACCES, "Permission denied", str(path))
                return look(path, *arguments, **options)

            with monkeypatch.context() as patch:
                patch.setattr(os, "stat", refuse)
                state = update_index(index, [works], lambda: True)
            assert f"{barred} cannot be read: Permission denied" in state.problems
            assert (state.changes, index.count()) == ("", 1)


def test_records_that_replace_others_of_their_file_are_counted(tmp_path):
    records = [{"id": "1", "title": "One"}, {"id": "1", "title": "Another"}, {"id": "1", "title": "Another"}]
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        file = index.import_file("a.jsonl", "1", records)
        assert (file.works, file.repeated, file.refused) == (1, 1, {})
        assert describe_losses(*index.files()) == ", 1 record replaced by later ones with the same id"


def test_the_files_of_the_catalogue_are_exported(library, tmp_path):
    put(library.root / "works" / "a.jsonl", work(0) + b"\noops")
    library.run()
    export = next(export for export in ADAPTER.EXPORTS if export.name == "paper-catalogue")
    with (tmp_path / "out.tsv").open("w") as output:
        assert export.write(library.workspace(), "tsv", output) == 1
    fields = (tmp_path / "out.tsv").read_text().rstrip("\n").split("\t")
    assert fields == [str(library.root / "works" / "a.jsonl"), "1", "1 record refused: bad_line 1", ""]


def test_refused_records_and_files_are_in_the_summary_and_in_status_until_they_are_repaired(library):
    app = App(library.workspace().root)
    put(library.root / "works" / "a.jsonl", work(0) + b"\noops\nagain")
    put(library.root / "works" / "notes", b"Works of 2026.\n")
    for _ in range(2):
        library.run()
        state = app.status()
        assert state.last is not None
        assert state.last.warnings == 0
        refused = [(count.source, count.reason, count.addresses, count.example) for count in state.left_out]
        assert refused == [
            ("papers", "bad_line", 2, f"{library.root}/works/a.jsonl"),
            ("papers", "unsupported", 1, f"{library.root}/works/notes"),
        ]
        assert state.last.left_out == state.left_out
    put(library.root / "works" / "a.jsonl", work(0), 2)
    (library.root / "works" / "notes").unlink()
    library.run()
    assert app.status().left_out == ()


def test_works_that_lose_authors_are_counted(library):
    fields = {"doi": "10.5000/9", "title": "A measure by many hands", "authors": [f"Ann Lee{at}" for at in range(201)]}
    put(library.root / "works" / "a.jsonl", work(0) + b"\n" + json.dumps(fields).encode() + b"\noops")
    library.run()
    losses = "1 work shortened to 200 authors, 1 record refused: bad_line 1"
    with closing(CatalogueIndex(ADAPTER._paper_settings(library.workspace()).catalogue_index, stubs=STUBS)) as index:
        (file,) = index.files()
        assert (file.works, file.refused, file.shortened) == (2, {"bad_line": 1}, 1)
        (found,) = index.candidates(Paper("", "", identifiers=("doi:10.5000/9",)))
        assert (len(found.authors), found.authors[-1]) == (200, "Ann Lee199")
        index.remove_file(file.path)
    message = update(library)[0]
    assert f"2 works read from 1 file, {losses}" in message
    assert f"a.jsonl: 2 works, {losses})" in message


def test_check_names_rows_whose_cells_were_altered(library):
    put(library.root / "works" / "a.jsonl", work(0))
    library.run()
    settings = ADAPTER._paper_settings(library.workspace())

    def faults() -> list[str]:
        with closing(Ledger(library.workspace().ledger)) as ledger:
            return [fault.problem for fault in ADAPTER.check(library.workspace(), ledger)]

    assert faults() == []
    key = f"sha1:{sha1(CONTENTS[0])}".encode()
    with open_rows(settings) as table:
        table.put([Put(key, {"match0:doi": b"10.9999/other", "file:size": b"12345678"}, ("text0:pages",))])
    message = "1 row with altered cells, such as that of "
    assert faults() == [f"{message}{key.decode()}: file:size, text0:pages"], "windrow wrote no DOI: this is another's"
    ADAPTER.replay(library.workspace(), library.setup(), Progress(None))
    assert faults() == []
    with open_rows(settings) as table:
        assert table.get(key)["match0:doi"] == b"10.9999/other"
    library.section += '\ntei_json = "later"'
    assert faults() == ["the rows are not compared: they were written before the settings or the catalogue changed"]
