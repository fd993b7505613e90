"""Catalogues as they are published: each is read, and files of other kinds are refused."""

from __future__ import annotations

import gzip
import json
from contextlib import closing

import pytest

from windrow.collections.papers.catalogue import CatalogueRecord, parse_record
from windrow.collections.papers.database.index import CatalogueIndex
from windrow.collections.papers.matching import STUBS, Paper
from windrow.collections.papers.work_files import DeletedWork, read_works
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
UNTRANSLATED = b"""<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>92</PMID><Article><Journal><JournalIssue><PubDate>
<MedlineDate>Winter 2015-2016</MedlineDate></PubDate></JournalIssue></Journal><ArticleTitle>[Not Available].</ArticleTitle>
<ELocationID EIdType="doi" ValidYN="N">10.5000/wrong</ELocationID><AuthorList><Author ValidYN="N"><LastName>Leo</LastName></Author>
<Author ValidYN="Y"><LastName>Lee</LastName></Author></AuthorList><VernacularTitle>Der Tee.</VernacularTitle></Article></MedlineCitation>
</PubmedArticle><PubmedArticle><MedlineCitation><PMID>93</PMID><Article><ArticleTitle>[Not Available].</ArticleTitle></Article>
</MedlineCitation></PubmedArticle></PubmedArticleSet>"""
BOOKS = b"""<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID Version="1">90</PMID>
<ArticleIdList><ArticleId IdType="doi">10.5000/F</ArticleId></ArticleIdList>
<Book><BookTitle book="b">The whole <i>book</i></BookTitle><PubDate><Year>2007</Year><Month>05</Month></PubDate>
<AuthorList Type="editors"><Author><LastName>Ed</LastName></Author></AuthorList>
<AuthorList Type="authors"><Author><LastName>Lee</LastName><Initials>A</Initials></Author></AuthorList></Book>
</BookDocument></PubmedBookArticle><PubmedBookArticle><BookDocument><PMID>91</PMID><Book><BookTitle>The whole book</BookTitle></Book>
<ArticleTitle>A chapter.</ArticleTitle><AuthorList><Author><LastName>Berg</LastName></Author></AuthorList></BookDocument>
</PubmedBookArticle><DeleteCitation><PMID Version="1">88</PMID><PMID>7</PMID></DeleteCitation></PubmedArticleSet>
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
    several = ARXIV | {"doi": "10.5000/A.1, 10.5000.2/B;10.5000/(SICI)1:2<3::4>3.0.CO;2-R;10.5000/a.1."}
    assert parse_record(several).identifiers == (
        "doi:10.5000/a.1", "doi:10.5000.2/b", "doi:10.5000/(sici)1:2<3::4>3.0.co;2-r", "arxiv:0908.0054",
    )  # fmt: skip


def test_answers_for_one_doi_numbers_as_ids_and_authors_in_one_text_are_read():
    assert parse_record({"data": DATACITE}) == parse_record(DATACITE)
    work = {"id": 1, "pmid": 123, "title": "A title", "authors": "Lee, Ann; Bo Berg and C. Dee"}
    assert parse_record(work) == CatalogueRecord(
        "1", "A title", ("Lee, Ann", "Bo Berg", "C. Dee"), None, "", "", ("pmid:123",)
    )
    assert parse_record({"id": 1, "title": "A title"}).name == "1"
    fatcat = {
        "ident": "x",
        "title": "A title",
        "contribs": [{"raw_name": "Ann Lee"}, {"creator": {"display_name": "Bo Berg"}}],
    }
    assert parse_record(fatcat).authors == ("Ann Lee", "Bo Berg")


def test_further_titles_of_a_work_are_read_and_a_first_one_that_is_missing_is_replaced(tmp_path):
    """They were lost, and a work with a translated title alone was refused."""
    crossref = CROSSREF | {
        "title": ["A title", "Un titre"],
        "subtitle": ["of it"],
        "original-title": ["Ein Buch", "A title"],
    }
    translated = {"title": "Un titre", "titleType": "TranslatedTitle"}
    works = {
        "A title:of it": crossref,
        "Un titre": crossref | {"title": ["", "Un titre"], "subtitle": []},
        "A title:with more": DATACITE["attributes"] | {"titles": [translated, *DATACITE["attributes"]["titles"]]},
        "The title": {"ident": "x", "title": "The title", "original_title": "Un titre", "contribs": []},
        "Another": {"id": "1", "title": "Another", "other_titles": ["Un titre"]},
    }  # fmt: skip
    works["A title:with more"] = {"attributes": works["A title:with more"]}
    for title, work in works.items():
        parsed = parse_record(work)
        assert parsed.title == title
        assert "Un titre" in (parsed.title, *parsed.other_titles)
    assert parse_record(crossref).other_titles == ("Un titre", "Ein Buch", "A title")
    assert parse_record({"attributes": DATACITE["attributes"] | {"titles": [translated]}}).title == "Un titre"
    (tmp_path / "p.xml").write_bytes(UNTRANSLATED.replace(b"[Not Available].", b"[On tea]."))
    assert parse_record(next(iter(read_works(tmp_path / "p.xml")))).other_titles == ("Der Tee",)


def test_works_without_an_id_are_not_one_work(tmp_path):
    """Two works without a PMID were stored as one, and a deletion without a PMID deleted `pmid:None`."""
    article = b"<PubmedArticle><MedlineCitation>%s<Article><ArticleTitle>%s</ArticleTitle>%s</Article></MedlineCitation></PubmedArticle>"
    doi = b'<ELocationID EIdType="doi">10.5000/%d</ELocationID>'
    articles = [
        article % (b"", b"First", doi % 1),
        article % (b"<PMID/>", b"Second", doi % 2),
        article % (b"", b"Third", b""),
    ]
    deleted = b"<DeleteCitation><PMID/><PMID> 7 </PMID></DeleteCitation>"
    (tmp_path / "p.xml").write_bytes(b"<PubmedArticleSet>%s%s</PubmedArticleSet>" % (b"".join(articles), deleted))
    assert [*read_works(tmp_path / "p.xml")][3:] == [DeletedWork("pmid:7")]
    fatcat = {"release_year": 2001, "ext_ids": {"doi": "10.5000/3"}, "title": "Fourth"}
    others = [fatcat, fatcat | {"ext_ids": {}}, SCHOLAR | {"corpusid": None}, ARXIV | {"id": ""}]
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        file = index.import_file("p.xml", "1", read_works(tmp_path / "p.xml"))
        assert (file.works, file.refused) == (2, {"not_wanted": 1})
        file = index.import_file("others", "1", others)
        assert (file.works, file.refused) == (2, {"not_wanted": 2})


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
        ("pages.jsonl", lines({"message": {"items": [CROSSREF, CROSSREF]}}, {"results": [SCHOLAR]}, {"data": [DATACITE]}, ARXIV),
         ["10.5000/a", "10.5000/a", "s2:7", "10.5000/b", "arxiv:0908.0054"]),
        ("long pages.json", lines({"meta": "x" * 70_000, "results": [SCHOLAR]}, {"results": [ARXIV]}), ["s2:7", "arxiv:0908.0054"]),
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


def test_an_article_of_pubmed_has_its_own_title_and_nothing_that_is_marked_as_wrong(tmp_path):
    """Articles without a translated title all had the title `Not Available`."""
    (tmp_path / "p.xml").write_bytes(UNTRANSLATED)
    first, second = read_works(tmp_path / "p.xml")
    assert parse_record(first) == CatalogueRecord("pmid:92", "Der Tee", ("Lee",), 2015, "", "article", ("pmid:92",))
    with pytest.raises(StepError, match="has no title"):
        parse_record(second)


def test_books_of_pubmed_are_read_and_deleted_citations_named(tmp_path):
    (tmp_path / "books.xml").write_bytes(BOOKS)
    book, chapter, *deleted = read_works(tmp_path / "books.xml")
    assert parse_record(book) == CatalogueRecord(
        "pmid:90", "The whole book", ("A Lee",), 2007, "", "book", ("doi:10.5000/f", "pmid:90")
    )
    assert parse_record(chapter) == CatalogueRecord(
        "pmid:91", "A chapter", ("Berg",), None, "The whole book", "book-chapter", ("pmid:91",)
    )
    assert deleted == [DeletedWork("pmid:88"), DeletedWork("pmid:7")]


def test_a_deleted_citation_removes_its_work_until_the_file_that_deletes_it_is_removed(tmp_path):
    def names() -> set[str]:
        paper = Paper("", "", identifiers=("pmid:88", "pmid:89", "pmid:90"))
        return {work.name for work in index.candidates(paper)}

    for name, content in {"1.xml": PUBMED, "2.xml": BOOKS}.items():
        (tmp_path / name).write_bytes(content)
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        index.import_file("1.xml", "1", read_works(tmp_path / "1.xml"))
        assert names() == {"pmid:88", "pmid:89"}
        file = index.import_file("2.xml", "1", read_works(tmp_path / "2.xml"))
        assert (file.works, file.deleted, file.refused, index.count()) == (2, 2, {}, 4)
        assert names() == {"pmid:89", "pmid:90"}
        index.import_file("3.jsonl", "1", [DeletedWork("pmid:89"), {"id": "pmid:89", "title": "Anew", "pmid": "89"}])
        assert names() == {"pmid:89", "pmid:90"}, "the file gives the work again"
        index.import_file("3.jsonl", "2", [{"id": "pmid:89", "title": "Anew", "pmid": "89"}, DeletedWork("pmid:89")])
        assert names() == {"pmid:90"}
        index.remove_file("2.xml")
        assert names() == {"pmid:88"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (json.dumps({"message": {"items": [CROSSREF] * 3}}).encode()[:-40], "not a whole JSON document"),
        (json.dumps({"items": [CROSSREF] * 3}, indent=1).encode()[:-40], "not a whole JSON document"),
        (json.dumps([CROSSREF] * 3, indent=1).encode()[:-40], "not a whole JSON document"),
        (b"[\n" + lines(CROSSREF) + b",\n" + lines(SCHOLAR), "not a whole JSON document"),
        (lines(CROSSREF, DATACITE)[:-9], "ends within a record"),
        (b"<html>Sorry, too many requests</html>", "is XML, but not a list of PubMed articles"),
        (b"Sorry, too many requests", "is neither JSON nor XML"),
    ],
)
def test_a_file_that_cannot_be_read_any_more_keeps_what_it_gave(tmp_path, content, problem):
    (tmp_path / "works").write_bytes(content)
    with closing(CatalogueIndex(tmp_path / "catalogue.db", stubs=STUBS)) as index:
        index.import_file("works", "1", [CROSSREF, SCHOLAR])
        file = index.import_file("works", "2", read_works(tmp_path / "works"))
        assert (file.works, index.count(), file.stamp, file.problem_stamp) == (2, 2, "1", "2")
        assert problem in file.problem


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


def test_a_book_without_its_document_and_xml_of_others_are_refused(tmp_path):
    path = tmp_path / "works.xml"
    path.write_bytes(b"<PubmedArticleSet><PubmedBookArticle/></PubmedArticleSet>")
    assert list(read_works(path)) == [{}]
    path.write_bytes(b"<PubmedArticleSet><Other/></PubmedArticleSet>")
    with pytest.raises(StepError, match="without articles"):
        list(read_works(path))
    named = PUBMED.replace(b"<PubmedArticleSet>", b'<PubmedArticleSet xmlns="https://example.org/pubmed">')
    path.write_bytes(named)
    assert [work["id"] for work in read_works(path)] == ["pmid:88", "pmid:89"]


def test_a_record_with_lists_of_its_own_is_no_page_and_each_list_of_a_page_is_read(tmp_path):
    path = tmp_path / "works.json"
    record = {**CROSSREF, "data": [], "items": [1]}
    path.write_text(json.dumps(record))
    assert list(read_works(path)) == [record]
    path.write_text(json.dumps({"items": [CROSSREF], "results": [SCHOLAR]}))
    assert list(read_works(path)) == [CROSSREF, SCHOLAR]
