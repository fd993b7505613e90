"""Papers whose WARC files are on other machines, from index lines, some of them wrong, to rows."""

from __future__ import annotations

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.servers.s3 import KEY
from windrow.collections.papers.columns import decode_row

GOOD, OTHER = pdf("A paper that lies far away from here"), pdf("Another one from far away")


def shelf(folder) -> Shelf:
    """Write WARC files to a folder, with an index that is wrong about some records."""
    folder.mkdir(parents=True, exist_ok=True)
    new_shelf = Shelf(folder / "far.warc.gz")
    new_shelf.put("http://example.org/good.pdf", GOOD)
    new_shelf.put("http://example.org/changed.pdf", pdf("Of another digest"), digest=sha1(b"x"))
    new_shelf.put("http://example.org/short.pdf", pdf("Its line says too short a length"))
    new_shelf.lines[-1] = cut(new_shelf.lines[-1], -100)
    new_shelf.put("http://example.org/long.pdf", OTHER)
    new_shelf.put("http://example.org/last.pdf", pdf("Its line says that it ends behind the file"))
    new_shelf.lines[-2], new_shelf.lines[-1] = cut(new_shelf.lines[-2], 100), cut(new_shelf.lines[-1], 10**6)
    new_shelf.lines = [line.replace("far.warc.gz", "item-9/far.warc.gz") for line in new_shelf.lines]
    return new_shelf


def cut(line: str, more: int) -> str:
    fields = line.split()
    fields[8] = str(int(fields[8]) + more)
    return " ".join(fields)


def check(workspace: Library, lines: list[str]) -> None:
    rows = workspace.rows()
    assert set(rows) == {f"sha1:{sha1(GOOD)}"}
    row = decode_row(rows[f"sha1:{sha1(GOOD)}"])
    assert row["file:cdx"]["warc"] == "item-9/far.warc.gz"
    assert (row["file:cdx"]["offset"], row["file:cdx"]["c_size"]) == ("0", lines[0].split()[8])
    assert row["f:c"]["f"] == "far.warc.gz"
    assert "digest_mismatch" in workspace.why("http://example.org/changed.pdf")
    assert "truncated" in workspace.why("http://example.org/short.pdf")
    assert "bad_line" in workspace.why("http://example.org/long.pdf")
    assert "truncated" in workspace.why("http://example.org/last.pdf")


def test_papers_are_fetched_from_a_web_server_and_asked_for_again_when_it_is_back(tmp_path, nginx):
    away = nginx.root / "far-away" / "item-9"
    workspace = shelf(away)
    workspace.index(tmp_path / "one.cdx")
    path = away / "far.warc.gz"
    at = f"http://127.0.0.1:{nginx.plain.port}/drop/far-away/"
    source = f'cdx = ["one.cdx"]\nwarc_urls = ["{at}"]\nwarc_allow_private = true\n'
    library = Library(tmp_path, "", source)
    path.rename(path.with_name("away"))
    library.run()
    assert library.rows() == {}
    assert "not_found" in library.why("http://example.org/good.pdf")
    path.with_name("away").rename(path)
    library.run()
    check(library, workspace.lines)
    before = sum("far.warc.gz" in line for line in nginx.log.read_text().splitlines())
    library.run()
    after = [line for line in nginx.log.read_text().splitlines() if "far.warc.gz" in line]
    assert len(after) == before, "what was fetched, or is not what its index says, is not asked for again"


def test_papers_are_fetched_from_an_s3_store(tmp_path, s3, monkeypatch):
    workspace = shelf(s3.folder / "library" / "crawls" / "item-9")
    workspace.index(tmp_path / "one.cdx")
    (s3.folder / "library").chmod(0o700)
    monkeypatch.setenv("S3_KEY", KEY)
    library = Library(tmp_path, "", 'cdx = ["one.cdx"]\nwarc_urls = ["s3://library/crawls"]\nwarc_secret = "env:S3_KEY"\n'
                      f'warc_allow_private = true\ns3_endpoint = "{s3.endpoint}"\n')  # fmt: skip
    library.run()
    check(library, workspace.lines)
    assert KEY.partition(":")[2].encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and ".db" in str(path)
    )


def test_papers_of_an_index_with_9_fields_which_says_no_length_are_fetched_to_their_end(tmp_path, nginx):
    away = nginx.root / "nine" / "item-9"
    workspace = shelf(away)
    lines = [" ".join((fields := line.split())[:7] + fields[9:]) for line in workspace.lines]
    (tmp_path / "nine.cdx").write_text("\n".join([" CDX N b a m s k r V g", *lines]) + "\n")
    at = f"http://127.0.0.1:{nginx.plain.port}/drop/nine/"
    library = Library(tmp_path, "", f'cdx = ["nine.cdx"]\nwarc_urls = ["{at}"]\nwarc_allow_private = true\n')
    library.run()
    assert len(library.rows()) == 4, "all but the one whose line lies about its digest"
    row = decode_row(library.rows()[f"sha1:{sha1(GOOD)}"])
    assert (row["file:cdx"]["warc"], row["file:cdx"]["offset"]) == ("item-9/far.warc.gz", "0")
    assert row["file:cdx"]["c_size"] == workspace.lines[0].split()[8], "the length that the record really has"
    assert "digest_mismatch" in library.why("http://example.org/changed.pdf")
