"""Text of a query as a MATCH expression of FTS5.

FTS5's NOT stands between two expressions, so what is only excluded is taken from all rows:
`("any":any) NOT (...)`. Everything else names its columns, so that a search for the word "any" does not
find every row.
"""

from __future__ import annotations

from windrow.collections.pages.query.tree import Filter, Node, Not, Or, Phrase, Word, asks, every
from windrow.collections.pages.search.word import pieces

COLUMNS = ("title", "description", "text", "secondary_text", "big_headlines", "small_headlines")
"""Where words are searched for in `full_text_entity_index`. What its columns for code and quotes have, `text` or
`secondary_text` have too; there, lines that do not follow each other on the page do."""

SCOPES = {
    "title": ("title",),
    "code": ("code_text",),
    "quote": ("quote_text",),
}
"""Filters that are a phrase in some columns."""

EVERYTHING = '({"any"} : "any")'


def textual(node: Node) -> bool:
    """Say whether a tree asks only for text that the full-text table holds."""
    return every(node, lambda leaf: not isinstance(leaf, Filter) or leaf.key in SCOPES)


def match(node: Node) -> str:
    """Return the expression of a textual tree.

    >>> from windrow.collections.pages.query import parse
    >>> match(parse('tea -"green tea"').root).replace(" ".join(COLUMNS), "*")
    '(({*} : "tea")) NOT (({*} : "green tea"))'
    """
    if isinstance(node, Word | Phrase | Filter):
        return _leaf(node)
    if isinstance(node, Not):
        return f"{EVERYTHING} NOT ({match(node.part)})"
    if isinstance(node, Or):
        return " OR ".join(_grouped(part) for part in node.parts)
    wanted = [part for part in node.parts if not isinstance(part, Not)]
    excluded = [part.part for part in node.parts if isinstance(part, Not)]
    expression = " AND ".join(_grouped(part) for part in wanted) or EVERYTHING
    if not excluded:
        return expression
    return f"({expression}) NOT ({' OR '.join(_grouped(part) for part in excluded)})"


def _grouped(node: Node) -> str:
    expression = match(node)
    return expression if isinstance(node, Word | Phrase | Filter) else f"({expression})"


def _leaf(leaf: Word | Phrase | Filter) -> str:
    columns = SCOPES[leaf.key] if isinstance(leaf, Filter) else COLUMNS
    return f"({scoped(columns, leaf)})"


def scoped(columns: tuple[str, ...], leaf: Word | Phrase | Filter) -> str:
    """Return the expression of a leaf's words, in their order, in some columns.

    >>> scoped(("title", "text"), Word('the 5" gun', prefix=True))
    '{title text} : "the 5 gun" *'
    """
    text, prefix = asks(leaf)
    return f'{{{" ".join(columns)}}} : "{" ".join(pieces(text))}"{" *" if prefix else ""}'
