"""Match papers with the works of a catalogue, by identifiers, slugs of titles, authors, year and journal.

A slug is a title without case, accents, punctuation and white space. The statuses of verdicts are:

- exact: an identifier is the same, and the titles are alike or at least half of the authors are the same; the latter is
  not enough if another work has the title, or if the identifier was guessed: pages name other works of their authors;
- strong: the slugs are the same or nearly the same, and at least half of the authors are the same;
- weak: the slugs are the same or nearly the same, but too little else is known, or only an identifier is the same;
- ambiguous: several works match equally well, or many have the same slug;
- different: there is no candidate, or the titles, the authors or the years differ too much.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import CatalogueRecord, identifiers_of
from windrow.formats.text import remove_tags

MAX_TITLE_CHARACTERS = 1023
"""The maximum number of characters in a title by which papers and works are matched."""
_MIN_SLUG_CHARACTERS = 8

_GREEK_NAMES = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
_SPELLED_LETTERS = {0x3B1 + index: name for index, name in enumerate(_GREEK_NAMES)}
_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), 0x2060, 0xFEFF])  # soft hyphens, and spaces without width
_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212], "-")
_UNDECOMPOSED_LETTERS = str.maketrans("\u0141\u0142\u00d8\u00f8", "LlOo")
_ACCENTS = re.compile("[\u0300-\u036f]")
_PUNCTUATION = re.compile(
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~\u2019\u00b7\u201c\u201d\u2018\u00ab\u00bb\u300c\u300d\u00bf\u2013\u00b1\u00a7\u02bf]"
)
_ASCII_PUNCTUATION = dict.fromkeys(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
_SPACE = re.compile("[ \t\n\r\x0b\x0c]")


def plain_title(title: str) -> str:
    """Return a title in lower case, without accents and punctuation; ø becomes o, and ł becomes l.

    >>> plain_title("Søren ŁÓDŹ: a très-long “title”!")
    'soren lodz a treslong title'
    """
    if title.isascii():
        return title.lower().translate(_ASCII_PUNCTUATION)
    decomposed = unicodedata.normalize("NFD", title).translate(_UNDECOMPOSED_LETTERS)
    return _PUNCTUATION.sub("", _ACCENTS.sub("", decomposed).lower())


def unify_letters(title: str) -> str:
    """Return a title without markup and with one spelling of each letter; a Greek letter becomes its name.

    >>> unify_letters("The <i>\u03b2</i>\u00ad\u2010e\ufb00ect &amp; H<sub>2</sub>O"), unify_letters("Weiß")
    ('the beta-effect & h2o', 'weiss')
    """
    title = remove_tags(html.unescape(title))
    if title.isascii():
        return title
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", title.translate(_INVISIBLE)).casefold())
    return unicodedata.normalize("NFC", decomposed.translate(_SPELLED_LETTERS | _DASHES))


def slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug of a title; empty if it is too short or in `stubs`, the slugs of common headings.

    >>> slug("HELLO:there", frozenset()), slug("short", frozenset()), slug("Book Reviews", frozenset({"bookreviews"}))
    ('hellothere', '', '')
    """
    letters = _SPACE.sub("", plain_title(title))
    return "" if len(letters) < _MIN_SLUG_CHARACTERS or letters in stubs else letters


def matched_slug(title: str, stubs: frozenset[str]) -> str:
    """Return the slug by which a paper or work is matched; empty if the title is too long or has no slug."""
    return slug(unify_letters(title), stubs) if len(title) <= MAX_TITLE_CHARACTERS else ""


def title_score(first: str, second: str) -> int:
    """Return the similarity of two titles, from the edit distance of their plain forms: 0 (different) to 1000 (same).

    >>> title_score("A title of thing", "A title of things"), title_score("sturgeon", "urgently"), title_score("", "")
    (941, 250, 1000)
    """
    first_plain, second_plain = plain_title(first), plain_title(second)
    length = max(len(first_plain), len(second_plain))
    return 1000 * (length - edit_distance(first_plain, second_plain)) // length if length else 1000


def edit_distance(first: str, second: str) -> int:
    """Return the Levenshtein distance between two texts, in characters.

    The algorithm is by Myers (1999) and Hyyrö (2003). Bit vectors represent the differences between neighbours in a
    column of the table of distances; bit N is the difference at letter N of `first`.

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
"""The statuses of verdicts with which a paper gets the DOI of the work."""

MAX_SAME_SLUG = 10
"""If more works than this have the slug of a paper, none of them is accepted by its title."""
_MIN_SCORE_OF_SAME_TITLE = 900
_MIN_CHARACTERS_OF_STRONG_SLUG = 16
_ORDER_OF_STATUSES = {EXACT: 3, STRONG: 2, WEAK: 1, DIFFERENT: 0}
_MIN_NEAR_SLUG = 24  # characters; slugs with fewer must not differ in a letter
_KEY_CHARACTERS = 12  # of the start or end of a slug in a key of `near_keys`
_LIGATURES = re.compile("ffi|ffl|ff|fi|fl")
_SUBTITLE_MARK = re.compile(r"\s*:\s*|\s+[-\u2010-\u2015]+\s+|\s*[\u2014\u2015]\s*|[.?!]\s+|\s+(?=\()")
_ROMAN_MATCH = re.compile("[ivxl]+").fullmatch
_OTHER_WORK_WORDS = frozenset({
    "abstract", "addendum", "appendix", "author", "authors", "book", "chapter", "comment", "commentary", "comments",
    "corrected", "correction", "corrections", "corrigendum", "discussion", "editorial", "erratum", "followup", "letter",
    "part", "preface", "protocol", "rejoinder", "reply", "response", "retraction", "review", "supplement",
    "supplementary", "volume",
})  # fmt: skip
"""Words in a subtitle that show that the title is that of another work, such as a comment or another part."""
_SERIAL_WORD = re.compile(
    r"\b(?:annual|biennial|yearly|quarterly|monthly|weekly|census|proceedings|surveys?|yearbook|(?<!case )reports?)\b"
)
"""Matches a word of a title that each edition of a series may have."""
_SIGN = re.compile(r"(?<=\w)(?:\+-?|-|\u00b1)(?!\w)")
"""Matches a sign behind a letter or number, as in `B+`, which slugs do not have."""
_NAME_SUFFIX = re.compile(r"\b(?:jr|sr|ii|iii|iv|phd|md)\.?\s*$", re.IGNORECASE)


class Paper(NamedTuple):
    """The properties by which a paper is matched; texts are empty if they are not known.

    `is_guessed` is true if the identifiers are the first ones on the pages, which may be those of other works.
    """

    title: str
    slug: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    journal: str = ""
    identifiers: tuple[str, ...] = ()
    is_guessed: bool = False


class Verdict(NamedTuple):
    """The outcome of matching a paper; `info` is the content of `match0:minfo`."""

    status: str  # EXACT, STRONG, WEAK, AMBIGUOUS or DIFFERENT
    doi: str
    info: dict[str, Any]


class _Candidate(NamedTuple):
    """A work that may match a paper: its status without regard to other works, its scores by property, and reasons."""

    status: str
    parts: dict[str, Any]
    reasons: tuple[str, ...]
    work: CatalogueRecord


def read_paper(metadata: Mapping[str, Any], slug: str) -> Paper:
    """Return the properties of a paper with this slug; `metadata` is from GROBID, `text0:tinfo` or a reference."""
    authors = [author["name"] if isinstance(author, dict) else author for author in metadata.get("authors") or ()]
    journal = metadata.get("journal")
    date = str(metadata.get("date") or "")
    doi, arxiv, pmid = (str(metadata.get(name) or "") for name in ("doi", "arxiv_id", "pmid"))
    return Paper(
        metadata.get("title") or "", slug, tuple(author for author in authors if author),
        int(date[:4]) if date[:4].isdecimal() else None,
        (journal.get("name") or "" if isinstance(journal, dict) else journal or ""),
        tuple(identifiers_of(doi=doi, arxiv=arxiv, pmid=pmid)),
    )  # fmt: skip


def match_paper(paper: Paper, works: Sequence[CatalogueRecord]) -> Verdict:
    """Return the verdict on a paper: the status of the best work, AMBIGUOUS, or DIFFERENT if there are no works.

    The status is AMBIGUOUS if another work is as good as the best one and does not have the same DOI, or if more than
    MAX_SAME_SLUG works have the paper's slug. The status EXACT remains in both cases, and DIFFERENT in the first one.
    """
    info: dict[str, Any] = {"slug": paper.slug or None, "score": 0, "candidates": len(works)}
    if not works:
        reason = "no_record" if paper.slug or paper.identifiers else "no_title"
        return Verdict(DIFFERENT, "", info | {"reasons": [reason]})
    candidates = sorted(_demote_cited([_compare_titles(paper, work) for work in works]), key=_sort_key)
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


def _demote_cited(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    """Make works with another title WEAK, although they have the paper's identifier, if a work has the title."""
    if not any(
        candidate.status != DIFFERENT and not {"slug", "near_title"}.isdisjoint(candidate.reasons)
        for candidate in candidates
    ):
        return candidates
    return [
        candidate._replace(status=WEAK)
        if candidate.status == EXACT and "title_differs" in candidate.reasons
        else candidate
        for candidate in candidates
    ]


def _sort_key(candidate: _Candidate) -> tuple[int, int, str]:
    similarity = candidate.parts["authors"] + 100 * (candidate.parts["year"] == 0) + 100 * candidate.parts["journal"]
    return -_ORDER_OF_STATUSES[candidate.status], -similarity, candidate.work.name


def _compare_titles(paper: Paper, work: CatalogueRecord) -> _Candidate:
    """Compare a paper with each title of a work, and return the best candidate; of equal ones, that of the first."""
    candidates = [_compare(paper, work)]
    for title in work.other_titles:
        other = _compare(paper, work._replace(title=title))
        candidates.append(other._replace(reasons=(*other.reasons, "other_title")))
    return min(candidates, key=lambda candidate: (*_sort_key(candidate), -candidate.parts["title"]))


def _compare(paper: Paper, work: CatalogueRecord) -> _Candidate:
    same_identifiers = [name for name in paper.identifiers if name in work.identifiers]
    score = title_score(unify_letters(paper.title), unify_letters(work.title))
    author_share, is_complete = _share_of_authors(paper.authors, work.authors)
    year_distance = None if paper.year is None or work.year is None else abs(paper.year - work.year)
    is_same_journal = bool(paper.journal) and plain_title(paper.journal) == plain_title(work.journal)
    is_same_title = score >= _MIN_SCORE_OF_SAME_TITLE
    is_same_slug = bool(paper.slug) and paper.slug == _slug_letters(work.title)
    is_near = bool(paper.slug) and not is_same_slug and _are_near_titles(paper.title, work.title)
    is_short = len(paper.slug) < _MIN_CHARACTERS_OF_STRONG_SLUG
    parts = {"title": score, "authors": author_share or 0, "year": year_distance, "journal": is_same_journal,
             "identifiers": same_identifiers}  # fmt: skip
    reasons = [name.partition(":")[0] for name in same_identifiers] + ["slug"] * is_same_slug
    reasons += ["near_title"] * is_near
    reasons += ["title_differs"] * (not is_same_title and not is_near) + ["journal"] * is_same_journal
    reasons.append("authors_unknown" if author_share is None else "authors" if author_share == 1000 else
                   "authors_differ" if author_share == 0 else "some_authors")  # fmt: skip
    if year_distance is not None:
        reasons.append("year" if year_distance == 0 else "year_near" if year_distance <= 2 else "year_differs")
    if (is_same_slug or is_near) and is_short:
        reasons.append("short_title")
    is_other_edition = bool(year_distance) and bool(_SERIAL_WORD.search(unify_letters(paper.title).lower()))
    has_other_signs = _differ_in_signs(paper.title, work.title)
    reasons += ["serial_title"] * is_other_edition + ["signs_differ"] * has_other_signs
    is_contradicted = author_share == 0 or (year_distance is not None and year_distance > 2) or has_other_signs
    if same_identifiers:
        is_by_authors = (author_share or 0) >= 500 and not paper.is_guessed
        status = EXACT if is_same_title or is_near or is_by_authors else WEAK
    elif not (is_same_slug or is_near) or is_contradicted:
        status = DIFFERENT
    elif (
        (author_share or 0) < 500
        or (is_short and not is_complete)
        or (is_near and (year_distance or 0) > 1)
        or is_other_edition
    ):
        status = WEAK
    else:
        status = STRONG
    return _Candidate(status, parts, tuple(reasons), work)


def near_keys(slug: str, authors: Sequence[str]) -> list[str]:
    """Return keys that find works with nearly the same slug: an author's family name with the slug's start or end.

    If the slug is too short, there are none.

    >>> near_keys("anefficientmeasureofthewholething", ["Ann Lee"])
    ['lee<anecientmeas', 'lee>hewholething']
    """
    letters = _LIGATURES.sub("", slug)
    if len(letters) < _MIN_CHARACTERS_OF_STRONG_SLUG:
        return []
    family_names = [family_name for name in authors if (family_name := _family_name(name))]
    start, end = letters[:_KEY_CHARACTERS], letters[-_KEY_CHARACTERS:]
    return [key for name in family_names for key in (f"{name}<{start}", f"{name}>{end}")]


def _differ_in_signs(first: str, second: str) -> bool:
    """Return whether two titles have as many signs, but other ones; metadata often lack signs altogether.

    >>> _differ_in_signs("Decay of B+ to K+", "Decay of B- to K-"), _differ_in_signs("Decay of B+", "Decay of B")
    (True, False)
    """
    first_signs, second_signs = (_SIGN.findall(unify_letters(title)) for title in (first, second))
    return len(first_signs) == len(second_signs) and first_signs != second_signs


def _slug_letters(title: str) -> str:
    return _SPACE.sub("", plain_title(unify_letters(title)))


def _are_near_titles(first: str, second: str) -> bool:
    """Return whether long titles differ only in lost ligatures, in one letter, or in a subtitle that only one has.

    Titles are not near if they differ in a number, or in an added `a` at the start of a word.
    """
    shorter, longer = sorted(map(unify_letters, (first, second)), key=lambda title: len(_slug_letters(title)))
    short_slug, long_slug = _slug_letters(shorter), _slug_letters(longer)
    if len(short_slug) < _MIN_CHARACTERS_OF_STRONG_SLUG:
        return False
    if _LIGATURES.sub("", short_slug) == _LIGATURES.sub("", long_slug):
        return True
    if len(long_slug) - len(short_slug) > 1:
        return long_slug.startswith(short_slug) and _is_subtitle(longer, short_slug)
    if len(short_slug) < _MIN_NEAR_SLUG or edit_distance(short_slug, long_slug) > 1:
        return False
    short_words, long_words = set(plain_title(shorter).split()), set(plain_title(longer).split())
    only_short, only_long = short_words - long_words, long_words - short_words
    return not any(map(_is_number, only_short | only_long)) and not any(
        long_word == f"a{short_word}" for short_word in only_short for long_word in only_long
    )  # such as typical and atypical


def _is_number(word: str) -> bool:
    """Return whether a word of a title may be a number, or the name of a part or type, such as 2, iv, or b."""
    return len(word) == 1 or bool(_ROMAN_MATCH(word)) or any(map(str.isdigit, word))


def _is_subtitle(title: str, main_slug: str) -> bool:
    """Return whether `title` has `main_slug` and then a subtitle of several words that does not name another work."""
    for mark in _SUBTITLE_MARK.finditer(title):
        if _slug_letters(title[: mark.start()]) == main_slug:
            words = plain_title(title[mark.end() :]).split()
            return len(words) > 1 and _OTHER_WORK_WORDS.isdisjoint(words) and not any(map(_is_number, words[-1:]))
    return False


def _share_of_authors(paper_authors: Sequence[str], work_authors: Sequence[str]) -> tuple[int | None, bool]:
    """Return the share of authors that paper and work have in common, and whether every author of the work is shared.

    The share is in thousandths of the shorter list of authors. It is None if a list has no usable name.
    """
    names = [words for name in paper_authors if (words := _name_words(name))]
    people = [(family_name, name) for name in work_authors if (family_name := _family_name(name))]
    if not any(len(word) > 1 or not word.isascii() for words in names for word in words) or not people:
        return None, False
    count = sum(any(_is_same_person(words, *person) for words in names) for person in people)
    return 1000 * count // max(count, min(len(names), len(people))), count == len(people)


def _is_same_person(words: Sequence[str], family_name: str, name: str) -> bool:
    """Return whether the name in `words` includes `family_name`, and has given names that agree with those in `name`.

    If one of the two has no given names, the family name is enough.
    """
    if family_name not in words:
        return False
    given_names = _without(_name_words(name), family_name)
    other_words = _without(words, family_name)
    if not given_names or not other_words:
        return True
    first, second = other_words[0], given_names[0]
    if first[0] == second[0] and (
        first.startswith(second) or second.startswith(first) or edit_distance(first, second) < 2
    ):
        return True
    return any(len(word) > 1 and word not in _NAME_PARTICLES and word in given_names for word in other_words)


def _without(words: Sequence[str], word: str) -> list[str]:
    index = len(words) - 1 - [*reversed(words)].index(word)
    return [*words[:index], *words[index + 1 :]]


def _name_words(name: str) -> list[str]:
    """Return the words of a name in order; for `Family, Given`, the given names come first. Initials are separated.

    >>> _name_words("Smith JA"), _name_words("Østergård, S.-E."), _name_words("JANE SMITH")
    (['smith', 'j', 'a'], ['s', 'e', 'ostergard'], ['jane', 'smith'])
    """
    family_part, comma, given_part = _NAME_SUFFIX.sub("", name).partition(",")
    ordered = f"{given_part} {family_part}" if comma else name
    tokens = ordered.replace("-", " ").replace(".", " ").split()
    is_mixed = not ordered.isupper()
    words = [
        word for token in tokens for word in (token if is_mixed and _INITIALS_MATCH(token) else (token,))
    ]  # fmt: skip
    return [plain for word in words if (plain := plain_title(unify_letters(word)))]


_INITIALS_MATCH = re.compile("[A-Z]{2,4}|[A-Z]{2,3}[a-z]").fullmatch
_NAME_PARTICLES = frozenset(
    {"al", "bin", "da", "de", "del", "den", "der", "di", "dos", "du", "el", "la", "le", "van", "von"}
)


def _family_name(name: str) -> str:
    """Return the last word of a name (before a comma, if any) that is not an initial; empty if there is none."""
    family_part, comma, _ = name.partition(",")
    words = _name_words(_NAME_SUFFIX.sub("", family_part if comma else name))
    return next((word for word in reversed(words) if len(word) > 1 or not word.isascii()), "")


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
