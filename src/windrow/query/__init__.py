"""The query language of searches: text to tree, tree to conditions."""

from windrow.query.parse import Query, parse
from windrow.query.tree import And, Filter, Node, Not, Or, Phrase, Word

__all__ = ["And", "Filter", "Node", "Not", "Or", "Phrase", "Query", "Word", "parse"]
