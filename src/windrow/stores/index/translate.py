"""Clauses as queries of Tantivy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tantivy import FieldType, Occur, Query

from windrow.query.clause import Clause, MarkIn, MarkLike, NumberIn, NumberRange, WordSequence
from windrow.query.tree import And, Not, Or

COMPLETIONS = 64  # words a prefix is completed to, the most frequent ones; the rest is found but not scored
_LEAST, _MOST = -(2**63), 2**63 - 1


_QUOTED = str.maketrans({sign: f"\\{sign}" for sign in "\\.+*?()|[]{}^$"})


def _quoted(text: str) -> str:
    """Return a regular expression for a text, in Tantivy's spelling of them."""
    return text.translate(_QUOTED)


class Translator:
    """Makes queries for one schema; words are cut as the index cuts them."""

    def __init__(self, schema: Any, analyser: Any, fields: Mapping[str, str]) -> None:
        """Take the schema, the analyser of its fields of words, and the kinds of its fields."""
        self._schema, self._analyser, self._fields = schema, analyser, fields

    def tokens(self, text: str) -> list[str]:
        """Cut a text as the index does."""
        return list(self._analyser.analyze(text))

    def query(self, clause: Clause, searcher: Any) -> Any:
        """Return the query of a clause. A searcher is asked which words a prefix stands for."""
        match clause:
            case WordSequence():
                return self._text(clause, searcher)
            case Not():
                return self._all((clause,), searcher)
            case And(parts):
                return self._all(parts, searcher)
            case Or(parts, least):
                some = [(Occur.Should, self.query(part, searcher)) for part in parts]
                return Query.boolean_query(some, minimum_number_should_match=least if least > 1 else None)
            case _:
                return Query.const_score_query(self._filter(clause), 0.0)

    def _filter(self, clause: Clause) -> Any:
        """Return the query of a clause that scores nothing."""
        match clause:
            case MarkIn(field, values):
                terms = [(Occur.Should, Query.term_query(self._schema, field, one, "basic")) for one in values]
                return Query.boolean_query(terms)
            case MarkLike(field, text, before, after):
                expression = f"{'.*' * before}{_quoted(text)}{'.*' * after}"
                return Query.regex_query(self._schema, field, expression)
            case NumberRange(field, low, high):
                ends = (_LEAST if low is None else low, _MOST if high is None else high)
                return Query.range_query(self._schema, field, FieldType.Integer, *ends)
            case NumberIn(field, values) if values:
                return Query.term_set_query(self._schema, field, list(values))
            case NumberIn():
                return Query.empty_query()
            case _:
                return Query.all_query()

    def _all(self, parts: tuple[Clause, ...], searcher: Any) -> Any:
        made = [
            (Occur.MustNot, self.query(part.part, searcher))
            if isinstance(part, Not)
            else (Occur.Must, self.query(part, searcher))
            for part in parts
        ]
        if all(occur == Occur.MustNot for occur, _ in made):
            made.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(made)

    def _text(self, clause: WordSequence, searcher: Any) -> Any:
        tokens = self.tokens(clause.text)
        if not tokens:
            return Query.empty_query()
        some = []
        for field, weight in clause.fields:
            one = self._in_field(field, tokens, searcher) if clause.prefix else self._exact(field, tokens)
            some.append((Occur.Should, one if weight == 1 else Query.boost_query(one, weight)))
        return some[0][1] if len(some) == 1 else Query.boolean_query(some)

    def _exact(self, field: str, tokens: list[str]) -> Any:
        if len(tokens) == 1:
            return Query.term_query(self._schema, field, tokens[0])
        return Query.phrase_query(self._schema, field, list(tokens))

    def _in_field(self, field: str, tokens: list[str], searcher: Any) -> Any:
        """Return the query of words whose last one is a beginning."""
        completed = searcher.terms_with_prefix(field, tokens[-1])
        often = sorted(completed, key=lambda pair: (-pair[1], pair[0]))
        if len(tokens) > 1:
            ends = [(Occur.Should, self._exact(field, [*tokens[:-1], word])) for word, _ in often]
            return Query.boolean_query(ends) if ends else Query.empty_query()
        often = often[:COMPLETIONS]
        some = [(Occur.Should, Query.term_query(self._schema, field, word)) for word, _ in often]
        if len(completed) > COMPLETIONS:
            rest = Query.regex_query(self._schema, field, f"{tokens[0]}.*")
            some.append((Occur.Should, Query.const_score_query(rest, 0.0)))
        return Query.boolean_query(some) if some else Query.empty_query()
