"""Leave out of an article what stands behind its text: sections that name themselves so, teasers, comments.

A forest that judges block by block takes some of it for text, since it reads like text: an author's biography, the
beginnings of other articles, what readers answered. So this is told by names and by repetition, behind the middle of
the article's prose alone, and on pages that say to be articles alone: in a forum the answers are the content, in a
list the teasers are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from windrow.content.hints import BIT, PageHint
from windrow.content.outline import LEVELS, Outline, PageLocation
from windrow.content.walk import ELSEWHERE, FigureRange

Span = tuple[int, int]
"""The first block, and the one behind the last."""

_HEADLINE = int(PageLocation.HEADLINE)
_KICKERS = 3  # blocks before a headline among which a figure may stand
_COMMENT = BIT["comment"]
_ARTICLE, _ARTICLE_TYPE, _ARTICLE_ADDRESS = 2, 1, 16  # of `PageHint`: its kind, and bits of its types and addresses
_OTHER_TYPE, _OTHER_ADDRESS = 8, 1 | 8  # forums; and documentation
_PROSE, _ENOUGH = 12, 100  # words of a block that is prose, and of prose that tell where the text lies
_BEFORE, _WITHIN = 0.5, 0.4  # of the prose that stands before a tail at least, and in it at most
_NAME, _LINE = 12, 6  # words of a headline, and of a line without one, that names what follows
_TEASERS, _LEAD = 2, 300
"""Boxes side by side; and words of prose before them, for in an overview of a few words they are the content."""

_NAMES = re.compile(
    r"""(?xi)(?:
    about[ ]the[ ](?:authors?|writers?|reviewers?|editors?|contributors?)|author(?:['\u2019]s)?[ ]bio(?:graphy)?
    |meet[ ]the[ ]author
    |(?:related|recommended|latest|popular|trending|similar|featured|recent|more|other)[ ](?:\w+[ ]){0,2}
     (?:posts?|articles?|stories|story|news|reads?|coverage|headlines)
    |(?:related|recommended)(?:[ ](?:reading|content|topics?|links|resources|blogs?|for[ ]you))?
    |trending(?:[ ]now)?|most[ ](?:read|popular|viewed|shared)|read[ ](?:more|next)|up[ ]next|keep[ ]reading
    |what[ ]to[ ]read[ ]next|more[ ](?:from|on|in|about|like|for)\b.{0,60}
    |you[ ](?:may|might|could|will|['\u2019]ll)[ ](?:also|be|enjoy|like|love)\b.{0,40}
    |(?:see[ ]also|also[ ](?:read|on|from))\b.{0,40}|don['\u2019]t[ ]miss.{0,20}
    |editor(?:['\u2019]?s['\u2019]?)?[ ](?:picks?|choice)
    |share(?:[ ](?:this|on|with).{0,40})?|(?:subscribe|sign[ ]up|join|follow)\b.{0,60}|.{0,30}newsletter
    |(?:get|receive)\b.{0,30}(?:newsletter|inbox|updates).{0,30}
    |(?:leave|post|add|write)[ ](?:a|your)[ ](?:comment|reply)|join[ ]the[ ](?:conversation|discussion)
    |(?:\d+\s+)?(?:comments?|responses?|replies|thoughts[ ]on\b.{0,80})(?:\s*\(\d+\))?
    |(?:donate|make[ ]a[ ]donation|become[ ]a[ ](?:member|supporter|subscriber)).{0,60}
    |support[ ](?:us|our|independent)\b.{0,60}
    |advertisement|sponsored(?:[ ]content)?|tags|topics|filed[ ]under|disclaimer|copyright|contact[ ]us
    |über[ ]d(?:ie|en)[ ]autor(?:in|en)?|mehr[ ]zum[ ]thema|weitere[ ]artikel|kommentare  # codespell:ignore autor
    |das[ ]könnte[ ]sie[ ]auch[ ]interessieren|lesen[ ]sie[ ]auch  # codespell:ignore sie
    |(?:à[ ])?lire[ ]aussi|sur[ ]le[ ]même[ ](?:sujet|thème)|à[ ]propos[ ]de[ ]l['\u2019]auteure?|commentaires
    |sobre[ ](?:el[ ]autor|la[ ]autora|o[ ]autor|a[ ]autora)  # codespell:ignore autor
    |te[ ]puede[ ]interesar|comentarios
    |(?:noticias|artículos)[ ]relacionad[oa]s|leia[ ](?:mais|também)|veja[ ]também
    )\s*[:.!?…]*"""
)
"""What sections are called that are none of an article's text."""


def without_tail(outline: Outline, hint: PageHint, chosen: list[bool]) -> list[bool]:
    """Return what is chosen of an article without its tail; of any other page all of it."""
    if not is_article(hint):
        return chosen
    prose = list(accumulate(_prose(outline, chosen), initial=0))
    if prose[-1] < _ENOUGH:
        return chosen
    kept = list(chosen)
    middle = _BEFORE * prose[-1]
    tails = (
        (_comments(outline), middle),
        (_teasers(outline), max(middle, _LEAD)),
        (_sections(outline, chosen), middle),
    )
    for spans, least in tails:
        for first, last in spans:
            if prose[first] >= least and prose[last] - prose[first] <= _WITHIN * prose[-1]:
                kept[first:last] = [False] * (last - first)
    return kept


def without_captions(outline: Outline, hint: PageHint, chosen: list[bool]) -> list[bool]:
    """Return what is chosen of an article without the captions of its pictures; of any other page all of it."""
    boxes = outline.boxes
    if "figcaption" not in boxes.tag or not is_article(hint):
        return chosen
    kept = list(chosen)
    for box, tag in enumerate(boxes.tag):
        if tag == "figcaption":
            first, last = boxes.first[box], boxes.last[box]
            kept[first:last] = [False] * (last - first)
    return kept if any(kept) else chosen


def with_captions(outline: Outline, hint: PageHint, chosen: list[bool]) -> tuple[list[bool], FigureRange | None]:
    """Return what is chosen of an article and the captions of its figures; and where figures without one are its own.

    Its figures are those between chosen blocks, those between its headline and its text, and those that follow its
    text in the box that holds it.
    """
    boxes = outline.boxes
    if not any(chosen) or not is_article(hint):
        return chosen, None
    shown, ends = list(chosen), _Ends(outline, chosen)
    for box, tag in enumerate(boxes.tag):
        if tag != "figcaption" or boxes.tag[boxes.up[box]] != "figure":
            continue
        first, last = boxes.first[boxes.up[box]], boxes.last[boxes.up[box]]
        between = first > 0 and last < len(chosen) and chosen[first - 1] and chosen[last]
        if between or ends.take(boxes.up[box]):
            shown[boxes.first[box] : boxes.last[box]] = [True] * (boxes.last[box] - boxes.first[box])
    return shown, ends.figures()


class _Ends:
    """Where an article's text begins and ends, to tell which figures before and behind it are its own."""

    def __init__(self, outline: Outline, chosen: Sequence[bool]) -> None:
        """Find the box that holds all of the text, and the headline before it."""
        self._outline = outline
        self._boxes, blocks = outline.boxes, outline.blocks
        at = [place for place, keep in enumerate(chosen) if keep]
        self._first, self._last = at[0], at[-1] + 1
        core = blocks.box[at[0]]
        while core > 0 and self._boxes.last[core] < self._last:
            core = self._boxes.up[core]
        self._core = core
        heads = [place for place in range(self._first + 1) if _level(outline, blocks.box[place]) == 1]
        self._headline = heads[-1] if heads else self._first

    def _has(self, box: int) -> bool:
        """Tell whether a figure belongs to the text: not where it is a part of a teaser, or leads to another page."""
        boxes, blocks = self._boxes, self._outline.blocks
        first, last = boxes.first[box], boxes.last[box]
        inside = range(first, last)
        if boxes.marks[box] & ELSEWHERE or any(2 * blocks.linked[at] > blocks.words[at] for at in inside):
            return False
        if last <= self._first:
            between = [at for at in range(min(last, self._headline), self._first) if at != self._headline]
            near = self._headline - _KICKERS <= first
            return near and not any(blocks.words[at] >= _PROSE for at in between) and self._alone(box)
        return first == self._last and self._alone(box)

    def _alone(self, box: int) -> bool:
        """Tell whether boxes around a figure, up to one that holds text too, hold nothing but it."""
        boxes = self._boxes
        first, last, around = boxes.first[box], boxes.last[box], boxes.up[box]
        while around > 0 and not (boxes.first[around] <= self._first and self._last <= boxes.last[around]):
            if boxes.marks[around] & ELSEWHERE:
                return False
            holds_headline = boxes.first[around] <= self._headline < boxes.last[around]
            if not holds_headline and (boxes.first[around], boxes.last[around]) != (first, last):
                return False
            around = boxes.up[around]
        return first < self._first or around == self._core or boxes.tag[around] in {"article", "main"}

    def take(self, box: int) -> bool:
        """Tell whether a figure belongs to the text, and go on behind it where it does."""
        if not self._has(box):
            return False
        if self._boxes.first[box] >= self._last:
            self._last = self._boxes.last[box]
        return True

    def figures(self) -> FigureRange:
        """Return where figures without a caption belong to the text."""
        words = self._outline.blocks.words
        near = all(words[at] < _PROSE for at in range(self._headline + 1, self._first))
        depth, box = 0, self._core
        while box > 0:
            depth += "-" not in self._boxes.tag[box]
            box = self._boxes.up[box]
        return FigureRange(self._headline if near else self._first, depth)


def is_article(hint: PageHint) -> bool:
    """Tell whether a page says, by its head or its address, that it is an article, and not by them anything else.

    >>> is_article(PageHint(kind=2)), is_article(PageHint()), is_article(PageHint(kind=2, types=8))
    (True, False, False)
    """
    if hint.types & _OTHER_TYPE or hint.address & _OTHER_ADDRESS:
        return False
    return hint.kind == _ARTICLE or bool(hint.types & _ARTICLE_TYPE or hint.address & _ARTICLE_ADDRESS)


def _prose(outline: Outline, chosen: Sequence[bool]) -> Iterator[int]:
    for keep, size, linked in zip(chosen, outline.blocks.words, outline.blocks.linked, strict=True):
        yield size if keep and size >= _PROSE and linked * 3 < size else 0


def _comments(outline: Outline) -> Iterator[Span]:
    boxes = outline.boxes
    for box, names in enumerate(boxes.names):
        if names & _COMMENT:
            yield boxes.first[box], boxes.last[box]


def _teasers(outline: Outline) -> Iterator[Span]:
    """Yield boxes of one kind, side by side, each with one headline that is a link to another page."""
    boxes, blocks = outline.boxes, outline.blocks
    here = {anchor.text for anchor in outline.anchors if anchor.href.startswith(("#", "javascript:"))}
    heads = [
        bool(boxes.marks[box] & _HEADLINE) and linked > 1 and linked * 10 >= size * 9 and text not in here
        for box, linked, size, text in zip(blocks.box, blocks.linked, blocks.words, blocks.text, strict=True)
    ]
    if sum(heads) < _TEASERS:
        return
    running = list(accumulate(heads, initial=0))
    alike: defaultdict[tuple[int, str], list[Span]] = defaultdict(list)
    for box, (first, last) in enumerate(zip(boxes.first, boxes.last, strict=True)):
        if running[last] - running[first] == 1 and boxes.tag[box] not in LEVELS:
            alike[boxes.up[box], boxes.kind[box]].append((first, last))
    for spans in alike.values():
        if len(spans) >= _TEASERS:
            yield spans[0][0], spans[-1][1]


def _sections(outline: Outline, chosen: Sequence[bool]) -> Iterator[Span]:
    """Yield what stands under a headline of such a name, up to the next headline as high or the end of their box."""
    boxes, blocks = outline.boxes, outline.blocks
    for at, (keep, size, text) in enumerate(zip(chosen, blocks.words, blocks.text, strict=True)):
        if not keep or size > _NAME or not _NAMES.fullmatch(text):
            continue
        box = blocks.box[at]
        level = _level(outline, box)
        if not level:
            if size <= _LINE:
                yield at, at + 1
            continue
        while box > 0 and boxes.last[box] - boxes.first[box] <= 1:
            box = boxes.up[box]
        yield at, next((end for end in range(at + 1, boxes.last[box]) if _ends(outline, end, level)), boxes.last[box])


def _ends(outline: Outline, at: int, level: int) -> bool:
    own = _level(outline, outline.blocks.box[at])
    return 0 < own <= level and not _NAMES.fullmatch(outline.blocks.text[at])


def _level(outline: Outline, box: int) -> int:
    """Return the level of the headline that a box lies in; 0 where in none."""
    boxes = outline.boxes
    if not boxes.marks[box] & _HEADLINE:
        return 0
    while box > 0 and boxes.tag[box] not in LEVELS:
        box = boxes.up[box]
    return LEVELS.get(boxes.tag[box], 0)
