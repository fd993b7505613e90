"""Catalogues as they are published: each is read, and files of other kinds are refused."""

from __future__ import annotations

import gzip
import json

import pytest

from windrow.collections.papers.catalogue import CatalogueRecord, parse_record
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.matching import STUBS
from windrow.collections.papers.work_files import read_works
from windrow.errors import StepError, UsageError

CROSSREF = {
    "DOI": "10.5000/A",
    "type": "journal-article",
    "title": ["A title"],
    "author": [{"given": "Ann", "family": "Lee"}],
}
DATACITE = {
    "id": "10.5000/b", "type": "dois", "attributes": {
        "doi": "10.5000/B", "titles": [{"title": "A title"}, {"title": "with more", "titleType": "Subtitle"}],
        "creators": [{"name": "Lee, Ann"}], "publicationYear": 2003, "container": {"title": "A journal"},
        "types": {"resourceTypeGeneral": "JournalArticle"},
    },
}  # fmt: skip
SCHOLAR = {
    "corpusid": 7, "externalids": {"DOI": "10.5000/C", "ArXiv": "0908.0054", "PubMed": "77", "MAG": None}, "year": 2009,
    "title": "A title", "authors": [{"authorId": "1", "name": "Ann Lee"}], "journal": {"name": "A journal"}, "venue": "",
}  # fmt: skip
ARXIV = {
    "id": "0908.0054", "submitter": "Ann", "authors": "Ann Lee and Bo Berg", "title": "A\n  title", "doi": None,
    "categories": "astro-ph", "update_date": "2015-05-13", "versions": [{"version": "v1", "created": "Sat, 1 Aug 2009 05:57:59 GMT"}],
    "authors_parsed": [["Lee", "Ann", ""], ["Berg", "Bo", "Jr"]], "journal-ref": "A journal 7",
}  # fmt: skip
PUBMED = b"""<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/pubmed.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">88</PMID><Article><Journal><JournalIssue><PubDate><MedlineDate>1998
 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue><Title>A journal</Title></Journal>
<ArticleTitle>A <i>title</i> with H<sub>2</sub>O.</ArticleTitle>
<ELocationID EIdType="doi">10.5000/D</ELocationID><AuthorList><Author><LastName>Lee</LastName><ForeName>Ann</ForeName></Author>
<Author><CollectiveName>The Group</CollectiveName></Author></AuthorList></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>89</PMID><Article><ArticleTitle>Another</ArticleTitle></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.5000/E</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
</PubmedArticleSet>
"""


def lines(*records: dict) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in records)


def test_the_records_of_each_catalogue_are_read():
    assert parse_record(DATACITE) == CatalogueRecord(
        "10.5000/b", "A title:with more", ("Lee, Ann",), 2003, "A journal", "JournalArticle", ("doi:10.5000/b",)
    )
    assert parse_record(SCHOLAR) == CatalogueRecord(
        "s2:7", "A title", ("Ann Lee",), 2009, "A journal", "article", ("doi:10.5000/c", "arxiv:0908.0054", "pmid:77")
    )
    assert parse_record(ARXIV) == CatalogueRecord(
        "arxiv:0908.0054", "A title", ("Lee, Ann", "Berg, Bo"), 2009, "A journal 7", "article", ("arxiv:0908.0054",)
    )


@pytest.mark.parametrize("is_gzip", [True, False])
@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("lines.jsonl", lines(CROSSREF, DATACITE, SCHOLAR, ARXIV), ["10.5000/a", "10.5000/b", "s2:7", "arxiv:0908.0054"]),
        ("0.json", json.dumps({"items": [CROSSREF] * 2}, indent=1).encode(), ["10.5000/a"] * 2),
        ("1.json", json.dumps({"items": [CROSSREF]}).encode(), ["10.5000/a"]),
        ("2.json", json.dumps({"status": "ok", "message": {"items": [CROSSREF]}}).encode() + b"\n", ["10.5000/a"]),
        ("3.json", json.dumps({"data": [DATACITE], "meta": {}}).encode(), ["10.5000/b"]),
        ("4.json", b"\xef\xbb\xbf" + json.dumps([CROSSREF, SCHOLAR], indent=2).encode(), ["10.5000/a", "s2:7"]),
        ("5.json", json.dumps(CROSSREF, indent=2).encode(), ["10.5000/a"]),
        ("6.json", json.dumps(CROSSREF).encode(), ["10.5000/a"]),
        ("long.jsonl", json.dumps(CROSSREF | {"abstract": "x" * 200_000}).encode() + b"\n" + lines(SCHOLAR), ["10.5000/a", "s2:7"]),
        ("pubmed25n0001.xml", PUBMED, ["pmid:88", "pmid:89"]),
        ("empty.json", b"", []),
    ],
)  # fmt: skip
def test_each_format_of_file_is_read(tmp_path, name, content, names, is_gzip):
    path = tmp_path / (f"{name}.gz" if is_gzip else name)
    path.write_bytes(gzip.compress(content, mtime=0) if is_gzip else content)
    assert [parse_record(work).name for work in read_works(path)] == names


def test_an_article_of_pubmed_has_its_title_people_year_and_identifiers(tmp_path):
    (tmp_path / "p.xml").write_bytes(PUBMED)
    first, second = map(parse_record, read_works(tmp_path / "p.xml"))
    assert first == CatalogueRecord(
        "pmid:88",
        "A title with H2O",
        ("Ann Lee", "The Group"),
        1998,
        "A journal",
        "article",
        ("doi:10.5000/d", "pmid:88"),
    )
    assert second.identifiers == ("doi:10.5000/e", "pmid:89")


def test_files_of_other_kinds_are_refused_and_broken_ones_are_problems(tmp_path):
    index = CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)
    for name, content in {"README": b"Works of 2026.\n", "w.zip": b"PK\x03\x04" + bytes(99), "w.xml": b"<works/>", "w.csv": b"doi,title\n1,2\n"}.items():  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StepError):
            [*read_works(tmp_path / name)]
        file = index.import_file(name, "1", read_works(tmp_path / name))
        assert (file.works, file.refused, file.problem) == (0, {"unsupported": 1}, "")
    (tmp_path / "cut.xml").write_bytes(PUBMED[:-40])
    with pytest.raises(UsageError):
        [*read_works(tmp_path / "cut.xml")]
    assert "cannot be read" in index.import_file("cut.xml", "1", read_works(tmp_path / "cut.xml")).problem
    (tmp_path / "first.jsonl").write_bytes(b'{"broken\n' + lines(CROSSREF))
    file = index.import_file("first.jsonl", "1", read_works(tmp_path / "first.jsonl"))
    assert (file.works, file.refused) == (1, {"bad_line": 1})
    index.close()
