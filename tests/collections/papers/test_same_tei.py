"""A service that returns one TEI for two papers, as one with a wrong cache does."""

from collections import Counter

from tests.collections.papers.library import sha1
from tests.collections.papers.test_failing_service import left_out, library, papers, row
from tests.collections.papers.test_grobid import TEI, XML


def test_a_tei_that_two_papers_share_is_reported_and_not_requested_again(tmp_path):
    contents, asked = papers("one", "two"), Counter()

    def serve(received):
        asked[received.form()["input"][2]] += 1
        return 200, TEI, XML

    with library(tmp_path, contents, serve) as workspace:
        for _ in range(3):
            workspace.run()
        assert [row(workspace, content)["grobid0:tei_xml"] for content in contents.values()] == [TEI] * 2
        assert left_out(workspace) == [("server_error", 1)]
    assert asked == dict.fromkeys(contents.values(), 1)


def test_teis_that_differ_are_not_reported(tmp_path):
    contents = papers("one", "two")

    def serve(received):
        return 200, TEI.replace(b"</TEI>", b"<!-- %s --></TEI>" % sha1(received.form()["input"][2]).encode()), XML

    with library(tmp_path, contents, serve) as workspace:
        workspace.run()
        assert left_out(workspace) == []
