"""Remove the tail of an article and the captions of pictures; find the figures of the text.

The tail follows the article's text. It consists of sections such as one about the author, teasers of other articles,
and readers' comments. A forest that judges single blocks takes some of them for text. Tails are found by the names of
their sections and by repetition, only after the middle of the article's prose, and only on pages that declare
themselves articles: in a forum the comments are the main content, and in a list the teasers are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from windrow.content.markup import NOT_ARTICLE, FigureRange
from windrow.content.outline import LEVELS, Outline, PageLocation
from windrow.content.traits import GROUP_BITS, PageTraits
from windrow.content.tree import MIN_PROSE_WORDS

BlockRange = tuple[int, int]
"""The number of the first block, and one more than the number of the last block."""

_HEADLINE = int(PageLocation.HEADLINE)
_MAX_KICKERS = 3  # the most blocks between a figure and the headline after it
_COMMENT_GROUP = GROUP_BITS["comment"]
_ARTICLE_KIND, _ARTICLE_TYPE, _ARTICLE_ADDRESS = 2, 1, 16  # `PageTraits.kind`, a bit of its `types`, one of `address`
_OTHER_TYPE, _OTHER_ADDRESS = 8, 1 | 8  # bits of `types` (forums) and of `address` (forums, documentation)
_MIN_ARTICLE_WORDS = 100  # the fewest words of an article's prose
_MIN_SHARE_BEFORE, _MAX_SHARE_WITHIN = 0.5, 0.4  # the least share of prose before a tail, and the greatest share in it
_MAX_HEADLINE_WORDS, _MAX_LINE_WORDS = 12, 6  # the most words of a headline, and of another line, that names a section
_MIN_TEASERS, _MIN_WORDS_BEFORE_TEASERS = 2, 300
"""The minimum numbers of adjacent teasers in a tail, and of words of prose before them: on a short overview, teasers
are the content."""

_SECTION_NAMES = re.compile(
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
"""Matches names of sections that are not a part of an article's text."""


def remove_tail(outline: Outline, traits: PageTraits, chosen: list[bool]) -> list[bool]:
    """Return for each block whether it is chosen and not in the tail of an article."""
    if not is_article(traits):
        return chosen
    prose_before = list(accumulate(_prose_words(outline, chosen), initial=0))
    if prose_before[-1] < _MIN_ARTICLE_WORDS:
        return chosen
    kept = list(chosen)
    middle = _MIN_SHARE_BEFORE * prose_before[-1]
    ranges_with_min = (
        (_comment_ranges(outline), middle),
        (_teaser_ranges(outline), max(middle, _MIN_WORDS_BEFORE_TEASERS)),
        (_section_ranges(outline, chosen), middle),
    )
    max_within = _MAX_SHARE_WITHIN * prose_before[-1]
    for ranges, min_before in ranges_with_min:
        for first, stop in ranges:
            if prose_before[first] >= min_before and prose_before[stop] - prose_before[first] <= max_within:
                kept[first:stop] = [False] * (stop - first)
    return kept


def remove_captions(outline: Outline, traits: PageTraits, chosen: list[bool]) -> list[bool]:
    """Return for each block whether it is chosen and not a caption in an article.

    If only captions are chosen, they remain.
    """
    boxes = outline.boxes
    if "figcaption" not in boxes.tag or not is_article(traits):
        return chosen
    kept = list(chosen)
    for box, tag in enumerate(boxes.tag):
        if tag == "figcaption":
            first, stop = boxes.first[box], boxes.stop[box]
            kept[first:stop] = [False] * (stop - first)
    return kept if any(kept) else chosen


def add_captions(outline: Outline, traits: PageTraits, chosen: list[bool]) -> tuple[list[bool], FigureRange | None]:
    """Return for each block whether it is chosen or the caption of a figure of the text; return the text's FigureRange.

    The text's figures are the figures between chosen blocks, from shortly before the headline up to the text, and
    directly after the text in its box. If the page is not an article or no block is chosen, return `chosen` and None.
    """
    boxes = outline.boxes
    if not any(chosen) or not is_article(traits):
        return chosen, None
    with_captions, text_ends = list(chosen), _TextEnds(outline, chosen)
    for box, tag in enumerate(boxes.tag):
        if tag != "figcaption" or boxes.tag[boxes.parent[box]] != "figure":
            continue
        first, stop = boxes.first[boxes.parent[box]], boxes.stop[boxes.parent[box]]
        is_between = first > 0 and stop < len(chosen) and chosen[first - 1] and chosen[stop]
        if is_between or text_ends.include_figure(boxes.parent[box]):
            with_captions[boxes.first[box] : boxes.stop[box]] = [True] * (boxes.stop[box] - boxes.first[box])
    return with_captions, text_ends.figure_range()


class _TextEnds:
    """Finds the figures before and after an article's text that belong to it."""

    def __init__(self, outline: Outline, chosen: Sequence[bool]) -> None:
        self._outline = outline
        self._boxes, blocks = outline.boxes, outline.blocks
        chosen_blocks = [block for block, is_chosen in enumerate(chosen) if is_chosen]
        self._text_start, self._text_end = chosen_blocks[0], chosen_blocks[-1] + 1
        text_box = blocks.box[chosen_blocks[0]]
        while text_box > 0 and self._boxes.stop[text_box] < self._text_end:
            text_box = self._boxes.parent[text_box]
        self._text_box = text_box
        headlines = [block for block in range(self._text_start + 1) if headline_level(outline, blocks.box[block]) == 1]
        self._headline = headlines[-1] if headlines else self._text_start

    def _is_own_figure(self, box: int) -> bool:
        boxes, blocks = self._boxes, self._outline.blocks
        first, stop = boxes.first[box], boxes.stop[box]
        is_link = any(2 * blocks.linked[block] > blocks.words[block] for block in range(first, stop))
        if boxes.locations[box] & NOT_ARTICLE or is_link:
            return False
        if stop <= self._text_start:
            between = range(min(stop, self._headline), self._text_start)
            is_near = self._headline - _MAX_KICKERS <= first
            has_prose = any(blocks.words[block] >= MIN_PROSE_WORDS for block in between if block != self._headline)
            return is_near and not has_prose and self._is_alone(box)
        return first == self._text_end and self._is_alone(box)

    def _is_alone(self, box: int) -> bool:
        """Return whether a figure is alone in each box around it, up to the first box that contains the whole text.

        A box with the headline may have other blocks. None of the boxes may be in `NOT_ARTICLE`. A figure after the
        text must be in the text's box, `article` or `main`.
        """
        boxes = self._boxes
        first, stop, outer = boxes.first[box], boxes.stop[box], boxes.parent[box]
        while outer > 0 and not (boxes.first[outer] <= self._text_start and self._text_end <= boxes.stop[outer]):
            if boxes.locations[outer] & NOT_ARTICLE:
                return False
            has_headline = boxes.first[outer] <= self._headline < boxes.stop[outer]
            if not has_headline and (boxes.first[outer], boxes.stop[outer]) != (first, stop):
                return False
            outer = boxes.parent[outer]
        return first < self._text_start or outer == self._text_box or boxes.tag[outer] in {"article", "main"}

    def include_figure(self, box: int) -> bool:
        """Return whether a figure belongs to the text. If it follows the text, the text then ends after the figure."""
        if not self._is_own_figure(box):
            return False
        if self._boxes.first[box] >= self._text_end:
            self._text_end = self._boxes.stop[box]
        return True

    def figure_range(self) -> FigureRange:
        """Return the range in which figures without text belong to the article's text."""
        words = self._outline.blocks.words
        is_near = all(words[block] < MIN_PROSE_WORDS for block in range(self._headline + 1, self._text_start))
        depth, box = 0, self._text_box
        while box > 0:
            depth += "-" not in self._boxes.tag[box]
            box = self._boxes.parent[box]
        return FigureRange(self._headline if is_near else self._text_start, depth)


def is_article(traits: PageTraits) -> bool:
    """Return whether a page's head or address declares an article, and neither a forum nor documentation.

    >>> is_article(PageTraits(kind=2)), is_article(PageTraits()), is_article(PageTraits(kind=2, types=8))
    (True, False, False)
    """
    if traits.types & _OTHER_TYPE or traits.address & _OTHER_ADDRESS:
        return False
    return traits.kind == _ARTICLE_KIND or bool(traits.types & _ARTICLE_TYPE or traits.address & _ARTICLE_ADDRESS)


def _prose_words(outline: Outline, chosen: Sequence[bool]) -> Iterator[int]:
    for is_chosen, word_count, linked in zip(chosen, outline.blocks.words, outline.blocks.linked, strict=True):
        yield word_count if is_chosen and word_count >= MIN_PROSE_WORDS and linked * 3 < word_count else 0


def _comment_ranges(outline: Outline) -> Iterator[BlockRange]:
    boxes = outline.boxes
    for box, names in enumerate(boxes.name_groups):
        if names & _COMMENT_GROUP:
            yield boxes.first[box], boxes.stop[box]


def _teaser_ranges(outline: Outline) -> Iterator[BlockRange]:
    """Yield, for each group of sibling boxes of one kind with one linked headline each, the range of its blocks.

    A group has at least two boxes. A headline is linked if at least 90 % of its words are in links to other pages.
    """
    boxes, blocks = outline.boxes, outline.blocks
    own_link_texts = {anchor.text for anchor in outline.anchors if anchor.href.startswith(("#", "javascript:"))}
    is_linked_headline = [
        bool(boxes.locations[box] & _HEADLINE)
        and linked > 1
        and linked * 10 >= word_count * 9
        and block_text not in own_link_texts
        for box, linked, word_count, block_text in zip(
            blocks.box, blocks.linked, blocks.words, blocks.text, strict=True
        )
    ]
    if sum(is_linked_headline) < _MIN_TEASERS:
        return
    headlines_before = list(accumulate(is_linked_headline, initial=0))
    ranges_by_kind: defaultdict[tuple[int, str], list[BlockRange]] = defaultdict(list)
    for box, (first, stop) in enumerate(zip(boxes.first, boxes.stop, strict=True)):
        if headlines_before[stop] - headlines_before[first] == 1 and boxes.tag[box] not in LEVELS:
            ranges_by_kind[boxes.parent[box], boxes.kind[box]].append((first, stop))
    for ranges in ranges_by_kind.values():
        if len(ranges) >= _MIN_TEASERS:
            yield ranges[0][0], ranges[-1][1]


def _section_ranges(outline: Outline, chosen: Sequence[bool]) -> Iterator[BlockRange]:
    """Yield the sections whose headline is a short chosen block that matches `_SECTION_NAMES`.

    A section ends at the next headline of its level or above that does not match, or at the end of its box. Such a
    block of up to six words that is not a headline is a section of its own.
    """
    boxes, blocks = outline.boxes, outline.blocks
    for block, (is_chosen, word_count, text) in enumerate(zip(chosen, blocks.words, blocks.text, strict=True)):
        if not is_chosen or word_count > _MAX_HEADLINE_WORDS or not _SECTION_NAMES.fullmatch(text):
            continue
        box = blocks.box[block]
        level = headline_level(outline, box)
        if not level:
            if word_count <= _MAX_LINE_WORDS:
                yield block, block + 1
            continue
        while box > 0 and boxes.stop[box] - boxes.first[box] <= 1:
            box = boxes.parent[box]
        stop = boxes.stop[box]
        yield block, next((end for end in range(block + 1, stop) if _ends_section(outline, end, level)), stop)


def _ends_section(outline: Outline, block: int, level: int) -> bool:
    block_level = headline_level(outline, outline.blocks.box[block])
    return 0 < block_level <= level and not _SECTION_NAMES.fullmatch(outline.blocks.text[block])


def headline_level(outline: Outline, box: int) -> int:
    """Return the level of the headline that is this box or is around it, or 0 if there is none."""
    boxes = outline.boxes
    if not boxes.locations[box] & _HEADLINE:
        return 0
    while box > 0 and boxes.tag[box] not in LEVELS:
        box = boxes.parent[box]
    return LEVELS.get(boxes.tag[box], 0)
