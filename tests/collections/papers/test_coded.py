"""Papers whose records have a Content-Encoding: their indexes have the digests of the coded bytes."""

import gzip

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1

GOOD = pdf("A careful measure of the whole thing", abstract="How the zyzzyva was found.")
OTHER = pdf("Another title that nobody knows")


@pytest.mark.parametrize("listed", [True, False])
def test_a_paper_that_was_sent_in_a_coding_is_selected_and_explained_by_the_digest_in_its_index(tmp_path, listed):
    """Its row has the digest of the file, from which alone the source's `digests` and `why` took it."""
    (tmp_path / "warcs").mkdir()
    shelf, sent = Shelf(tmp_path / "warcs" / "one.warc.gz"), gzip.compress(GOOD)
    shelf.put("http://example.org/coded.pdf", sent, fields="Content-Encoding: gzip\r\n")
    shelf.put("http://example.org/other.pdf", OTHER)
    shelf.index(tmp_path / "one.cdx")
    digests = f'digests = ["{sha1(sent)}"]\n' if listed else ""
    workspace = Library(tmp_path, "", f'cdx = ["{tmp_path}/one.cdx"]\nwarc = ["{tmp_path}/warcs"]\n{digests}')
    workspace.run()
    key = f"sha1:{sha1(GOOD)}"
    assert workspace.rows().keys() == {key} | (set() if listed else {f"sha1:{sha1(OTHER)}"})
    assert "row of" in workspace.why(key)
    assert workspace.why(sha1(sent)) == workspace.why(key)
    assert not workspace.why(sha1(b"of no paper"))
