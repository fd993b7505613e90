"""The index beside the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.errors import ConfigError, MissingExtra, StoreError
from windrow.query.clause import (
    Everything,
    IndexDocument,
    IndexField,
    IndexHit,
    MarkIn,
    NumberIn,
    NumberRange,
    WordSequence,
)
from windrow.query.tree import And, Not, Or
from windrow.stores.index import fulltext_index
from windrow.stores.index.folder import remove
from windrow.stores.index.fulltext_index import FullTextIndex, IndexManifest

FIELDS = (
    IndexField("main", "words"),
    IndexField("head", "words"),
    IndexField("kind", "mark"),
    IndexField("when", "number"),
)
IN_MAIN = (("main", 1.0),)
IN_BOTH = (("main", 1.0), ("head", 2.0))
needs = pytest.mark.skipif(not fulltext_index.there(), reason="the extra 'search' is not installed")


def entry(one: int, text: str, head: str = "", kinds: tuple[str, ...] = (), when: int = 0) -> IndexDocument:
    texts = (("main", text), ("head", head), *(("kind", kind) for kind in kinds))
    return IndexDocument(one, texts, (("when", when),))


ENTRIES = [
    entry(1, "red green blue", "one", ("a", "b"), 10),
    entry(2, "green red", "Café two", ("a",), 20),
    entry(3, "rediscovered things", "red", ("c",), 30),
    entry(-4, "", "", (), -5),
]


def ids(index: FullTextIndex, clause: object, **more: object) -> set[int]:
    return {one.id for one in index.search(clause, 10, **more)}  # type: ignore[arg-type]


@needs
@pytest.mark.parametrize(
    ("clause", "found"),
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
def test_clauses(tmp_path: Path, clause: object, found: set[int]) -> None:
    index = FullTextIndex(tmp_path / "index", FIELDS, "1")
    assert index.write(ENTRIES) == 4
    assert ids(index, clause) == found


@needs
def test_what_is_put_again_takes_the_place(tmp_path: Path) -> None:
    index = FullTextIndex(tmp_path, FIELDS, "1")
    index.write(ENTRIES)
    index.write([entry(1, "other")], gone=[2])
    assert len(index) == 3
    assert ids(index, WordSequence("red", IN_MAIN)) == set()
    assert ids(FullTextIndex(tmp_path, FIELDS, "1"), WordSequence("other", IN_MAIN)) == {1}
    assert index.size() > 0


@needs
def test_order_and_pages(tmp_path: Path) -> None:
    index = FullTextIndex(tmp_path, FIELDS, "1")
    index.write([entry(one, "red " * one, when=-one) for one in range(1, 30)])
    assert [one.id for one in index.search(Everything(), 3, newest="when")] == [1, 2, 3]
    whole = index.search(WordSequence("red", IN_MAIN), 29)
    assert whole == [
        one for start in range(0, 29, 7) for one in index.search(WordSequence("red", IN_MAIN), 7, offset=start)
    ]
    assert [one.score for one in whole] == sorted((one.score for one in whole), reverse=True)
    assert index.search(MarkIn("kind", ("a",)), 5) == []
    assert index.search(NumberRange("when", -1, -1), 5) == [IndexHit(1, 0.0)]


@needs
def test_another_version_begins_anew(tmp_path: Path) -> None:
    FullTextIndex(tmp_path, FIELDS, "1").write(ENTRIES)
    assert not FullTextIndex(tmp_path, FIELDS, "1").fresh
    anew = FullTextIndex(tmp_path, FIELDS, "2")
    assert anew.fresh
    assert len(anew) == 0


@needs
def test_frequency(tmp_path: Path) -> None:
    index = FullTextIndex(tmp_path, FIELDS, "1")
    index.write(ENTRIES)
    assert [index.frequency(word, "main") for word in ("red", "Blue", "zz", "...")] == [2, 1, 0, 0]


@needs
def test_a_broken_index_is_our_error(tmp_path: Path) -> None:
    FullTextIndex(tmp_path, FIELDS, "1").write(ENTRIES)
    (tmp_path / "text" / "meta.json").write_text("{")
    with pytest.raises(StoreError) as caught:
        FullTextIndex(tmp_path, FIELDS, "1")
    assert "made again" in caught.value.hint


def test_without_the_extra_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext_index, "tantivy", None)
    assert not fulltext_index.there()
    with pytest.raises(MissingExtra):
        FullTextIndex(tmp_path, FIELDS, "1")


def unknown_names(folder: Path) -> Path:
    """A folder of somebody else: a ledger, an archive, and files that look nearly like ours."""
    for name in ("ledger.sqlite", "archive/windrow-000001-0-00001.warc.gz", "text/meta.json", "letters.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not of the index")
    return folder


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


@needs
@pytest.mark.parametrize("note", [None, "", "{}", '{"version": 1}', "[]", '{"name": "an index of another program"}'])
def test_an_index_never_deletes_the_folder_of_somebody_else(tmp_path: Path, note: str | None) -> None:
    unknown_names(tmp_path)
    if note is not None:
        (tmp_path / "index.json").write_text(note)
    before = tree(tmp_path)
    for act in (lambda: FullTextIndex(tmp_path, FIELDS, "1"), lambda: remove(tmp_path)):
        with pytest.raises(ConfigError, match="not empty and holds no index of windrow"):
            act()
    assert tree(tmp_path) == before


@needs
def test_an_index_is_removed_by_name_and_what_lies_beside_it_stays(tmp_path: Path) -> None:
    FullTextIndex(tmp_path, FIELDS, "1").write(ENTRIES)
    IndexManifest(tmp_path / "entries.sqlite").__exit__()
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "text" / "notes.txt").write_text("mine too")
    assert FullTextIndex(tmp_path, FIELDS, "2").fresh
    remove(tmp_path)
    assert tree(tmp_path) == {"notes.txt": "mine", "text/notes.txt": "mine too"}


@needs
def test_an_index_without_strangers_is_removed_with_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    FullTextIndex(folder, FIELDS, "1").write(ENTRIES)
    remove(folder)
    assert not folder.exists()
    remove(folder)


@needs
def test_a_link_in_an_index_is_not_followed_when_it_is_removed(tmp_path: Path) -> None:
    letters, folder = unknown_names(tmp_path / "letters"), tmp_path / "index"
    FullTextIndex(folder, FIELDS, "1").write(ENTRIES)
    remove(folder)
    folder.mkdir()
    (folder / "index.json").write_text('{"version": "0", "fields": []}')
    (folder / "entries.sqlite").symlink_to(letters / "ledger.sqlite")
    (folder / "text").symlink_to(letters / "text")
    before = tree(letters)
    with pytest.raises(ConfigError):
        FullTextIndex(folder, FIELDS, "1")
    (folder / "text").unlink()
    FullTextIndex(folder, FIELDS, "1").write(ENTRIES)
    assert tree(letters) == before


@needs
@pytest.mark.parametrize("kill", range(12))
def test_an_index_whose_removal_was_killed_is_made_again(tmp_path: Path, kill: int, monkeypatch) -> None:
    """Every removal of a file is a place where a kill may come; nothing but the index is lost, and the next run heals."""
    folder = tmp_path / "index"
    FullTextIndex(folder, FIELDS, "1").write(ENTRIES)
    (folder / "notes.txt").write_text("mine")
    done, unlink = [], Path.unlink

    def dying(path: Path, *, missing_ok: bool = False) -> None:
        if len(done) == kill:
            raise KeyboardInterrupt
        done.append(path)
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dying)
        with pytest.raises(KeyboardInterrupt):
            FullTextIndex(folder, FIELDS, "2")
    anew = FullTextIndex(folder, FIELDS, "1")
    assert anew.write(ENTRIES) == 4
    assert ids(anew, WordSequence("red", IN_MAIN)) == {1, 2}
    assert (folder / "notes.txt").read_text() == "mine"
