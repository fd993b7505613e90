"""The query language of searches: parsing a query, and turning its tree into clauses for an index."""

from windrow.query.parse import Query, parse
from windrow.query.tree import And, Filter, Node, Not, Or, Phrase, Word

__all__ = ["And", "Filter", "Node", "Not", "Or", "Phrase", "Query", "Word", "parse"]
