"""Match papers with the works of a catalogue, by identifiers, the slugs of titles, authors, year and journal.

A slug is a title without case, accents, punctuation and white space. The verdicts are:
exact: an identifier is the same, and so are the title or at least half of the authors.
strong: the titles have the same slug, and most authors are the same.
weak: the titles have the same slug but too little else is known, or an identifier is the same but nothing else.
ambiguous: several works match equally well.
different: there is no candidate, or the authors or the year differ too much.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import CatalogueRecord, arxiv_of, doi_of

MAX_TITLE_CHARACTERS = 1023
"""A paper or work with a longer title is not matched by its title."""
_MIN_SLUG_CHARACTERS = 8

_UNDECOMPOSED_LETTERS = str.maketrans("\u0141\u0142\u00d8\u00f8", "LlOo")
_ACCENTS = re.compile("[\u0300-\u036f]")
_PUNCTUATION = re.compile(
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~\u2019\u00b7\u201c\u201d\u2018\u00ab\u00bb\u300c\u300d\u00bf\u2013\u00b1\u00a7\u02bf]"
)
_SPACE = re.compile("[ \t\n\r\x0b\x0c]")


def plain_title(title: str) -> str:
    """Return a title in lower case, without accents and punctuation.

    >>> plain_title("Søren ŁÓDŹ: a très-long “title”!")
    'soren lodz a treslong title'
    """
    decomposed = unicodedata.normalize("NFD", title).translate(_UNDECOMPOSED_LETTERS)
    return _PUNCTUATION.sub("", _ACCENTS.sub("", decomposed).lower())


def slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug of a title, or an empty text if it is too short or among `stubs`, the slugs of common headings.

    >>> slug("HELLO:there", frozenset()), slug("short", frozenset()), slug("Book Reviews", frozenset({"bookreviews"}))
    ('hellothere', '', '')
    """
    letters = _SPACE.sub("", plain_title(title))
    return "" if len(letters) < _MIN_SLUG_CHARACTERS or letters in stubs else letters


def matched_slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug by which a paper or work is matched, or an empty text if it has none or its title is too long."""
    return slug(title, stubs) if len(title) <= MAX_TITLE_CHARACTERS else ""


def title_score(first: str, second: str) -> int:
    """Return the similarity of two titles: 1000 minus their edit distance in thousandths of the longer one's length.

    >>> title_score("A title of thing", "A title of things"), title_score("sturgeon", "urgently"), title_score("", "")
    (941, 250, 1000)
    """
    first_plain, second_plain = plain_title(first), plain_title(second)
    length = max(len(first_plain), len(second_plain))
    return 1000 * (length - edit_distance(first_plain, second_plain)) // length if length else 1000


def edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance of two texts, in characters.

    The algorithm is that of Myers (1999) and Hyyrö (2003). Bit vectors have the differences between neighbours in a
    column of the table of distances; bit N is that of letter N of `first`.

    >>> edit_distance("kitten", "sitting"), edit_distance("", "abc"), edit_distance("same", "same")
    (3, 3, 0)
    """
    if first == second:
        return 0
    if not first or not second:
        return len(first) + len(second)
    positions: dict[str, int] = {}  # of each letter in `first`
    for index, letter in enumerate(first):
        positions[letter] = positions.get(letter, 0) | 1 << index
    all_bits, last_bit = (1 << len(first)) - 1, 1 << len(first) - 1
    increases, decreases, distance = all_bits, 0, len(first)
    for letter in second:
        matches = positions.get(letter, 0)
        diagonal = (((matches & increases) + increases) ^ increases) | matches | decreases
        rises, falls = decreases | ~(diagonal | increases) & all_bits, diagonal & increases
        distance += bool(rises & last_bit) - bool(falls & last_bit)
        rises, falls = (rises << 1 | 1) & all_bits, (falls << 1) & all_bits
        increases, decreases = falls | ~(diagonal | rises) & all_bits, rises & diagonal
    return distance


EXACT, STRONG, WEAK, AMBIGUOUS, DIFFERENT = "exact", "strong", "weak", "ambiguous", "different"
ACCEPTED = (EXACT, STRONG)
"""The verdicts with which a paper gets the DOI of the work."""

MAX_SAME_SLUG = 10
"""If more works than this have the same slug, none of them is accepted by its title."""
_MIN_SCORE_OF_SAME_TITLE = 900
_MIN_CHARACTERS_OF_STRONG_SLUG = 16
_ORDER_OF_STATUSES = {EXACT: 3, STRONG: 2, WEAK: 1, DIFFERENT: 0}
_NAME_SUFFIX = re.compile(r"\b(?:jr|sr|ii|iii|iv|phd|md)\.?\s*$", re.IGNORECASE)


class Paper(NamedTuple):
    """The properties by which a paper is matched; texts are empty if they are not known."""

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
    """A work that may match a paper: the status on its own, the scores by property, and the reasons for the status."""

    status: str
    parts: dict[str, Any]
    reasons: tuple[str, ...]
    work: CatalogueRecord


def read_paper(metadata: Mapping[str, Any], slug: str) -> Paper:
    """Return the properties of a paper from GROBID's metadata or the embedded extractor's `text0:tinfo`."""
    authors = [author["name"] if isinstance(author, dict) else author for author in metadata.get("authors") or ()]
    journal = metadata.get("journal")
    date = str(metadata.get("date") or "")
    identifiers = [f"doi:{doi}"] if (doi := doi_of(str(metadata.get("doi") or ""))) else []
    identifiers += [f"arxiv:{number}"] if (number := arxiv_of(str(metadata.get("arxiv_id") or ""))) else []
    return Paper(
        metadata.get("title") or "", slug, tuple(author for author in authors if author),
        int(date[:4]) if date[:4].isdecimal() else None,
        (journal.get("name") or "" if isinstance(journal, dict) else journal or ""), tuple(identifiers),
    )  # fmt: skip


def match_paper(paper: Paper, works: Sequence[CatalogueRecord]) -> Verdict:
    """Return the verdict on a paper; `works` are the candidates, which have an identifier or the slug of the paper."""
    info: dict[str, Any] = {"slug": paper.slug or None, "score": 0, "candidates": len(works)}
    if not works:
        reason = "no_record" if paper.slug or paper.identifiers else "no_title"
        return Verdict(DIFFERENT, "", info | {"reasons": [reason]})
    candidates = sorted((_compare(paper, work) for work in works), key=_sort_key)
    best = candidates[0]
    status, reasons = best.status, best.reasons
    if status != EXACT and sum("slug" in candidate.reasons for candidate in candidates) > MAX_SAME_SLUG:
        status, reasons = AMBIGUOUS, (*reasons, "many_records")
    elif status in {STRONG, WEAK}:
        rivals = [rival for rival in candidates[1:] if _sort_key(rival)[:2] == _sort_key(best)[:2]]
        if any(rival.work.doi != best.work.doi or not best.work.doi for rival in rivals):
            status, reasons = AMBIGUOUS, (*reasons, "several_records")
    info |= {"score": best.parts["title"], "parts": best.parts, "reasons": list(reasons)}
    info |= {"record": best.work.name, "record_doi": best.work.doi or None}
    return Verdict(status, best.work.doi if status in ACCEPTED else "", info)


def _sort_key(candidate: _Candidate) -> tuple[int, int, str]:
    """Return a key that sorts candidates by status, similarity and name, the best one first."""
    similarity = candidate.parts["authors"] + 100 * (candidate.parts["year"] == 0) + 100 * candidate.parts["journal"]
    return -_ORDER_OF_STATUSES[candidate.status], -similarity, candidate.work.name


def _compare(paper: Paper, work: CatalogueRecord) -> _Candidate:
    """Compare a paper with one work; scores of title and authors are in thousandths."""
    same_identifiers = [name for name in paper.identifiers if name in work.identifiers]
    score = title_score(paper.title, work.title)
    authors = _share_of_authors(paper.authors, work.authors)
    year_distance = None if paper.year is None or work.year is None else abs(paper.year - work.year)
    is_same_journal = bool(paper.journal) and plain_title(paper.journal) == plain_title(work.journal)
    is_same_title = score >= _MIN_SCORE_OF_SAME_TITLE
    is_same_slug = bool(paper.slug) and is_same_title
    is_short = len(paper.slug) < _MIN_CHARACTERS_OF_STRONG_SLUG
    parts = {"title": score, "authors": authors or 0, "year": year_distance, "journal": is_same_journal,
             "identifiers": same_identifiers}  # fmt: skip
    reasons = [name.partition(":")[0] for name in same_identifiers] + ["slug"] * is_same_slug
    reasons += ["title_differs"] * (not is_same_title) + ["journal"] * is_same_journal
    reasons.append("authors_unknown" if authors is None else
                   "authors" if authors == 1000 else "authors_differ" if authors == 0 else "some_authors")  # fmt: skip
    if year_distance is not None:
        reasons.append("year" if year_distance == 0 else "year_near" if year_distance <= 2 else "year_differs")
    if is_same_slug and is_short:
        reasons.append("short_title")
    is_contradicted = authors == 0 or (year_distance is not None and year_distance > 2)
    if same_identifiers:
        status = EXACT if is_same_title or (authors or 0) >= 500 else WEAK
    elif not is_same_slug or is_contradicted:
        status = DIFFERENT
    elif authors is None or authors < 500 or (is_short and authors < 1000):
        status = WEAK
    else:
        status = STRONG
    return _Candidate(status, parts, tuple(reasons), work)


def _share_of_authors(paper_authors: Sequence[str], work_authors: Sequence[str]) -> int | None:
    """Return the share of a work's authors that a paper has, in thousandths, or None if either has no usable names.

    A paper has an author if the family name, which has two letters or more, is a word in its names.
    """
    words = {word for name in paper_authors for word in _words(name)}
    family_names = [family_name for name in work_authors if (family_name := _family_name(name))]
    if not words or not family_names:
        return None
    return 1000 * sum(family_name in words for family_name in family_names) // len(family_names)


def _words(name: str) -> list[str]:
    return [word for word in plain_title(name.replace("-", " ").replace(".", " ")).split() if len(word) > 1]


def _family_name(name: str) -> str:
    family_part, comma, _ = name.partition(",")
    words = _words(_NAME_SUFFIX.sub("", family_part if comma else name))
    return words[-1] if words else ""


_COMMON_HEADINGS = (
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

STUBS = frozenset(heading.replace(" ", "") for heading in _COMMON_HEADINGS)
"""The slugs of headings that many documents have instead of a title."""
