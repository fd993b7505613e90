"""Translate clauses of a search to queries of Tantivy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tantivy import FieldType, Occur, Query

from windrow.model import MAX_INTEGER, MIN_INTEGER
from windrow.query.clause import Clause, MarkIn, MarkLike, NumberIn, NumberRange, WordSequence
from windrow.query.tree import And, Not, Or

MAX_COMPLETIONS = 64  # of the words with a prefix, only the most frequent are scored; the others match with score 0


_REGEX_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\.+*?()|[]{}^$"})


def _escape_regex(text: str) -> str:
    return text.translate(_REGEX_ESCAPES)


class Translator:
    """Translates the clauses of a search to queries of Tantivy, for the schema of one index."""

    def __init__(self, schema: Any, analyser: Any, fields: Mapping[str, str]) -> None:
        """Use Tantivy's `schema` and `analyser` (for text fields); `fields` has the kind of each field by name."""
        self._schema, self._analyser, self._fields = schema, analyser, fields

    def tokens(self, text: str) -> list[str]:
        """Split a text into words as the index does."""
        return list(self._analyser.analyze(text))

    def query(self, clause: Clause, searcher: Any) -> Any:
        """Return the query for a clause; Tantivy's `searcher` is used to find the words that begin with a prefix."""
        match clause:
            case WordSequence():
                return self._word_sequence(clause, searcher)
            case Not():
                return self._conjunction((clause,), searcher)
            case And(parts):
                return self._conjunction(parts, searcher)
            case Or(parts, least):
                alternatives = [(Occur.Should, self.query(part, searcher)) for part in parts]
                return Query.boolean_query(alternatives, minimum_number_should_match=least if least > 1 else None)
            case _:
                return Query.const_score_query(self._filter(clause), 0.0)

    def _filter(self, clause: Clause) -> Any:
        match clause:
            case MarkIn(field, marks):
                terms = [(Occur.Should, Query.term_query(self._schema, field, mark, "basic")) for mark in marks]
                return Query.boolean_query(terms)
            case MarkLike(field, text, before, after):
                expression = f"{'.*' * before}{_escape_regex(text)}{'.*' * after}"
                return Query.regex_query(self._schema, field, expression)
            case NumberRange(field, low, high):
                ends = (MIN_INTEGER if low is None else low, MAX_INTEGER if high is None else high)
                return Query.range_query(self._schema, field, FieldType.Integer, *ends)
            case NumberIn(field, numbers) if numbers:
                return Query.term_set_query(self._schema, field, list(numbers))
            case NumberIn():
                return Query.empty_query()
            case _:
                return Query.all_query()

    def _conjunction(self, parts: tuple[Clause, ...], searcher: Any) -> Any:
        conditions = [
            (Occur.MustNot, self.query(part.part, searcher))
            if isinstance(part, Not)
            else (Occur.Must, self.query(part, searcher))
            for part in parts
        ]
        if all(occur == Occur.MustNot for occur, _ in conditions):
            conditions.append((Occur.Must, Query.const_score_query(Query.all_query(), 0.0)))
        return Query.boolean_query(conditions)

    def _word_sequence(self, clause: WordSequence, searcher: Any) -> Any:
        tokens = self.tokens(clause.text)
        if not tokens:
            return Query.empty_query()
        alternatives = []
        for field, weight in clause.fields:
            query = self._prefix_query(field, tokens, searcher) if clause.prefix else self._phrase_query(field, tokens)
            alternatives.append((Occur.Should, query if weight == 1 else Query.boost_query(query, weight)))
        return alternatives[0][1] if len(alternatives) == 1 else Query.boolean_query(alternatives)

    def _phrase_query(self, field: str, tokens: list[str]) -> Any:
        if len(tokens) == 1:
            return Query.term_query(self._schema, field, tokens[0])
        return Query.phrase_query(self._schema, field, list(tokens))

    def _prefix_query(self, field: str, tokens: list[str], searcher: Any) -> Any:
        completions = searcher.terms_with_prefix(field, tokens[-1])  # each with the number of documents that have it
        by_frequency = [word for word, _ in sorted(completions, key=lambda completion: (-completion[1], completion[0]))]
        if len(tokens) > 1:
            phrases = [(Occur.Should, self._phrase_query(field, [*tokens[:-1], word])) for word in by_frequency]
            return Query.boolean_query(phrases) if phrases else Query.empty_query()
        frequent = by_frequency[:MAX_COMPLETIONS]
        alternatives = [(Occur.Should, Query.term_query(self._schema, field, word)) for word in frequent]
        if len(completions) > MAX_COMPLETIONS:
            any_completion = Query.regex_query(self._schema, field, f"{tokens[0]}.*")
            alternatives.append((Occur.Should, Query.const_score_query(any_completion, 0.0)))
        return Query.boolean_query(alternatives) if alternatives else Query.empty_query()
