"""The index beside the database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windrow.errors import ConfigError, IndexDamaged, StoreError, StoreUnreachable
from windrow.query.clause import (
    Everything,
    IndexDocument,
    IndexField,
    IndexHit,
    MarkIn,
    MarkLike,
    NumberIn,
    NumberRange,
    WordSequence,
)
from windrow.query.tree import And, Not, Or
from windrow.stores.index.folder import remove_index
from windrow.stores.index.fulltext_index import FullTextIndex, open_for_search, open_for_writing
from windrow.stores.index.manifest import IndexManifest

FIELDS = (
    IndexField("main", "words"),
    IndexField("head", "words"),
    IndexField("kind", "mark"),
    IndexField("when", "number"),
)
IN_MAIN = (("main", 1.0),)
IN_BOTH = (("main", 1.0), ("head", 2.0))


def entry(number: int, text: str, head: str = "", kinds: tuple[str, ...] = (), when: int = 0) -> IndexDocument:
    texts = (("main", text), ("head", head), *(("kind", kind) for kind in kinds))
    return IndexDocument(number, texts, (("when", when),))


ENTRIES = [
    entry(1, "red green blue", "one", ("a", "b"), 10),
    entry(2, "green red", "Café two", ("a",), 20),
    entry(3, "rediscovered things", "red", ("c", "a.b-c["), 30),
    entry(-4, "", "", (), -5),
]


def open_index(folder: Path, version: str = "1") -> FullTextIndex:
    """Open the index in a folder as a run does: as it is, or rebuilt."""
    with open_for_writing(folder, FIELDS, version) as index:
        return index


def ids(index: FullTextIndex, clause: object, **more: object) -> set[int]:
    return {hit.id for hit in index.search(clause, 10, **more)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        (Everything(), {1, 2, 3, -4}),
        (WordSequence("RED", IN_MAIN), {1, 2}),
        (WordSequence("red", IN_BOTH), {1, 2, 3}),
        (WordSequence("red green", IN_MAIN), {1}),
        (WordSequence("red-green", IN_MAIN), {1}),
        (WordSequence("café", IN_BOTH), {2}),
        (WordSequence("red", IN_MAIN, prefix=True), {1, 2, 3}),
        (WordSequence("green r", IN_MAIN, prefix=True), {2}),
        (WordSequence("zz", IN_MAIN, prefix=True), set()),
        (WordSequence("...", IN_MAIN), set()),
        (MarkIn("kind", ("b", "c")), {1, 3}),
        (MarkLike("kind", "", before=True, after=True), {1, 2, 3}),
        (MarkLike("kind", ".b-", before=True, after=True), {3}),
        (MarkLike("kind", ".b", before=False, after=True), set()),
        (MarkLike("kind", "a", before=False, after=False), {1, 2}),
        (MarkLike("kind", "-c[", before=True, after=False), {3}),
        (NumberRange("when", low=20), {2, 3}),
        (NumberRange("when", high=9), {-4}),
        (NumberRange("when", 10, 20), {1, 2}),
        (NumberIn("id", (3, -4, 99)), {3, -4}),
        (NumberIn("id", ()), set()),
        (Not(WordSequence("red", IN_MAIN)), {3, -4}),
        (And((WordSequence("red", IN_MAIN), Not(MarkIn("kind", ("b",))))), {2}),
        (And((Not(MarkIn("kind", ("a",))), Not(MarkIn("kind", ("c",))))), {-4}),
        (Or((WordSequence("blue", IN_MAIN), NumberRange("when", high=0))), {1, -4}),
        (Or((WordSequence("red", IN_MAIN), WordSequence("green", IN_MAIN), WordSequence("blue", IN_MAIN)), 3), {1}),
    ],
)
def test_clauses(tmp_path: Path, clause: object, expected: set[int]) -> None:
    index = open_index(tmp_path / "index")
    assert index.write(ENTRIES) == 4
    assert ids(index, clause) == expected


def test_what_is_put_again_takes_the_place(tmp_path: Path) -> None:
    index = open_index(tmp_path)
    index.write(ENTRIES)
    index.write([entry(1, "other")], removed=[2])
    assert len(index) == 3
    assert ids(index, WordSequence("red", IN_MAIN)) == set()
    assert ids(open_index(tmp_path), WordSequence("other", IN_MAIN)) == {1}
    assert index.size() > 0


def test_order_and_pages(tmp_path: Path) -> None:
    index = open_index(tmp_path)
    index.write([entry(number, "red " * number, when=-number) for number in range(1, 30)])
    assert [hit.id for hit in index.search(Everything(), 3, newest="when")] == [1, 2, 3]
    whole = index.search(WordSequence("red", IN_MAIN), 29)
    assert whole == [
        hit for start in range(0, 29, 7) for hit in index.search(WordSequence("red", IN_MAIN), 7, offset=start)
    ]
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)
    assert index.search(MarkIn("kind", ("a",)), 5) == []
    assert index.search(NumberRange("when", -1, -1), 5) == [IndexHit(1, 0.0)]


def test_another_version_begins_anew(tmp_path: Path) -> None:
    open_index(tmp_path).write(ENTRIES)
    assert not open_index(tmp_path).fresh
    rebuilt = open_index(tmp_path, "2")
    assert rebuilt.fresh
    assert len(rebuilt) == 0


def test_frequency(tmp_path: Path) -> None:
    index = open_index(tmp_path)
    index.write(ENTRIES)
    assert [index.frequency(word, "main") for word in ("red", "Blue", "zz", "...")] == [2, 1, 0, 0]


DAMAGES = {
    "half a list": lambda text: (text / "meta.json").write_text("{"),
    "no list": lambda text: (text / "meta.json").unlink(),
    "no segment": lambda text: [path.unlink() for path in text.glob("*.idx")],
    "half a segment": lambda text: [path.write_bytes(path.read_bytes()[:20]) for path in text.glob("*.fast")],
    "another end": lambda text: [
        path.write_bytes(path.read_bytes()[:-9] + b"123456789") for path in text.glob("*.term")
    ],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_torn_index_is_our_error_for_who_reads_and_made_anew_for_who_writes(tmp_path: Path, damage: str) -> None:
    open_index(tmp_path).write(ENTRIES)
    DAMAGES[damage](tmp_path / "text")
    with pytest.raises(StoreError) as caught:
        FullTextIndex(tmp_path, FIELDS, "1")
    assert "windrow builds the index again" in caught.value.hint
    rebuilt = open_index(tmp_path)
    assert rebuilt.fresh
    assert len(rebuilt) == 0
    assert rebuilt.write(ENTRIES) == 4
    assert ids(FullTextIndex(tmp_path, FIELDS, "1"), WordSequence("red", IN_MAIN)) == {1, 2}


def test_bytes_that_make_no_sense_are_our_error_where_they_are_met(tmp_path: Path) -> None:
    open_index(tmp_path).write(entry(number, f"red green{number}", when=number) for number in range(2_000))
    for path in (tmp_path / "text").glob("*.fast"):
        path.write_bytes(b"\x55" * 60 + path.read_bytes()[60:])
    with pytest.raises(IndexDamaged, match="is damaged"):
        FullTextIndex(tmp_path, FIELDS, "1").search(WordSequence("red", IN_MAIN), 5)


def test_one_process_writes_at_a_time_and_others_are_told(tmp_path: Path) -> None:
    with open_for_writing(tmp_path, FIELDS, "1") as index:
        index.write(ENTRIES)
        with pytest.raises(StoreUnreachable, match="another process writes"), open_for_writing(tmp_path, FIELDS, "1"):
            pytest.fail("two at once")
        assert ids(FullTextIndex(tmp_path, FIELDS, "1"), WordSequence("red", IN_MAIN)) == {1, 2}
    waits = iter([True, True, False])
    with (
        open_for_writing(tmp_path, FIELDS, "1"),
        pytest.raises(StoreUnreachable),
        open_for_writing(tmp_path, FIELDS, "1", wait=lambda: next(waits)),
    ):
        pytest.fail("two at once")
    assert next(waits, None) is None
    assert not open_index(tmp_path).fresh


def block_locks(folder: Path) -> None:
    """Make Tantivy fail to read and to write, for every user."""
    for name in (".tantivy-meta.lock", ".tantivy-writer.lock"):
        (folder / "text" / name).unlink(missing_ok=True)
        (folder / "text" / name).mkdir()


def test_an_index_that_cannot_be_locked_is_read_and_brought_up_to_date_beside_it(tmp_path: Path) -> None:
    open_index(tmp_path).write(ENTRIES)
    block_locks(tmp_path)
    before = read_tree(tmp_path)
    with pytest.raises(StoreError), open_for_writing(tmp_path, FIELDS, "1"):
        pytest.fail("it cannot be written")
    assert read_tree(tmp_path) == before, "it is sound: nothing of it is removed"
    unchanged = open_for_search(
        tmp_path, FIELDS, "1", lambda index: False, lambda index: pytest.fail("it is not behind")
    )
    assert unchanged.is_scratch
    assert ids(unchanged, WordSequence("green red", IN_MAIN)) == {2}
    updated = open_for_search(
        tmp_path, FIELDS, "1", lambda index: len(index) == 4, lambda index: index.write([entry(9, "red")], [1])
    )
    assert ids(updated, WordSequence("red", IN_MAIN)) == {2, 9}
    assert ids(unchanged, WordSequence("red", IN_MAIN)) == {1, 2}
    scratch = updated.folder
    assert read_tree(tmp_path) == before
    for index in (unchanged, updated):
        index.close()
    assert not scratch.exists()


def test_an_index_that_is_gone_is_made_in_its_folder_where_that_can_be_written(tmp_path: Path) -> None:
    def searched() -> FullTextIndex:
        return open_for_search(
            tmp_path / "index", FIELDS, "1", lambda index: not len(index), lambda index: index.write(ENTRIES)
        )

    assert not searched().is_scratch
    assert ids(FullTextIndex(tmp_path / "index", FIELDS, "1"), WordSequence("red", IN_MAIN)) == {1, 2}
    remove_index(tmp_path / "index")
    (tmp_path / "index").mkdir()
    with open_for_writing(tmp_path / "index", FIELDS, "1"):
        scratch_index = searched()
    assert scratch_index.is_scratch
    assert ids(scratch_index, WordSequence("red", IN_MAIN)) == {1, 2}
    scratch_index.close()


def test_the_order_is_that_of_scores_then_numbers_then_ids_however_an_index_grew(tmp_path: Path) -> None:
    entries = [entry(number, "red" if number % 3 else "red red", when=number % 5) for number in range(1, 60)]
    at_once, in_steps = open_index(tmp_path / "one"), open_index(tmp_path / "other")
    at_once.write(entries)
    for start in range(59, 0, -7):
        in_steps.write(entries[max(0, start - 7) : start])
    for clause, scored in ((WordSequence("red", IN_MAIN), True), (Everything(), False)):
        whole = [hit.id for hit in at_once.search_in_order(clause, 100, "when", scored=scored)]
        assert whole == [hit.id for hit in in_steps.search_in_order(clause, 100, "when", scored=scored)]
        assert whole == sorted(whole, key=lambda number: (scored and number % 3 > 0, -(number % 5), number))
        for most in (1, 2, 7, 30, 59):
            assert [hit.id for hit in in_steps.search_in_order(clause, most, "when", scored=scored)] == whole[:most]
    assert at_once.search_in_order(WordSequence("blue", IN_MAIN), 5, "when", scored=True) == []


def make_foreign_folder(folder: Path) -> Path:
    """Make a folder with files of others: a ledger, an archive, and some that look nearly like the index's."""
    for name in ("ledger.sqlite", "archive/windrow-000001-0-00001.warc.gz", "text/meta.json", "letters.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not of the index")
    return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("note", [None, "", "{}", '{"version": 1}', "[]", '{"name": "an index of another program"}'])
def test_an_index_never_deletes_the_folder_of_somebody_else(tmp_path: Path, note: str | None) -> None:
    make_foreign_folder(tmp_path)
    if note is not None:
        (tmp_path / "index.json").write_text(note)
    before = read_tree(tmp_path)
    searched = (tmp_path, FIELDS, "1", lambda index: False, lambda index: None)
    for act in (lambda: open_index(tmp_path), lambda: remove_index(tmp_path), lambda: open_for_search(*searched)):
        with pytest.raises(ConfigError, match="has files that are not an index of windrow"):
            act()
    assert read_tree(tmp_path) == before


def test_an_index_is_removed_by_name_and_what_lies_beside_it_stays(tmp_path: Path) -> None:
    open_index(tmp_path).write(ENTRIES)
    IndexManifest(tmp_path / "entries.sqlite").__exit__()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "text" / "notes.txt").write_text("mine too")
    assert open_index(tmp_path, "2").fresh
    remove_index(tmp_path)
    assert read_tree(tmp_path) == {"notes.txt": b"mine", "text/notes.txt": b"mine too"}


def test_an_index_without_strangers_is_removed_with_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    open_index(folder).write(ENTRIES)
    remove_index(folder)
    assert not folder.exists()
    remove_index(folder)


def test_a_link_in_an_index_is_not_followed_when_it_is_removed(tmp_path: Path) -> None:
    letters, folder = make_foreign_folder(tmp_path / "letters"), tmp_path / "index"
    open_index(folder).write(ENTRIES)
    remove_index(folder)
    folder.mkdir()
    (folder / "index.json").write_text('{"version": "0", "fields": []}')
    (folder / "entries.sqlite").symlink_to(letters / "ledger.sqlite")
    (folder / "text").symlink_to(letters / "text")
    before = read_tree(letters)
    with pytest.raises(ConfigError):
        open_index(folder)
    (folder / "text").unlink()
    open_index(folder).write(ENTRIES)
    assert read_tree(letters) == before


@pytest.mark.parametrize("kill", range(12))
def test_an_index_whose_removal_was_killed_is_made_again(tmp_path: Path, kill: int, monkeypatch) -> None:
    """A kill may come before every removal of a file; only the index is lost, and the next run makes it again."""
    folder = tmp_path / "index"
    open_index(folder).write(ENTRIES)
    (folder / "notes.txt").write_text("mine")
    done, unlink = [], Path.unlink

    def interrupted_unlink(path: Path, *, missing_ok: bool = False) -> None:
        if len(done) == kill:
            raise KeyboardInterrupt
        done.append(path)
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", interrupted_unlink)
        with pytest.raises(KeyboardInterrupt):
            open_index(folder, "2")
    rebuilt = open_index(folder)
    assert rebuilt.write(ENTRIES) == 4
    assert ids(rebuilt, WordSequence("red", IN_MAIN)) == {1, 2}
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_scratch_folder_is_removed_although_a_lock_comes_into_it_meanwhile(tmp_path: Path, monkeypatch) -> None:
    open_index(tmp_path / "index")
    index = FullTextIndex.open_links(FIELDS, "1", tmp_path / "index")
    lock = index.folder / "text" / ".tantivy-meta.lock"
    remove_folder = os.rmdir
    removed: list[object] = []

    def remove_late(name: object, **more: object) -> None:
        """Do as Tantivy's watcher: put its lock there after the files' removal and before their folder's."""
        if not removed:
            lock.touch()
        removed.append(name)
        remove_folder(name, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rmdir", remove_late)
    index.close()
    assert not index.folder.exists()
    assert len(removed) > 2, "the first removal failed, and was tried again"
