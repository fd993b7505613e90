"""References and texts as typed exports, and JATS articles."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from collections import Counter
from contextlib import closing
from struct import pack

import pytest

from tests.collections.papers.library import Library, Shelf, pdf, sha1
from tests.collections.papers.test_capture_rules import source
from tests.collections.papers.test_failing_service import by_name, library, papers
from tests.collections.papers.test_grobid import TEI, XML
from tests.collections.papers.test_harvest import exported
from windrow.collections.papers.adapter import ADAPTER
from windrow.collections.papers.adapter.exports import _text_of_bytes
from windrow.collections.papers.adapter.texts import _references
from windrow.collections.papers.capture_rules import PDF, select
from windrow.collections.papers.columns import FAMILIES, Put, decode_row, encode
from windrow.collections.papers.database.wide import open_table
from windrow.collections.papers.extract import extract
from windrow.contract import Task
from windrow.errors import StepError
from windrow.formats.jats import read_jats
from windrow.model import CdxLine, Item, Limits
from windrow.reasons import Reason

JATS = b"""<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) v1.2 20190208//EN" "JATS-archivearticle1.dtd">
<article article-type="research-article"><front><journal-meta><journal-title-group><journal-title>A journal</journal-title>
</journal-title-group></journal-meta><article-meta><article-id pub-id-type="doi">10.5000/JATS</article-id>
<title-group><article-title>Effects of <italic>&beta;</italic>-waves</article-title><subtitle>on the whole thing</subtitle></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lee</surname><given-names>Ann</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>No</surname></name></contrib>
<contrib><name-alternatives><name><surname>Berg</surname><given-names>Bo</given-names></name></name-alternatives></contrib>
<contrib><string-name>C. Dee</string-name></contrib>
<contrib contrib-type="author"><collab>The Group</collab></contrib></contrib-group>
<pub-date><year>2004</year></pub-date><abstract><p>We measured.</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>With a   rod.</p></sec></body>
<back><ref-list><ref-list><ref id="r1"><mixed-citation>A. Writer. On measure, 1999. doi:10.5000/ref</mixed-citation></ref>
</ref-list></ref-list></back>
</article>"""

CITED = """<back><div type="acknowledgement"><p>Thanks to Poe.</p></div><div type="availability"><p>In a harbour.</p></div>
<div type="annex"><p>An appendix.</p></div><div type="references"><listBibl><biblStruct xml:id="b0"><analytic><title level="a" type="main">A measure of all
 the other things</title><author><persName><forename type="first">Bo</forename><surname>Berg</surname></persName></author>
<idno type="DOI">10.5000/CITED</idno></analytic><monogr><title level="j">Annals</title><imprint><date type="published" when="1999"/>
</imprint></monogr><note type="raw_reference">Berg, B. A measure, 1999</note></biblStruct></listBibl></div></back></text></TEI>"""


def export(workspace: Library, name: str, form: str = "jsonl") -> list[dict]:
    wanted = next(export for export in ADAPTER.EXPORTS if export.name == name)
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    count = wanted.write(workspace.workspace(), form, stream)
    stream.flush()
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        raw.seek(0)
        rows = parquet.read_table(raw).to_pylist()
    else:
        rows = [json.loads(line) for line in raw.getvalue().decode().splitlines()]
    assert len(rows) == count
    return rows


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_references_have_their_doi_and_match_and_texts_have_typed_fields(tmp_path, form):
    contents = papers("cited", "guessed")
    tei = TEI.replace(b"</text></TEI>", CITED.encode())
    replies = {"cited": (200, tei, XML), "guessed": (500, b"[NO_BLOCKS] none", XML)}
    work = {"doi": "10.5000/cited", "title": "A measure of all the other things", "authors": ["Bo Berg"], "year": 1999}
    (tmp_path / "works.jsonl").write_text(json.dumps(work))
    with library(tmp_path, contents, by_name(contents, Counter(), replies)) as workspace:
        workspace.section += '\ncatalogue = ["works.jsonl"]'
        workspace.run()
    keys = {name: f"sha1:{sha1(content)}" for name, content in contents.items()}
    references = {(row["key"], row["number"]): row for row in export(workspace, "paper-references", form)}
    assert references[keys["cited"], 1] == {
        "key": keys["cited"], "number": 1, "text": "Berg, B. A measure, 1999", "title": "A measure of all\n the other things",
        "authors": ["Bo Berg"], "year": 1999, "journal": "Annals", "doi": "10.5000/cited", "match": "exact",
        "match_doi": "10.5000/cited", "problem": None,
    }  # fmt: skip
    assert references[keys["guessed"], 2]["text"].startswith("B. Writer")
    texts = {row["key"]: row for row in export(workspace, "paper-texts", form)}
    cited, guessed = texts[keys["cited"]], texts[keys["guessed"]]
    assert (cited["title"], cited["authors"], cited["extractor"]) == (
        "A careful measure of the whole thing",
        ["Ann Lee"],
        "grobid",
    )
    assert cited["body"].startswith("word word")
    assert cited["body"].endswith("word\nThanks to Poe.\nAn appendix.")
    for query, number in {"poe": 1, "harbour": 1, "appendix": 1, "annals": 0}.items():
        found = ADAPTER.search(workspace.workspace(), query, offset=0, limit=5, explain=False).results
        assert len(found) == number, query
    assert (cited["size"], cited["captured"]) == (len(contents["cited"]), "2020-01-02T03:04:05Z")
    assert (guessed["title"], guessed["extractor"]) == ("The paper called guessed by everybody", "windrow text0 2")
    rows = {row["key"]: row for row in export(workspace, "papers", form)}
    column = "grobid0:tei_xml"
    assert rows[keys["cited"]][column] == (tei if form == "parquet" else tei.decode())
    assert {key: name for key, row in rows.items() for name in workspace.rows()[key] if row.get(name) is None} == {}
    assert _text_of_bytes(column, b"\xe9") == (f"{column}_base64", "6Q==")


def test_a_jats_article_has_metadata_text_references_and_a_match(tmp_path):
    (tmp_path / "warcs").mkdir()
    shelf = Shelf(tmp_path / "warcs" / "shelf.warc.gz")
    shelf.put("http://example.org/a.xml", JATS, mime="application/jats+xml")
    shelf.put("http://example.org/b.pdf", pdf("A paper beside it"))
    broken = JATS.replace(b"</front>", b"")
    shelf.put("http://example.org/c.xml", broken, mime="application/jats+xml")
    shelf.index(tmp_path / "shelf.cdx")
    work = {
        "doi": "10.5000/other",
        "title": "Effects of beta-waves on the whole thing",
        "authors": ["A. Lee"],
        "year": 2004,
    }
    (tmp_path / "works.jsonl").write_text(json.dumps(work))
    library = Library(
        tmp_path, 'catalogue = ["works.jsonl"]', f'cdx = ["{tmp_path}/shelf.cdx"]\nwarc = ["{tmp_path}/warcs"]\n'
    )
    library.run()
    row = decode_row(library.rows()[f"sha1:{sha1(JATS)}"])
    info = row["text0:tinfo"]
    title = "Effects of \u03b2-waves: on the whole thing"
    assert (info["title"], info["authors"]) == (title, ["Ann Lee", "Bo Berg", "C. Dee", "The Group"])
    assert (info["doi"], info["journal"], info["date"], info["abstract"]) == (
        "10.5000/jats",
        "A journal",
        "2004",
        "We measured.",
    )
    assert row["text0:pages"] == "Methods\nWith a rod."
    for query in ("author:lee year:2004", "doi:10.5000/JATS", "year:2003..2005 waves", "source:shelf"):
        results = ADAPTER.search(library.workspace(), query, offset=0, limit=5, explain=False).results
        assert [result.details.key for result in results if result.url.endswith("a.xml")] == [f"sha1:{sha1(JATS)}"], (
            query
        )
    assert (row["text0:tstatus"]["method"], row["match0:mstatus"]) == ("jats", "strong")
    failed = decode_row(library.rows()[f"sha1:{sha1(broken)}"])["text0:tstatus"]
    assert (failed["status"], failed["reason"]) == ("error", "not_well_formed")
    references = [row for row in export(library, "paper-references") if row["key"] == f"sha1:{sha1(JATS)}"]
    assert [(row["text"], row["doi"]) for row in references] == [
        ("A. Writer. On measure, 1999. doi:10.5000/ref", "10.5000/ref")
    ]


def test_what_caps_cut_from_an_abstract_and_references_is_counted():
    long_abstract = JATS.replace(b"We measured.", b"We measured. " * 2_000).replace(b"1999", b"1999 " * 1_000)
    task = Task(Item(1, "papers", "attempt", ""), io.BytesIO(long_abstract), Limits(), {}, {})
    observation, *skips = extract(task)
    status, info = observation.value["text"]["status"], observation.value["text"]["info"]
    assert status["reason"] == "CUT"
    assert (len(info["abstract"]), [len(reference) for reference in info["references"]]) == (20_000, [4_000])
    assert {(skip.reason, skip.message): skip.number for skip in skips} == {
        ("capped", "more than 20,000 characters of an abstract without GROBID"): 5_999,
        ("capped", "more than 4,000 characters of a reference without GROBID"): 1_040,
    }


def test_the_whole_text_of_a_jats_body_is_read_once():
    body = b"""<sec><label>1</label><title>On <italic>tea</italic></title>
        <p>One<list><list-item><p>two</p></list-item></list> more\n words</p><p/>
        <table-wrap><caption><p>Cups</p></caption><table><tr><th>Kind</th><td>small</td><td><p>large</p></td></tr></table></table-wrap>
        <disp-quote>quoted</disp-quote><def-list><def-item><term>pot</term><def><p>vessel</p></def></def-item></def-list>
        <verse-group><verse-line>O leaf</verse-line></verse-group><preformat>code</preformat></sec>"""
    article = read_jats(b"<article><front/><body>" + body + b"</body></article>", Limits())
    assert article.body.split("\n") == [
        "1", "On tea", "One", "two", "more words", "Cups", "Kind", "small", "large", "quoted", "pot", "vessel", "O leaf", "code",
    ]  # fmt: skip


def test_text_in_cdata_is_literal_and_references_are_read_in_every_encoding():
    """`&eacute;` in CDATA became `&#233;`, and in UTF-16 no named reference was read."""
    body = "<body><p>caf&eacute; <![CDATA[a < b &eacute; &amp; <i>]]> &#x3b2;</p></body>"
    content = f'<?xml version="1.0" encoding="ENCODING"?><article><front/>{body}</article>'
    for encoding in ("UTF-8", "ISO-8859-1", "UTF-16"):
        article = read_jats(content.replace("ENCODING", encoding).encode(encoding), Limits())
        assert article.body == "caf\xe9 a < b &eacute; &amp; <i> \u03b2"


def test_all_abstracts_figures_and_articles_in_an_article_are_read():
    front = b"""<front><article-meta><abstract abstract-type="graphical"><p>Picture</p></abstract>
        <abstract><p>Summary</p></abstract><trans-abstract><p>R\xc3\xa9sum\xc3\xa9</p></trans-abstract></article-meta></front>"""
    parts = b"""<body><p>Body</p></body><floats-group><fig><caption><p>Figure</p></caption></fig></floats-group>
        <sub-article><body><p>Reply</p></body></sub-article><response><body><p>Answer</p></body></response>"""
    article = read_jats(b"<article>" + front + parts + b"</article>", Limits())
    assert article.abstract == "Summary"
    assert article.body.split("\n") == ["Body", "Figure", "Reply", "Answer", "Picture", "R\u00e9sum\u00e9"]


def test_jats_is_taken_as_xml_and_digests_decide_also_if_the_index_has_others():
    content = b'<?xml version="1.0"?><article><front/><body><p>Tea</p></body></article>'
    line = CdxLine("", "20240101000000", "http://x/", "text/xml", 200, f"sha256:{'0' * 64}", 1, 0, "a.warc")
    results = []
    for digest in (sha1(content), sha1(b"another")):
        shelf = source(media_types=["text/xml"], digests=[digest])
        assert select(shelf, {})(line) is None
        task = Task(Item(1, "papers", "attempt", "http://x/"), io.BytesIO(content), Limits(), {}, {}, source=shelf)
        results.append(extract(task)[0])
    assert results[0].value["file"]["mime"] == "application/jats+xml"
    assert results[1].full_message == "its digest is not in `digests`"


def test_elements_without_text_between_them_are_apart_in_references_abstracts_and_names():
    element_citation = b"""<ref><label>1</label><element-citation><person-group person-group-type="author"><name><surname>Smith</surname><given-names>J</given-names></name></person-group><article-title>Ecology of <italic>male</italic> birds</article-title><source>J Birds</source><year>2001</year><volume>12</volume><pub-id pub-id-type="doi">10.5555/Birds.2001.34</pub-id><pub-id pub-id-type="pmid">11223344</pub-id></element-citation></ref>"""
    sections = b"<sec><title>Background</title><p>We grew H<sub>2</sub>O.</p></sec><sec><title>Results</title><p>Herring shrank.</p></sec>"
    content = JATS.replace(b'<ref id="r1">', element_citation + b'<ref id="r1">').replace(
        b"<p>We measured.</p>", sections
    )
    task = Task(Item(1, "papers", "attempt", ""), io.BytesIO(content), Limits(), {}, {})
    (observation,) = extract(task)
    info = observation.value["text"]["info"]
    assert info["abstract"] == "Background We grew H2O. Results Herring shrank."
    assert info["references"][0] == (
        "1 Smith J Ecology of male birds J Birds 2001 12 10.5555/Birds.2001.34 11223344"
    )  # fmt: skip
    first, second = _references({"text0:tinfo": encode("text0:tinfo", info)})
    assert {name: field for name, field in first.items() if name != "unstructured"} == {
        "title": "Ecology of male birds", "authors": ["J Smith"], "doi": "10.5555/birds.2001.34", "journal": "J Birds",
        "date": "2001",
    }  # fmt: skip
    assert second == {"doi": "10.5000/ref", "unstructured": "A. Writer. On measure, 1999. doi:10.5000/ref"}


def test_names_dates_and_parts_of_jats_are_read_as_journals_write_them():
    contributors = b"""<contrib contrib-type="Author"><string-name>Jean <surname>Dupont</surname></string-name></contrib>
        <contrib contrib-type="first author"><name><surname>Lee</surname><given-names>Ann B.</given-names><suffix>Jr.</suffix></name></contrib>
        <contrib><collab>The Cod <italic>Consortium</italic><contrib-group><contrib><name><surname>Mo</surname></name></contrib></contrib-group></collab></contrib>"""
    article = read_jats(
        b"<article><front><article-meta><article-id pub-id-type='doi'>https://doi.org/10.5000/x</article-id>"
        b"<contrib-group>" + contributors + b"</contrib-group><pub-date pub-type='nihms-submitted'><year>2003</year>"
        b"</pub-date><pub-date date-type='pub'><year>2004</year></pub-date></article-meta></front><body><p>Cod.</p></body>"
        b"<back><ack><p>Thanks.</p></ack><app-group><app><title>Data</title><p>On request.</p></app></app-group>"
        b"<ref-list><title>References</title><ref><mixed-citation>Poe</mixed-citation></ref></ref-list></back></article>",
        Limits(),
    )
    assert article.authors == ("Jean Dupont", "Ann B. Lee Jr.", "The Cod Consortium")
    assert (article.doi, article.date) == ("10.5000/x", "2004")
    assert article.body.split("\n") == ["Cod.", "Thanks.", "Data", "On request.", "References"]
    assert [reference.text for reference in article.references] == ["Poe"]


def test_keywords_days_editors_and_several_citations_of_a_reference_are_kept():
    content = b"""<article><front><journal-meta><issn>1234-5679</issn></journal-meta><article-meta><volume>7</volume><contrib-group><contrib><name><surname>Lee</surname><given-names>Ann</given-names>
        </name></contrib><contrib contrib-type="Editor"><string-name>Ed Bo</string-name></contrib></contrib-group>
        <contrib-group content-type="reviewers"><contrib><collab>The Board</collab></contrib></contrib-group>
        <pub-date pub-type="collection"><year>2004</year></pub-date>
        <pub-date pub-type="epub"><day>3</day><month>5</month><year>2004</year></pub-date>
        <kwd-group><title>Keywords</title><kwd>cod</kwd><nested-kwd><kwd><italic>Gadus</italic> sp.</kwd></nested-kwd></kwd-group>
        <kwd-group xml:lang="fr"><kwd>morue</kwd><kwd>cod</kwd></kwd-group></article-meta></front><back><ref-list>
        <ref><label>1</label><mixed-citation>Poe A. One.</mixed-citation><mixed-citation><string-name>Roe B</string-name>. <article-title>Two</article-title>.
        </mixed-citation><note><p>See both.</p></note></ref>
        <ref><citation-alternatives><element-citation><collab>WHO</collab><article-title>Tea</article-title></element-citation>
        <mixed-citation>W.H.O. (2001) <article-title>Tea</article-title>.</mixed-citation></citation-alternatives></ref></ref-list></back></article>"""
    task = Task(Item(1, "papers", "attempt", ""), io.BytesIO(content), Limits(), {}, {})
    (observation,) = extract(task)
    info = observation.value["text"]["info"]
    assert (info["authors"], info["date"], observation.value["year"]) == (["Ann Lee"], "2004-05-03", 2004)
    assert info["contributors"] == [{"name": "Ed Bo", "role": "editor"}, {"name": "The Board", "role": "reviewers"}]
    assert [info.get(name) for name in ("volume", "issue", "issn")] == ["7", None, "1234-5679"]
    assert info["keywords"] == ["cod", "Gadus sp.", "morue"]
    assert "morue" in observation.text
    assert list(zip(info["references"], info["citations"], strict=True)) == [
        ("Poe A. One.", {}), ("Roe B. Two.", {"title": "Two", "authors": ["Roe B"]}), ("See both.", {}),
        ("W.H.O. (2001) Tea.", {"title": "Tea", "authors": ["WHO"]}),
    ]  # fmt: skip


def test_the_year_of_a_date_that_is_a_text_is_read():
    for text, date in (
        ("1 May 2020", "2020"), ("<day>1</day> <month>May</month> <year>2020</year>", "2020-05-01"), ("no year", ""),
    ):  # fmt: skip
        date_element = f"<pub-date date-type='pub'><string-date>{text}</string-date></pub-date>"
        content = f"<article><front><article-meta>{date_element}</article-meta></front></article>"
        assert read_jats(content.encode(), Limits()).date == date


def test_the_doi_of_a_reference_is_read_from_its_links():
    """A word such as `CrossRef` was the DOI, and DOIs in addresses were lost."""
    links = {
        '<ext-link ext-link-type="doi" l:href="10.5000/a">CrossRef</ext-link>': "10.5000/a",
        '<ext-link ext-link-type="uri" l:href="https://doi.org/10.5000/b%281%29">Full text</ext-link>': "10.5000/b(1)",
        '<ext-link l:href="https://x.example/10.5000/c/pdf">PDF</ext-link><uri>http://dx.doi.org/10.5000/C</uri>': "10.5000/C",
        '<ext-link l:href="https://doi.org/10.5000/x">of a book</ext-link><pub-id pub-id-type="doi">10.5000/d</pub-id>': "10.5000/d",
        '<pub-id pub-id-type="doi">none</pub-id><pub-id pub-id-type="pmid">7</pub-id>': "",
    }
    refs = "".join(f"<ref><mixed-citation>Tea, 2001 {link}</mixed-citation></ref>" for link in links)
    content = (
        f'<article xmlns:l="http://www.w3.org/1999/xlink"><front/><back><ref-list>{refs}</ref-list></back></article>'
    )
    article = read_jats(content.encode(), Limits())
    assert [reference.doi for reference in article.references] == [*links.values()]


def test_titles_and_names_have_no_notes_and_a_formula_is_read_once():
    """A title with a mark or with a formula in two forms was not that of its work in the catalogue."""
    preamble = r"<tex-math>\documentclass[12pt]{minimal}\begin{document}$$B^+$$\end{document}</tex-math>"
    formula = f"<inline-formula><alternatives>{preamble}<m:math><m:msup><m:mi>B</m:mi><m:mo>+</m:mo></m:msup></m:math></alternatives></inline-formula>"
    content = f"""<article xmlns:m="http://www.w3.org/1998/Math/MathML"><front><article-meta><title-group><article-title>Decay of {formula}s
        seen by <xref ref-type="bibr">Poe</xref><fn><label>1</label><p>With a grant.</p></fn><xref ref-type="fn">2</xref></article-title></title-group>
        <contrib-group><contrib><name><surname>Lee<xref ref-type="aff">1</xref></surname><given-names>Ann</given-names></name></contrib>
        <contrib><collab>The Group<xref ref-type="author-notes">*</xref></collab></contrib></contrib-group></article-meta></front>
        <body><p>So {formula}, or <inline-formula>{preamble}</inline-formula><fn><p>Perhaps.</p></fn></p>
        <fig><alternatives><caption><p>One</p></caption><textual-form/><graphic><alt-text>two</alt-text></graphic></alternatives></fig></body>
        <back><ref-list><ref><element-citation><article-title>Tea<xref ref-type="fn">a</xref></article-title></element-citation></ref></ref-list></back></article>"""
    article = read_jats(content.encode(), Limits())
    assert (article.title, article.authors) == ("Decay of B+s seen by Poe", ("Ann Lee", "The Group"))
    assert article.body.split("\n") == ["So B+, or $$B^+$$", "Perhaps.", "One", "two", "1", "With a grant."]
    assert [(reference.text, reference.title) for reference in article.references] == [("Teaa", "Tea")]


PREFIXED = (
    "<contrib-group><contrib><name><surname>Lee</surname><given-names>Ann</given-names><prefix>{}</prefix></name>"
    "</contrib></contrib-group>"
)


@pytest.mark.parametrize(
    ("meta", "field", "expected"),
    [
        ("<title-group><article-title>Larks and<break/>their songs</article-title></title-group>", "title", "Larks and their songs"),
        ("<article-id pub-id-type='doi'>10.1000/Abc, see also</article-id>", "doi", "10.1000/Abc"),
        ("<article-id pub-id-type='doi'>https://doi.org/10.1000/A%28x%29</article-id>", "doi", "10.1000/A(x)"),
        ("<pub-date date-type='received'><year>2017</year></pub-date><pub-date><year>2019</year></pub-date>", "date", "2019"),
        ("<pub-date><day>31</day><month>2</month><year>2019</year></pub-date>", "date", "2019-02"),
        ("<pub-date iso-8601-date='2019-13-01'/>", "date", "2019"),
        (PREFIXED.format("van den"), "authors", ("Ann van den Lee",)),
        (PREFIXED.format("Dr."), "authors", ("Ann Lee",)),
    ],
)  # fmt: skip
def test_breaks_dates_dois_and_prefixes_of_jats_are_read(meta, field, expected):
    content = f"<article><front><article-meta>{meta}</article-meta></front></article>"
    assert getattr(read_jats(content.encode(), Limits()), field) == expected


def test_titles_in_other_languages_and_awards_are_kept():
    content = b"""<article><front><article-meta><title-group><article-title>Der Tee</article-title>
        <trans-title-group xml:lang="en"><trans-title>On <italic>tea</italic></trans-title><trans-subtitle>A study</trans-subtitle>
        </trans-title-group><trans-title-group><trans-title>Du th\xc3\xa9</trans-title></trans-title-group></title-group>
        <funding-group><award-group><funding-source><institution-wrap><institution>The Leaf Fund</institution><institution-id>10.13039/1</institution-id>
        </institution-wrap></funding-source><award-id>LF-7</award-id><award-id>LF-8</award-id></award-group><award-group>
        <funding-source>Cup Trust</funding-source></award-group><funding-statement>Paid by cups.</funding-statement></funding-group>
        </article-meta></front><body><p>So.</p></body></article>"""
    task = Task(Item(1, "papers", "attempt", ""), io.BytesIO(content), Limits(), {}, {})
    (observation,) = extract(task)
    info = observation.value["text"]["info"]
    assert (info["title"], info["other_titles"]) == ("Der Tee", ["On tea: A study", "Du th\u00e9"])
    assert info["funding"] == [
        {"funder": "The Leaf Fund", "award": "LF-7"}, {"funder": "The Leaf Fund", "award": "LF-8"},
        {"funder": "Cup Trust", "award": None},
    ]  # fmt: skip
    assert all(word in observation.text for word in ("On tea", "LF-8", "Cup Trust", "Paid by cups."))
    older = b"<article><front><article-meta><title-group><trans-title>Tea</trans-title></title-group></article-meta></front></article>"
    assert read_jats(older, Limits())[:2] == ("Tea", ())


def test_xml_that_is_not_jats_or_has_a_dtd_of_its_own_is_refused():
    for content, reason in [(b"<article><p/></article>", Reason.WRONG_ROOT),
                            (b'<!DOCTYPE article [<!ENTITY a "b">]><article/>', Reason.DTD_FORBIDDEN)]:  # fmt: skip
        with pytest.raises(StepError) as refused:
            read_jats(content, Limits())
        assert refused.value.reason is reason


def test_cells_of_other_programs_that_cannot_be_decoded_are_exported_as_they_are_and_counted(tmp_path):
    library = Library(tmp_path, "", f'warc = ["{tmp_path}"]\n')
    cells = {"f:c": b'{"u": "http://x/"}', "file:size": b"1\xb5", "file:mime": PDF.encode(), "grobid0:quality": pack("!q", 1),
             "grobid0:status_code": b"200", "grobid0:status": b'"success"', "match0:minfo": b'[{"a":\n1}]', "file:cdx": b"{}"}  # fmt: skip
    place = ADAPTER._paper_settings(library.workspace())
    with closing(open_table(place.table, place.table_name, FAMILIES)) as table:
        table.put([Put(b"sha1:" + sha1(b"x").encode(), cells)])
    undecoded = {name: b64encode(cells[name]).decode() for name in (
        "file:size", "grobid0:status", "grobid0:status_code", "match0:minfo",
    )}  # fmt: skip
    (row,) = export(library, "papers")
    assert {name: row[f"{name}_base64"] for name in undecoded} == undecoded
    assert not undecoded.keys() & row.keys()
    assert (row["grobid0:quality"], row["f:c"]) == ("1", {"u": "http://x/"})
    (row,) = export(library, "papers", "parquet")
    assert json.loads(row["undecoded"]) == undecoded
    assert exported(library, "paper-count", "status") == b"not decoded\t1\n"
    assert exported(library, "paper-count", "outcome") == b"grobid0 not decoded\t1\n"
    assert exported(library, "paper-dump", "grobid-status-code").split(b"\t")[1:] == [b"200\n"]
