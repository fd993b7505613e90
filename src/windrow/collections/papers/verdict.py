"""Whether a row matches a work of the catalogue: slugs of titles, stubs, verdicts.

exact: an identifier in the paper is the work's, and nothing speaks against it. strong: the titles share their slug and
the authors agree. weak: they share it, and too little else is known; or an identifier agrees and the title does not.
ambiguous: several works fit as well. different: there is none, or what is known of it speaks against it.

The standard's own rules. A slug drops all that spellings differ in, so titles that share one differ in white space at
most, and the score says little; the verdict (`verdict.py`) rests on more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import CatalogueRecord, arxiv_of, doi_of

LONGEST = 1023
"""Characters of a title; a record with a longer one is matched with nothing by it."""
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
    spread = unicodedata.normalize("NFD", title).translate(_LETTERS)
    return _MARKS.sub("", _ACCENTS.sub("", spread).lower())


def slug(title: str, stubs: frozenset[str]) -> str:
    """Return a title's slug; empty where it has none: too short, or one of the stubs.

    >>> slug("HELLO:there", frozenset()), slug("short", frozenset()), slug("Book Reviews", frozenset({"bookreviews"}))
    ('hellothere', '', '')
    """
    found = _SPACE.sub("", plain(title))
    return "" if len(found) < _SHORTEST or found in stubs else found


def matched_slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug by which a record is matched; empty for one whose title is too long."""
    return slug(title, stubs) if len(title) <= LONGEST else ""


def score(left: str, right: str) -> int:
    """Return how alike two titles are, in thousandths of the longer one.

    >>> score("A title of thing", "A title of things"), score("sturgeon", "urgently"), score("", "")
    (941, 250, 1000)
    """
    one, other = plain(left), plain(right)
    longer = max(len(one), len(other))
    if not longer:
        return 1000
    return 1000 * (longer - distance(one, other)) // longer


def distance(one: str, other: str) -> int:
    """Count the letters to be put, taken or changed to make one text of another (Levenshtein).

    Bit vectors hold a column of the table, as Myers (1999) and Hyyrö (2003) describe it.

    >>> distance("kitten", "sitting"), distance("", "abc"), distance("same", "same")
    (3, 3, 0)
    """
    if one == other:
        return 0
    if not one or not other:
        return len(one) + len(other)
    places: dict[str, int] = {}
    for at, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << at
    every, last = (1 << len(one)) - 1, 1 << len(one) - 1
    up, down, count = every, 0, len(one)
    for letter in other:
        same = places.get(letter, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        rises, falls = down | ~(diagonal | up) & every, diagonal & up
        count += bool(rises & last) - bool(falls & last)
        rises, falls = (rises << 1 | 1) & every, (falls << 1) & every
        up, down = falls | ~(diagonal | rises) & every, rises & diagonal
    return count


EXACT, STRONG, WEAK, AMBIGUOUS, DIFFERENT = "exact", "strong", "weak", "ambiguous", "different"
ACCEPTED = (EXACT, STRONG)
"""Verdicts whose DOI is the paper's."""

CROWD = 10
"""Works of one slug, above which none is taken by its title."""
_ALIKE = 900  # thousandths from which titles are taken for one
_SHORT = 16  # letters of a slug that says little by itself
_RANK = {EXACT: 3, STRONG: 2, WEAK: 1, DIFFERENT: 0}
_JUNIOR = re.compile(r"\b(?:jr|sr|ii|iii|iv|phd|md)\.?\s*$", re.IGNORECASE)


class Paper(NamedTuple):
    """What is known of a paper that may be matched."""

    title: str
    slug: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    journal: str = ""
    identifiers: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """What was found: `info` is `match0:minfo`."""

    status: str
    doi: str
    info: dict[str, Any]


class _Judged(NamedTuple):
    status: str
    parts: dict[str, Any]
    reasons: tuple[str, ...]
    record: CatalogueRecord


def paper(table: Mapping[str, Any], slug: str) -> Paper:
    """Return what GROBID's metadata, or a guess in the same keys, say of a paper."""
    authors = [one["name"] if isinstance(one, dict) else one for one in table.get("authors") or ()]
    journal = table.get("journal")
    date = str(table.get("date") or "")
    found = [f"doi:{doi}"] if (doi := doi_of(str(table.get("doi") or ""))) else []
    found += [f"arxiv:{number}"] if (number := arxiv_of(str(table.get("arxiv_id") or ""))) else []
    return Paper(
        table.get("title") or "", slug, tuple(author for author in authors if author),
        int(date[:4]) if date[:4].isdecimal() else None,
        (journal.get("name") or "" if isinstance(journal, dict) else journal or ""), tuple(found),
    )  # fmt: skip


def judge(one: Paper, candidates: Sequence[CatalogueRecord]) -> Verdict:
    """Return the verdict on a paper and the works that share an identifier or the slug with it."""
    info: dict[str, Any] = {"slug": one.slug or None, "score": 0, "candidates": len(candidates)}
    if not candidates:
        reason = "no_record" if one.slug or one.identifiers else "no_title"
        return Verdict(DIFFERENT, "", info | {"reasons": [reason]})
    judged = sorted((_judge(one, record) for record in candidates), key=_order)
    best = judged[0]
    status, reasons = best.status, best.reasons
    if status != EXACT and sum("slug" in other.reasons for other in judged) > CROWD:
        status, reasons = AMBIGUOUS, (*reasons, "many_records")
    elif status in {STRONG, WEAK}:
        rivals = [other for other in judged[1:] if _order(other)[:2] == _order(best)[:2]]
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


def _order(one: _Judged) -> tuple[int, int, str]:
    close = one.parts["authors"] + 100 * (one.parts["year"] == 0) + 100 * one.parts["journal"]
    return -_RANK[one.status], -close, one.record.name


def _judge(one: Paper, record: CatalogueRecord) -> _Judged:
    shared = [name for name in one.identifiers if name in record.identifiers]
    title = score(one.title, record.title)
    authors = _agreement(one.authors, record.authors)
    apart = None if one.year is None or record.year is None else abs(one.year - record.year)
    journal = bool(one.journal) and plain(one.journal) == plain(record.journal)
    slug = bool(one.slug) and title >= _ALIKE
    parts = {"title": title, "authors": authors or 0, "year": apart, "journal": journal, "identifiers": shared}
    reasons = [name.partition(":")[0] for name in shared] + ["slug"] * slug + ["title_differs"] * (title < _ALIKE)
    reasons += ["journal"] * journal
    reasons.append("authors_unknown" if authors is None else
                   "authors" if authors == 1000 else "authors_differ" if authors == 0 else "some_authors")  # fmt: skip
    if apart is not None:
        reasons.append("year" if apart == 0 else "year_near" if apart <= 2 else "year_differs")
    if slug and len(one.slug) < _SHORT:
        reasons.append("short_title")
    against = authors == 0 or (apart is not None and apart > 2)
    if shared:
        status = EXACT if title >= _ALIKE or (authors or 0) >= 500 else WEAK
    elif not slug or against:
        status = DIFFERENT
    elif authors is None or authors < 500 or (len(one.slug) < _SHORT and authors < 1000):
        status = WEAK
    else:
        status = STRONG
    return _Judged(status, parts, tuple(reasons), record)


def _agreement(paper: Sequence[str], record: Sequence[str]) -> int | None:
    """Return how many of the record's authors the paper has, in thousandths; None where one side names nobody.

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
    before, comma, _ = name.partition(",")
    words = _words(_JUNIOR.sub("", before if comma else name))
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
