"""Give the names in a block of JSON-LD their plain form, that of schema.org, and the addresses in it their base.

JSON-LD may write `name` also as `schema:name`, as `https://schema.org/name`, or with any word that its `@context`
defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin

_SITE = re.compile(r"https?://(?:www\.)?schema\.org/")
_LONG_NAME = re.compile(rf"{_SITE.pattern}(\w+)")
_PREFIXED_NAME = re.compile(r"([\w.-]+):(\w+)")
_PLAIN_NAME = re.compile(r"@id|@type|\w+")
_KEYWORDS = frozenset({"type", "id"})
"""The names that the context of schema.org allows for `@type` and `@id`."""
_ADDRESSES = frozenset((
    "@id", "url", "contentUrl", "embedUrl", "thumbnailUrl", "mainEntityOfPage", "sameAs", "image", "logo", "item",
))  # fmt: skip
"""Properties whose text is an address."""


def objects_in(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a JSON value in their order, however deep they are, except those of contexts."""
    pending = [tree]  # the next one is last
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending += reversed([value for name, value in part.items() if name != "@context"])
        elif isinstance(part, list):
            pending += reversed(part)


def types_of(node: Mapping[str, Any]) -> list[str]:
    """Return the types of an object as they are written."""
    types = node.get("@type")
    return [types] if isinstance(types, str) else list(map(str, types)) if isinstance(types, list) else []


def use_plain_names(block: list[Any]) -> None:
    """Rename, in place, the properties and types in the values of one block, and join its addresses with its `@base`.

    A prefix is that of schema.org if it is `schema`, if a context says so, or if it is that of a type and no context
    says what it is. Contexts apply to the whole block. A mere fragment, such as `#event`, is not joined: it would be
    the same on all pages of a site.

    >>> block = [{"@context": {"s": "http://schema.org/", "titel": "s:name"}, "@type": "s:Event", "titel": "Tea"}]
    >>> use_plain_names(block)
    >>> block[0]["@type"], block[0]["name"]
    ('Event', 'Tea')
    """
    terms = dict(_terms_in(block))
    for node in objects_in(block):
        if "@type" not in node and isinstance(node.get("type"), str | list):
            _rename(node, {name: f"@{name}" for name in _KEYWORDS})
    prefixes = {term for term, meaning in terms.items() if _SITE.fullmatch(meaning)} | ({"schema"} - terms.keys())
    written_types = {name for node in objects_in(block) for name in types_of(node)}
    matches = filter(None, map(_PREFIXED_NAME.fullmatch, written_types))
    prefixes |= {match[1] for match in matches if match[1] not in terms}

    def plain_name(name: str) -> str:
        prefixed = _PREFIXED_NAME.fullmatch(name)
        if prefixed and prefixed[1] in prefixes:
            return prefixed[2]
        long_name = _LONG_NAME.fullmatch(name)
        return long_name[1] if long_name else name

    meanings = {term: plain_name(meaning) for term, meaning in terms.items() if not term.startswith("@")}
    meanings = {term: meaning for term, meaning in meanings.items() if _PLAIN_NAME.fullmatch(meaning)}
    base = terms.get("@base", "")
    for node in objects_in(block):
        names = {name: plain_name(meanings.get(name, name)) for name in node}
        if any(name != plain for name, plain in names.items()):
            _rename(node, names)
        if "@type" in node:
            types = [plain_name(meanings.get(name, name)) for name in types_of(node)]
            node["@type"] = types if isinstance(node["@type"], list) else types[0] if types else node["@type"]
        for name in _ADDRESSES & node.keys() if base else ():
            node[name] = _join_addresses(base, node[name])


def _terms_in(block: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the terms that the contexts in a block define, with their meanings: names, prefixes, and the base."""
    for node in objects_in(block):
        contexts = node.get("@context")
        for context in contexts if isinstance(contexts, list) else [contexts]:
            for term, definition in context.items() if isinstance(context, dict) else ():
                meaning = definition.get("@id") if isinstance(definition, dict) else definition
                if isinstance(meaning, str):
                    yield term, meaning


def _rename(node: dict[str, Any], names: Mapping[str, str]) -> None:
    members = list(node.items())
    node.clear()
    for name, value in members:
        node.setdefault(names.get(name, name), value)


def _join_addresses(base: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_join_addresses(base, entry) if isinstance(entry, str) else entry for entry in value]
    if not isinstance(value, str) or value.startswith(("_:", "#")):
        return value
    try:
        return urljoin(base, value)
    except ValueError:
        return value
