"""Whether a paper is a work of the catalogue: a verdict, the parts of its score, and the reasons.

exact: an identifier in the paper is the work's, and nothing speaks against it. strong: the titles share their slug and
the authors agree. weak: they share it, and too little else is known; or an identifier agrees and the title does not.
ambiguous: several works fit as well. different: there is none, or what is known of it speaks against it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from windrow.collections.papers.catalogue import CatalogueRecord, arxiv_of, doi_of
from windrow.collections.papers.slug import plain, score

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
        table.get("title") or "", slug, tuple(one for one in authors if one),
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
        if any(other.record.doi != best.record.doi or not best.record.doi for other in rivals):
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
