"""Whether a paper matches a work of the catalogue: slugs of titles, stubs, verdicts.

exact: an identifier agrees, and title or authors do. strong: the titles have the same slug and the authors agree.
weak: the titles have the same slug but too little else is known; or an identifier agrees and the title does not.
ambiguous: several works fit equally well. different: there is no candidate, or authors or year contradict it.

Slug and score are those of the standard. Titles with the same slug differ at most in case, accents, marks and white
space, so that the score adds little; the verdict also uses authors, year and journal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import CatalogueRecord, arxiv_of, doi_of

LONGEST = 1023
"""Most characters of a title; a record with a longer one is not matched by its title."""
_SHORTEST = 8

_LETTERS = str.maketrans("\u0141\u0142\u00d8\u00f8", "LlOo")
_ACCENTS = re.compile("[\u0300-\u036f]")
_MARKS = re.compile(
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~\u2019\u00b7\u201c\u201d\u2018\u00ab\u00bb\u300c\u300d\u00bf\u2013\u00b1\u00a7\u02bf]"
)
_SPACE = re.compile("[ \t\n\r\x0b\x0c]")


def plain(title: str) -> str:
    """Return a title in lower case, without accents and marks.

    >>> plain("Søren ŁÓDŹ: a très-long “title”!")
    'soren lodz a treslong title'
    """
    decomposed = unicodedata.normalize("NFD", title).translate(_LETTERS)
    return _MARKS.sub("", _ACCENTS.sub("", decomposed).lower())


def slug(title: str, stubs: frozenset[str]) -> str:
    """Return a title's slug; empty if it is too short or is one of the stubs.

    >>> slug("HELLO:there", frozenset()), slug("short", frozenset()), slug("Book Reviews", frozenset({"bookreviews"}))
    ('hellothere', '', '')
    """
    letters = _SPACE.sub("", plain(title))
    return "" if len(letters) < _SHORTEST or letters in stubs else letters


def matched_slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug that a record is matched by; empty if its title is too long."""
    return slug(title, stubs) if len(title) <= LONGEST else ""


def score(left: str, right: str) -> int:
    """Return how similar two titles are: 1000 less their edit distance in thousandths of the longer one.

    >>> score("A title of thing", "A title of things"), score("sturgeon", "urgently"), score("", "")
    (941, 250, 1000)
    """
    left_title, right_title = plain(left), plain(right)
    longer = max(len(left_title), len(right_title))
    if not longer:
        return 1000
    return 1000 * (longer - distance(left_title, right_title)) // longer


def distance(first: str, second: str) -> int:
    """Return the Levenshtein distance of two texts, in characters.

    The algorithm is that of Myers (1999) and Hyyrö (2003), with a column of the table in bit vectors.

    >>> distance("kitten", "sitting"), distance("", "abc"), distance("same", "same")
    (3, 3, 0)
    """
    if first == second:
        return 0
    if not first or not second:
        return len(first) + len(second)
    places: dict[str, int] = {}
    for index, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << index
    all_bits, last = (1 << len(first)) - 1, 1 << len(first) - 1
    increases, decreases, count = all_bits, 0, len(first)
    for letter in second:
        matches = places.get(letter, 0)
        diagonal = (((matches & increases) + increases) ^ increases) | matches | decreases
        rises, falls = decreases | ~(diagonal | increases) & all_bits, diagonal & increases
        count += bool(rises & last) - bool(falls & last)
        rises, falls = (rises << 1 | 1) & all_bits, (falls << 1) & all_bits
        increases, decreases = falls | ~(diagonal | rises) & all_bits, rises & diagonal
    return count


EXACT, STRONG, WEAK, AMBIGUOUS, DIFFERENT = "exact", "strong", "weak", "ambiguous", "different"
ACCEPTED = (EXACT, STRONG)
"""Verdicts whose DOI is the paper's."""

CROWD = 10
"""If more works than this share a slug, none is accepted by its title."""
_SAME_TITLE = 900  # least score of titles that are taken to be the same
_SHORT_SLUG = 16  # characters below which a slug is weak evidence
_RANK = {EXACT: 3, STRONG: 2, WEAK: 1, DIFFERENT: 0}
_JUNIOR = re.compile(r"\b(?:jr|sr|ii|iii|iv|phd|md)\.?\s*$", re.IGNORECASE)


class Paper(NamedTuple):
    """The properties by which a paper is matched."""

    title: str
    slug: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    journal: str = ""
    identifiers: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """The outcome of matching a paper; `info` is `match0:minfo`."""

    status: str
    doi: str
    info: dict[str, Any]


class _Candidate(NamedTuple):
    status: str
    parts: dict[str, Any]
    reasons: tuple[str, ...]
    record: CatalogueRecord


def read_paper(table: Mapping[str, Any], slug: str) -> Paper:
    """Return the properties to match a paper by, from GROBID's metadata or the embedded extractor's `text0:tinfo`."""
    authors = [author["name"] if isinstance(author, dict) else author for author in table.get("authors") or ()]
    journal = table.get("journal")
    date = str(table.get("date") or "")
    identifiers = [f"doi:{doi}"] if (doi := doi_of(str(table.get("doi") or ""))) else []
    identifiers += [f"arxiv:{number}"] if (number := arxiv_of(str(table.get("arxiv_id") or ""))) else []
    return Paper(
        table.get("title") or "", slug, tuple(author for author in authors if author),
        int(date[:4]) if date[:4].isdecimal() else None,
        (journal.get("name") or "" if isinstance(journal, dict) else journal or ""), tuple(identifiers),
    )  # fmt: skip


def judge(paper: Paper, candidates: Sequence[CatalogueRecord]) -> Verdict:
    """Return the verdict on a paper; `candidates` are the works that share an identifier or the slug with it."""
    info: dict[str, Any] = {"slug": paper.slug or None, "score": 0, "candidates": len(candidates)}
    if not candidates:
        reason = "no_record" if paper.slug or paper.identifiers else "no_title"
        return Verdict(DIFFERENT, "", info | {"reasons": [reason]})
    verdicts = sorted((_judge(paper, record) for record in candidates), key=_order)
    best = verdicts[0]
    status, reasons = best.status, best.reasons
    if status != EXACT and sum("slug" in candidate.reasons for candidate in verdicts) > CROWD:
        status, reasons = AMBIGUOUS, (*reasons, "many_records")
    elif status in {STRONG, WEAK}:
        rivals = [rival for rival in verdicts[1:] if _order(rival)[:2] == _order(best)[:2]]
        if any(rival.record.doi != best.record.doi or not best.record.doi for rival in rivals):
            status, reasons = AMBIGUOUS, (*reasons, "several_records")
    info |= {
        "score": best.parts["title"],
        "parts": best.parts,
        "reasons": list(reasons),
        "record": best.record.name,
        "record_doi": best.record.doi or None,
    }
    return Verdict(status, best.record.doi if status in ACCEPTED else "", info)


def _order(candidate: _Candidate) -> tuple[int, int, str]:
    close = candidate.parts["authors"] + 100 * (candidate.parts["year"] == 0) + 100 * candidate.parts["journal"]
    return -_RANK[candidate.status], -close, candidate.record.name


def _judge(paper: Paper, record: CatalogueRecord) -> _Candidate:
    shared = [name for name in paper.identifiers if name in record.identifiers]
    title = score(paper.title, record.title)
    authors = _share_of_authors(paper.authors, record.authors)
    year_distance = None if paper.year is None or record.year is None else abs(paper.year - record.year)
    journal = bool(paper.journal) and plain(paper.journal) == plain(record.journal)
    slug = bool(paper.slug) and title >= _SAME_TITLE
    parts = {"title": title, "authors": authors or 0, "year": year_distance, "journal": journal, "identifiers": shared}
    reasons = [name.partition(":")[0] for name in shared] + ["slug"] * slug + ["title_differs"] * (title < _SAME_TITLE)
    reasons += ["journal"] * journal
    reasons.append("authors_unknown" if authors is None else
                   "authors" if authors == 1000 else "authors_differ" if authors == 0 else "some_authors")  # fmt: skip
    if year_distance is not None:
        reasons.append("year" if year_distance == 0 else "year_near" if year_distance <= 2 else "year_differs")
    if slug and len(paper.slug) < _SHORT_SLUG:
        reasons.append("short_title")
    contradicted = authors == 0 or (year_distance is not None and year_distance > 2)
    if shared:
        status = EXACT if title >= _SAME_TITLE or (authors or 0) >= 500 else WEAK
    elif not slug or contradicted:
        status = DIFFERENT
    elif authors is None or authors < 500 or (len(paper.slug) < _SHORT_SLUG and authors < 1000):
        status = WEAK
    else:
        status = STRONG
    return _Candidate(status, parts, tuple(reasons), record)


def _share_of_authors(paper: Sequence[str], record: Sequence[str]) -> int | None:
    """Return the share of the record's authors that the paper has, in thousandths; None if one side has no authors.

    A family name of two letters or more, in any script, must be a word of the paper's names.
    """
    words = {word for name in paper for word in _words(name)}
    families = [family for name in record if (family := _family(name))]
    if not words or not families:
        return None
    return 1000 * sum(family in words for family in families) // len(families)


def _words(name: str) -> list[str]:
    return [word for word in plain(name.replace("-", " ").replace(".", " ")).split() if len(word) > 1]


def _family(name: str) -> str:
    family_part, comma, _ = name.partition(",")
    words = _words(_JUNIOR.sub("", family_part if comma else name))
    return words[-1] if words else ""


_WORDS = (
    "abstract", "abstracts", "acknowledgement", "acknowledgements", "acknowledgment", "acknowledgments", "addendum",
    "advertisement", "agenda", "analysis", "announcement", "announcements", "annual meeting", "annual report",
    "appendices", "appendix", "article", "author index", "authors index", "authors reply", "back cover",
    "back matter", "backmatter", "bibliography", "biography", "book review", "book reviews", "books received",
    "briefly", "bulletin", "calendar", "calendar of events", "call for papers", "case report", "case reports",
    "case study", "chairmans message", "chapter", "comment", "commentary", "comments", "committees",
    "communications", "conclusion", "conclusions", "conference announcement", "conference calendar", "contents",
    "contributors", "copyright", "copyright page", "correction", "corrections", "correspondence", "corrigenda",
    "corrigendum", "cover", "cover image", "current awareness", "dedication", "directory", "discussion",
    "dissertation", "editor in chief", "editorial", "editorial board", "editorial comment", "editorial note",
    "editorials", "editors choice", "editors introduction", "editors note", "editors notes", "editors page",
    "epilogue", "errata", "erratum", "events", "executive summary", "expression of concern", "figures", "foreword",
    "forthcoming articles", "forthcoming events", "from the editor", "from the editors", "front cover",
    "front matter", "frontmatter", "full text", "general discussion", "general information", "glossary",
    "guest editorial", "guest editors introduction", "guide for authors", "guidelines", "highlights", "images",
    "impressum", "in brief", "in memoriam", "in this issue", "index", "index of authors", "information for authors",
    "instructions for authors", "instructions to authors", "interview", "introduction", "introductory remarks",
    "invited lectures", "issue information", "keynote", "keynote address", "keynotes", "leserbriefe", "letter",
    "letter from the editor", "letter to the editor", "letters", "letters to the editor", "list of contributors",
    "list of figures", "list of participants", "list of reviewers", "literatur", "literature review", "masthead",
    "materials and methods", "meeting abstracts", "meeting report", "meetings", "message from the editor",
    "message from the president", "methods", "minutes", "miscellanea", "miscellaneous", "nachrichten", "new books",
    "news", "news and notes", "news and views", "newsletter", "notes", "notes and news", "notes on contributors",
    "notice", "notices", "obituaries", "obituary", "opening remarks", "oral presentations", "oral session",
    "original article", "original articles", "original research", "outline", "overview", "panel discussion",
    "patents", "perspective", "perspectives", "poster presentations", "poster session", "posters", "preface",
    "preliminary material", "presidential address", "presidents message", "press release", "proceedings", "program",
    "programme", "prologue", "publication", "publications", "publications received", "publishers note",
    "question and answer", "rapid communication", "recensions", "references", "regular articles", "rejoinder",
    "reply", "report", "reports", "research", "research article", "research articles", "research note",
    "research paper", "response", "results", "results and discussion", "resume", "review", "review article",
    "reviewers", "reviews", "rezension", "rezensionen", "short communication", "short communications",
    "special issue", "special section", "subject index", "summaries", "summary", "supplement", "supplementary data",
    "supplementary information", "supplementary material", "supplementary materials", "symposium",
    "table of contents", "tables", "technical note", "technical report", "thesis", "titelei", "title page",
    "untitled", "upcoming events", "update", "volume contents", "volume index", "volume information", "welcome",
    "welcome message", "working paper", "workshop", "year in review", "zusammenfassung",
)  # fmt: skip

STUBS = frozenset(words.replace(" ", "") for words in _WORDS)
