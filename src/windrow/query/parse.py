"""Split a query into tokens and make a tree of them. Every text is a valid query.

The language:

- words, all of which must occur; `harv*` is any word that begins with `harv`. Punctuation and symbols separate words
  or are ignored; a token without a letter or digit is left out, and a query that has only such tokens finds nothing;
- phrases in "...", »...« or «...»; a backslash escapes a closing quote or a backslash;
- `a OR b` or `a | b`, which joins only its two neighbours (`x a OR b` is x, and a or b);
  `AND` between two words changes nothing; parentheses group;
- filters `key:value` and `key:"a value"`, and `!leaf` for `is:leaf`; if the key is unknown or the
  value is not valid, the text is searched for as words;
- a dash directly before a phrase, a filter or a parenthesis excludes it. A dash directly before a word excludes the
  word if its first character is a letter and its second one a letter, a digit, `_`, `+`, `#` or `*`, if something else
  is searched for, and if the query does not look like a pasted command or error message (`looks_pasted`).

`Query.notes` reports what was left out, and which texts were read as words and not as filters or exclusions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from windrow.query.tree import (
    FILTER_ABBREVIATIONS,
    KEYS,
    TEXT_KEYS,
    And,
    Filter,
    Node,
    Not,
    Or,
    Phrase,
    TimeSpan,
    Value,
    Word,
    filters,
    join_parts,
    split_star,
)
from windrow.query.word import MAX_WORD_LENGTH, words

QUOTES = {'"': '"', "»": "«", "«": "»"}  # the closing quote for each opening one
MAX_DEPTH = 20  # nested parentheses; those deeper inside only separate words
_KEY = re.compile(r"([A-Za-z][\w-]*):", re.ASCII)

FilterReaders: TypeAlias = Mapping[str, Callable[[str], Value | None]]
"""A dict from the key of a filter to the function that reads its value, or returns None if the value is not valid."""

NO_COLUMNS: FilterReaders = MappingProxyType({})


class TokenKind(Enum):
    """What a token is: a word, a phrase, a filter, or a parenthesis that opens or closes a group."""

    WORD = auto()
    PHRASE = auto()
    FILTER = auto()
    OPEN = auto()
    CLOSE = auto()


class Token(NamedTuple):
    """A token of a query. `text` is as typed, but has no quotes and, if `is_negated`, no dash before it.

    The `text` of a filter is `key:value`.
    """

    kind: TokenKind
    text: str
    is_negated: bool = False
    key: str = ""  # of a filter
    value: Value | None = None  # of a filter; None if it is not valid
    note: str = ""  # says that the typed text is not a valid filter


def tokens(text: str, columns: FilterReaders = NO_COLUMNS) -> list[Token]:
    """Split a query into tokens; `columns` has the filters that are not in `KEYS`.

    >>> [(token.kind.name, token.text) for token in tokens('tea -"green tea" site:example.org')]
    [('WORD', 'tea'), ('PHRASE', 'green tea'), ('FILTER', 'site:example.org')]
    """
    return list(_Scanner(text, columns).run())


class _Scanner:
    """Splits a text from left to right. `depth` counts the open parentheses."""

    def __init__(self, text: str, columns: FilterReaders) -> None:
        self.text, self.offset, self.depth = text, 0, 0
        self.columns = columns

    def run(self) -> Iterator[Token]:
        while self.offset < len(self.text):
            character = self.text[self.offset]
            if character.isspace():
                self.offset += 1
            elif character == ")" and self.depth:
                yield self._read_closing()
            elif self.text.startswith(("(", "-("), self.offset):
                yield from self._read_opening()
            else:
                yield from self._read_piece()

    def _read_opening(self) -> Iterator[Token]:
        is_negated = self.text[self.offset] == "-"
        self.offset += 1 + is_negated
        if self.depth < MAX_DEPTH:
            self.depth += 1
            yield Token(TokenKind.OPEN, "(", is_negated)

    def _read_closing(self) -> Token:
        self.offset += 1
        self.depth -= 1
        return Token(TokenKind.CLOSE, ")")

    def _read_piece(self) -> Iterator[Token]:
        """Yield a phrase, a filter or a word. A filter that is not valid is read as a word."""
        is_negated = self.text.startswith("-", self.offset)
        start = self.offset + is_negated
        note = ""
        if (quoted := self._read_quoted(start)) is not None:
            yield Token(TokenKind.PHRASE, quoted, is_negated)
            return
        token = self._read_filter(start, is_negated=is_negated) or self._read_abbreviated(start, is_negated=is_negated)
        if token and token.value is not None:
            yield token
            return
        if token:
            note = token.note
        yield self._read_word(note)

    def _read_quoted(self, start: int) -> str | None:
        """Return the phrase that begins at `start` and move `offset` after it, or return None if there is none."""
        closing_quote = QUOTES.get(self.text[start : start + 1])
        if closing_quote is None:
            return None
        characters: list[str] = []
        position = start + 1
        while position < len(self.text):
            character, following = self.text[position], self.text[position + 1 : position + 2]
            if character == "\\" and following in {closing_quote, "\\"}:
                characters.append(following)
                position += 2
                continue
            if character == closing_quote and (
                not following or following.isspace() or (following == ")" and self.depth)
            ):
                self.offset = position + 1
                return "".join(characters)
            characters.append(character)
            position += 1
        return None

    def _read_filter(self, start: int, *, is_negated: bool) -> Token | None:
        """Return the filter whose key begins at `start`, or None if there is none.

        If its value is not valid, the token has a note and no value, and `offset` is not moved.
        """
        prefix = _KEY.match(self.text, start)
        key = prefix[1].lower() if prefix else ""
        if prefix is None or not (key in KEYS or key in self.columns) or (is_negated and key == "as-of"):
            return None
        old_position = self.offset
        value = self._read_quoted(prefix.end())
        if value is None:
            value = self._find_piece(prefix.end())
            self.offset = prefix.end() + len(value)
        token = self._make_filter(key, value, f"{key}:{value}", is_negated=is_negated)
        if token.value is None:
            self.offset = old_position
        return token

    def _read_abbreviated(self, start: int, *, is_negated: bool) -> Token | None:
        """Return the filter whose abbreviated key is at `start`, as `_read_filter` does, but without a note."""
        key = FILTER_ABBREVIATIONS.get(self.text[start : start + 1])
        if key is None:
            return None
        value = self._find_piece(start + 1)
        token = self._make_filter(key, value, f"{key}:{value}", is_negated=is_negated)
        if token.value is not None:
            self.offset = start + 1 + len(value)
        return token._replace(note="")

    def _make_filter(self, key: str, value: str, typed: str, *, is_negated: bool) -> Token:
        filter_value = (KEYS.get(key) or self.columns[key])(value)
        note = "" if filter_value is not None else f"'{typed}' is not a valid filter, so its words are searched for"
        return Token(TokenKind.FILTER, typed, is_negated, key, filter_value, note)

    def _find_piece(self, start: int) -> str:
        """Return the text from `start` up to the next space, without parentheses at its end that close a group."""
        end = start
        while end < len(self.text) and not self.text[end].isspace():
            end += 1
        piece, depth = self.text[start:end], self.depth
        while depth and piece.endswith(")") and piece.count(")") > piece.count("("):
            piece, depth = piece[:-1], depth - 1
        return piece

    def _read_word(self, note: str) -> Token:
        piece = self._find_piece(self.offset)
        self.offset += max(1, len(piece))
        return Token(TokenKind.WORD, piece, note=note)


_CODE = re.compile(
    r"""
      --\w | ::  | ->  | \(\) | =  | \\ | \b0x[0-9a-f] | \berrno\b   # options, code, paths of Windows
    | (?:^|\s)(?:~|\.{1,2})?/\w                                    # a path of a file
    | (?:^|\s)-\w(?=\s|$)                                          # an option of one letter
    | \w\.\w+:\d                                                   # a file with a line number
    | (?:^|\s)\[[^\]\s]*\]                                         # [error]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ERROR_WORDS = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|undefined|unrecogni[sz]ed|no such|not found|failed|fatal|"
    r"permission denied|unknown option|segmentation fault)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?:^|\s)(\S+):(?=\s|$)")


def looks_pasted(text: str, columns: FilterReaders = NO_COLUMNS) -> bool:
    """Return whether a query looks like a pasted command or error message; `columns` are as for `parse`.

    >>> looks_pasted("ld: cannot find -lssl"), looks_pasted("cannot find it"), looks_pasted("rm --force -recursive dir")
    (True, True, True)
    >>> looks_pasted("jaguar -car site:example.org")
    False
    """
    labels = (match[1].lower() for match in _LABEL.finditer(text))
    has_signs = bool(_CODE.search(text) or _ERROR_WORDS.search(text))
    return has_signs or any(label.lstrip("-") not in KEYS and label.lstrip("-") not in columns for label in labels)


MAX_QUERY_LENGTH = 2_000
"""The maximum number of characters of a query. The remainder is left out, with a note."""
MAX_TERMS = 64
"""The maximum number of words, phrases and filters of a query. The remainder is left out, with a note."""

_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff]")
_DASHED_WORD = re.compile(r"-[^\W\d_][\w+#*]")
_SIGNS = re.compile(r"[+#$%&@*\u00a3\u00a7\u20ac]")
"""Matches punctuation that users may consider a part of a word: `c++`, `#tag`."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query; `as_of` is the last second of the period in its last filter `as-of:`, in UNIX time, or None.

    `nothing` is true if the text is not blank but has neither a word nor a valid filter, so that nothing is found.
    """

    text: str
    root: Node | None
    as_of: int | None = None
    notes: tuple[str, ...] = ()
    nothing: bool = False

    @property
    def history(self) -> bool:
        """Whether the query may find earlier versions of pages, and pages that are gone."""
        return self.as_of is not None or any(filter_.key == "seen" for filter_ in filters(self.root))


def parse(text: str, columns: FilterReaders = NO_COLUMNS) -> Query:
    """Parse a query; every text is valid. `columns` has the filters that are not in `KEYS`; see `columns.parse_query`.

    >>> parse("tea -black").root
    And(parts=(Word(text='tea', prefix=False), Not(part=Word(text='black', prefix=False))))
    """
    notes = [f"only the first {MAX_QUERY_LENGTH:,} characters are searched for"] * (len(text) > MAX_QUERY_LENGTH)
    cleaned_text = _CONTROL.sub(" ", text[:MAX_QUERY_LENGTH])
    all_tokens = tokens(cleaned_text, columns)
    notes += [token.note for token in all_tokens if token.note]
    as_of = None
    for token in all_tokens:
        if token.key == "as-of" and isinstance(token.value, TimeSpan):
            as_of = token.value.end - 1
    kept_tokens = [token for token in all_tokens if not (token.key == "as-of" and token.value is not None)]
    if sum(token.kind in _TERM_KINDS for token in kept_tokens) > MAX_TERMS:
        notes.append(f"only the first {MAX_TERMS} words, phrases and filters are searched for")
    kept_tokens = _limit_tokens(kept_tokens)
    dashes_exclude = _dashes_exclude(kept_tokens, columns)
    root = _TreeBuilder(kept_tokens, dashes_exclude=dashes_exclude).sequence()
    notes += _note_left_out(kept_tokens, dashes_exclude=dashes_exclude)
    has_no_terms = root is None and as_of is None and bool(text.strip())
    return Query(text, root, as_of, tuple(dict.fromkeys(notes)), has_no_terms)


_TERM_KINDS = {TokenKind.WORD, TokenKind.PHRASE, TokenKind.FILTER}


def _limit_tokens(all_tokens: list[Token]) -> list[Token]:
    count = 0
    for index, token in enumerate(all_tokens):
        count += token.kind in _TERM_KINDS
        if count > MAX_TERMS:
            return all_tokens[:index]
    return all_tokens


def _dashes_exclude(all_tokens: list[Token], columns: FilterReaders) -> bool:
    """Return whether dashes exclude words: something else must be searched for, and the query must not look pasted."""
    has_other_terms = any(
        token.kind in _TERM_KINDS and not token.is_negated and not token.text.startswith("-") and _has_words(token.text)
        for token in all_tokens
    )
    typed_words = " ".join(token.text for token in all_tokens if token.kind is TokenKind.WORD)
    return has_other_terms and not looks_pasted(typed_words, columns)


def _note_left_out(all_tokens: list[Token], *, dashes_exclude: bool) -> list[str]:
    """Return notes on what is not searched for as typed; `dashes_exclude` is the result of `_dashes_exclude`."""
    last_index = len(all_tokens) - 1
    texts = [
        str(token.value) if token.key else token.text
        for index, token in enumerate(all_tokens)
        if _is_text(token) and not (token.text == "|" and 0 < index < last_index)  # between words it means OR
    ]
    notes = []
    unsearchable = [f"'{text}'" for text in dict.fromkeys(texts) if not _has_words(text) and text not in {"", "-"}]
    if unsearchable:
        notes.append(f"left out, since only letters and digits are searched for: {', '.join(unsearchable)}")
    texts_with_signs = [
        text for text in dict.fromkeys(texts) if _has_words(text) and _SIGNS.search(split_star(text)[0].strip("\"'"))
    ]
    if texts_with_signs:
        replacements = ", ".join(f"'{text}' is searched for as '{' '.join(words(text))}'" for text in texts_with_signs)
        notes.append(f"punctuation is left out: {replacements}")
    long_texts = [text for text in texts if max(map(len, words(text)), default=0) > MAX_WORD_LENGTH]
    if long_texts:
        notes.append(f"only the first {MAX_WORD_LENGTH} characters of a word are searched for")
    if not dashes_exclude:
        dashed = [token.text for token in all_tokens if token.kind is TokenKind.WORD and _DASHED_WORD.match(token.text)]
        notes += [f"'{text}' does not exclude a word here; -\"{text[1:]}\" does" for text in dict.fromkeys(dashed)]
    return notes


def _is_text(token: Token) -> bool:
    return token.kind in {TokenKind.WORD, TokenKind.PHRASE} or token.key in TEXT_KEYS


def _has_words(text: str) -> bool:
    return bool(words(text))


class _TreeBuilder:
    """Makes a tree from tokens. If `dashes_exclude` is true, a dash excludes the word after it."""

    def __init__(self, all_tokens: list[Token], *, dashes_exclude: bool) -> None:
        self.tokens, self.index, self.dashes_exclude = all_tokens, 0, dashes_exclude

    def sequence(self) -> Node | None:
        """Return the tree of the tokens up to the end of this group, or None if none of them can be searched for."""
        parts: list[Node] = []
        has_or = False
        while self.index < len(self.tokens) and self.tokens[self.index].kind is not TokenKind.CLOSE:
            operator = self.operator() if parts else ""
            if operator:
                self.index += 1
                has_or = has_or or operator == "or"
                continue
            node = self.operand()
            if node is None:
                continue
            part = join_parts(Or, [parts.pop(), node]) if has_or else node
            parts += [part] if part else []
            has_or = False
        return join_parts(And, parts)

    def operator(self) -> str:
        """Return `or` or `and` if the next token is that operator and an operand follows, otherwise an empty text."""
        token = self.tokens[self.index]
        following = self.tokens[self.index + 1] if self.index + 1 < len(self.tokens) else None
        if token.kind is not TokenKind.WORD or following is None or following.kind is TokenKind.CLOSE:
            return ""
        return {"OR": "or", "|": "or", "AND": "and"}.get(token.text, "")

    def operand(self) -> Node | None:
        """Return the tree of the next word, phrase, filter or group, or None if nothing in it can be searched for."""
        token = self.tokens[self.index]
        self.index += 1
        node: Node | None
        is_negated = token.is_negated
        if token.kind is TokenKind.OPEN:
            node = self.sequence()
            self.index += 1
        elif token.kind is TokenKind.FILTER and token.value is not None:
            node = Filter(token.key, token.value, token.text)
        elif token.kind is TokenKind.PHRASE:
            node = Phrase(token.text) if _has_words(token.text) else None
        else:
            is_negated = self.dashes_exclude and bool(_DASHED_WORD.match(token.text))
            node = _make_word(token.text[is_negated:])
        return Not(node) if node is not None and is_negated else node


def _make_word(text: str) -> Word | None:
    return Word(*split_star(text)) if _has_words(text) else None
