"""Read the main object of a page's JSON-LD (schema.org)."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from itertools import chain
from typing import Any, NamedTuple

from windrow.caps import HEAD_VALUE, JSON_LD_CHARACTERS, JSON_LD_OBJECTS, Excess
from windrow.content.linked_names import use_plain_names
from windrow.formats.text import replace_lone_surrogates

_ARTICLE_TYPE = re.compile(r"article|posting|report$", re.IGNORECASE)
_PART_TYPE = re.compile(r"^review|recipe|howto", re.IGNORECASE)
"""Matches the types of texts that may be only a part of the page's text."""
_NAMED_TYPE = re.compile(f"{_ARTICLE_TYPE.pattern}|{_PART_TYPE.pattern}", re.IGNORECASE)
"""Matches the types of objects whose name is a headline."""
_TEXT_TYPE = re.compile(r"article$|posting$|report$", re.IGNORECASE)
_ROLE_TYPE = re.compile(r"role$", re.IGNORECASE)
_LIST_TYPE = re.compile(r"^itemlist$", re.IGNORECASE)
_SITE_TYPE = re.compile(r"^website$", re.IGNORECASE)
_PAGE_TYPE = re.compile(rf"page$|creativework$|videoobject|podcastepisode|event$|{_PART_TYPE.pattern}", re.IGNORECASE)
_OTHER_OBJECTS = frozenset((
    "itemListElement", "hasPart", "blogPost", "comment", "review", "isRelatedTo", "relatedLink", "citation",
    "suggestedAnswer", "breadcrumb", "liveBlogUpdate", "mentions",
))  # fmt: skip
"""Properties whose objects describe something other than the page."""
_DATE_MEMBER = re.compile(r'"(datePublished|dateModified)"\s*:\s*"([^"]{4,40})"')
_COMMENT_OPENING = re.compile(r"\s*(?://<!\[CDATA\[|<!\[CDATA\[|<!--)")
_COMMENT_CLOSINGS = ("//]]>", "]]>", "-->")
_STRING = r'("[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\Z))'
_CODE_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*+[}}\]])", re.DOTALL)
_WORD = re.compile(r"\w+")
_VALUE_START = re.compile(r"[^\s,;}\]\ufeff]")
_DECODER = json.JSONDecoder(strict=False)

LinkedObject = dict[str, Any]


class StructuredData(NamedTuple):
    """The properties of the main object in a page's JSON-LD as plain text; missing properties are empty."""

    is_article: bool = False
    """Whether the main object is an article, a posting or a report."""
    headline: str = ""
    authors: tuple[str, ...] = ()
    named_authors: frozenset[str] = frozenset()
    """Those of `authors` that are each the name of one person or organisation, and not perhaps a byline."""
    published: str = ""
    modified: str = ""
    description: str = ""
    body: str = ""
    """The text of an article (`articleBody`): plain text with its lines, or HTML."""
    image: str = ""
    language: str = ""
    keywords: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    """The addresses, as written, of the things in the page's lists (ItemList)."""
    """The names of the site and of the object's publisher."""
    left_out: tuple[Excess, ...] = ()
    """For each cap that the JSON-LD exceeds, how much is left out."""
    excess_characters: int = 0
    """The number of characters of values that are left out because they are beyond HEAD_VALUE."""
    unread_scripts: int = 0
    """The number of scripts of which at least a part cannot be read."""


def read_json_ld(scripts: Sequence[str], titles: Sequence[str] = (), addresses: Sequence[str] = ()) -> StructuredData:
    """Read the JSON-LD of a page with these titles, as far as they are known, and with these canonical addresses.

    If it has several articles, or one that states its address and its headline, only that with the page's address or
    title is about the page. Of other objects, such as a video or a recipe in the page, only one with its address or
    title is. If there is no object about the page, read only dates, from the text of scripts that cannot be read, or of
    all scripts if none of their objects has a type.

    >>> read_json_ld(['{"@type": "NewsArticle", "headline": "Tea", "author": {"name": "Ann"}}']).authors
    ('Ann',)
    """
    if not scripts:
        return StructuredData()
    by_id: dict[str, LinkedObject] = {}
    objects, left_out, unread_scripts = _read_objects(scripts, by_id, next(filter(_plain_address, addresses), ""))
    main_object = _choose_article(
        [node for node in objects if _has_type(node, _ARTICLE_TYPE)], titles, addresses, by_id
    )
    if main_object is None:
        pages = [node for node in objects if _has_type(node, _PAGE_TYPE)]
        if pages[1:]:  # a part says more than the page that it is on
            pages.sort(key=lambda page: not _has_type(page, _PART_TYPE))
        main_object = next((page for page in pages if _is_of_page(page, titles, addresses, by_id)), {})
    dated_texts = () if main_object else unread_scripts if objects else scripts
    dates_in_text = dict(reversed(_DATE_MEMBER.findall("\n".join(dated_texts))))
    names = [name for node in objects if _has_type(node, _SITE_TYPE) for name in _read_names(node, by_id)]
    authors = [
        author for role in ("author", "creator") if role in main_object for author in _list_of(main_object[role])
    ]
    author_objects = [author for author in authors if isinstance(author, dict)]
    data = StructuredData(
        is_article=_has_type(main_object, _TEXT_TYPE),
        headline=_first_text(main_object, "headline")
        or (_first_text(main_object, "name") if _has_type(main_object, _NAMED_TYPE) else ""),
        authors=tuple(dict.fromkeys(_read_names(authors, by_id))),
        named_authors=frozenset(_read_names(author_objects, by_id) if author_objects else ()),
        published=_first_text(main_object, "datePublished", "dateCreated", "uploadDate")
        or dates_in_text.get("datePublished", ""),
        modified=_first_text(main_object, "dateModified") or dates_in_text.get("dateModified", ""),
        description=_first_text(main_object, "description"),
        body=_read_body(main_object["articleBody"]) if "articleBody" in main_object else "",
        image=next(iter(_image_addresses(main_object.get("image"), by_id)), ""),
        language=_first_text(main_object, "inLanguage"),
        keywords=tuple(dict.fromkeys(filter(None, _read_names(_list_topics(main_object, by_id), {})))),
        sites=tuple(dict.fromkeys([*names, *_read_names(main_object.get("publisher"), by_id)])),
        listed=tuple(dict.fromkeys(_listed_addresses(node for node in objects if _has_type(node, _LIST_TYPE)))),
        left_out=left_out,
        unread_scripts=len(unread_scripts),
    )
    return _cut_values(data) if any(len(script) > HEAD_VALUE.number for script in scripts) else data


def _choose_article(
    articles: Sequence[LinkedObject],
    titles: Sequence[str],
    addresses: Sequence[str],
    by_id: Mapping[str, LinkedObject],
) -> LinkedObject | None:
    """Return the article that a page is about; None if there is none, or if none of several fits the page.

    A single one need not fit, unless it states both an address and a headline: then it is another page's article.
    """
    wanted_titles = [words for title in titles if (words := _fold_words(title))]
    wanted_addresses = {_plain_address(address) for address in addresses} - {""}
    headlines = [_fold_words(_first_text(article, "headline", "name")) for article in articles]
    can_compare_both = bool(wanted_titles and wanted_addresses)
    own_addresses = [{*_own_addresses(article, by_id)} for article in articles]
    is_certain = can_compare_both and any(headlines) and any(chain.from_iterable(own_addresses))
    if (len(articles) < 2 and not is_certain) or not (wanted_titles or wanted_addresses):
        return next(iter(articles), None)
    pairs = list(zip(articles, headlines, strict=True))
    by_address = (
        article for article, own in zip(articles, own_addresses, strict=True) if not wanted_addresses.isdisjoint(own)
    )
    by_title = (article for article, headline in pairs if headline in wanted_titles)
    by_part = (article for article, headline in pairs if any(_has_part(title, headline) for title in wanted_titles))
    return next(chain(by_address, by_title, by_part), None)


def _is_of_page(
    page: LinkedObject, titles: Sequence[str], addresses: Sequence[str], by_id: Mapping[str, LinkedObject]
) -> bool:
    """Return whether an object that is no article is the page with these titles and addresses, and not a thing in it.

    One without a name and without an address may be, since it states nothing of another page.
    """
    wanted_titles = {words for title in titles if (words := _fold_words(title))}
    wanted_addresses = {_plain_address(address) for address in addresses} - {""}
    own_addresses, name = {*_own_addresses(page, by_id)} - {""}, _fold_words(_first_text(page, "headline", "name"))
    if name in wanted_titles or own_addresses & wanted_addresses:
        return True
    if own_addresses and wanted_addresses:
        return False
    return not (name and wanted_titles) or any(_has_part(title, name) for title in wanted_titles)


def _has_part(title: str, headline: str) -> bool:
    """Return whether the words of one of two titles are in the other, in their order."""
    return bool(headline) and (f" {headline} " in f" {title} " or f" {title} " in f" {headline} ")


def _own_addresses(article: LinkedObject, by_id: Mapping[str, LinkedObject]) -> Iterator[str]:
    pages = [node for node in _list_of(article.get("mainEntityOfPage")) if isinstance(node, dict)]
    described_pages = [by_id[page_id] for page in pages if (page_id := str(page.get("@id"))) in by_id]
    for node in (article, *pages, *described_pages):
        for name in ("@id", "url", "mainEntityOfPage"):
            yield from map(_plain_address, _texts(node.get(name)))


def _plain_address(address: str) -> str:
    """Return an absolute address without its scheme, fragment and last slash; "" for another text."""
    return address.strip().partition("://")[2].partition("#")[0].removeprefix("www.").rstrip("/")


def _fold_words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _listed_addresses(lists: Iterable[LinkedObject]) -> Iterator[str]:
    """Yield the addresses in lists: those that are elements, and those of elements and of their items."""
    for node in lists:
        for element in _list_of(node.get("itemListElement")):
            item = element.get("item", element) if isinstance(element, dict) else element
            nodes = [part for part in (element, item) if isinstance(part, dict)]
            addresses = [address for part in nodes for name in ("url", "@id") for address in _texts(part.get(name))]
            yield from filter(None, map(_clean, (addresses or _texts(item))[:1]))


def _read_body(value: Any) -> str:
    """Return the first text of a value with its lines, or ""."""
    return replace_lone_surrogates(unescape(next(iter(_texts(value)), ""))).strip()


def _cut_values(data: StructuredData) -> StructuredData:
    """Return data without the characters of each value that are beyond HEAD_VALUE, which are counted."""
    limit = HEAD_VALUE.number
    texts = {name: value for name, value in data._asdict().items() if isinstance(value, str)}
    lists = {"authors": data.authors, "keywords": data.keywords, "sites": data.sites}
    values = [*texts.values(), *chain.from_iterable(lists.values())]
    changes: dict[str, Any] = {name: text[:limit] for name, text in texts.items()}
    changes |= {name: tuple(text[:limit] for text in entries) for name, entries in lists.items()}
    return data._replace(
        **changes,
        named_authors=frozenset(name[:limit] for name in data.named_authors),
        excess_characters=sum(max(0, len(text) - limit) for text in values),
    )


def _read_objects(
    scripts: Sequence[str], by_id: dict[str, LinkedObject], url: str
) -> tuple[list[LinkedObject], tuple[Excess, ...], list[str]]:
    """Return the objects with a type, what caps leave out of them, and the scripts that cannot be read as a whole.

    Objects in `_OTHER_OBJECTS` properties are not returned. The properties of all objects with the same `@id` are added
    to `by_id`; of several values of one property the first one counts. An `@id` that is a fragment is one of the page
    with the address `url`.
    """
    objects: list[LinkedObject] = []
    unread_scripts: list[str] = []
    object_count = excess_characters = 0
    for script in scripts:
        if len(script) > JSON_LD_CHARACTERS.number:
            excess_characters += len(script) - JSON_LD_CHARACTERS.number
            continue
        values, is_whole = decode_json_ld(script)
        if not is_whole:
            unread_scripts.append(script)
        queue = deque(values)
        while queue:
            node = queue.popleft()
            if isinstance(node, list):
                queue += node
            elif isinstance(node, dict):
                object_count += 1
                if object_count > JSON_LD_OBJECTS.number:
                    continue
                if isinstance(node_id := node.get("@id"), str) and node_id.startswith("#"):
                    node["@id"] = url.partition("#")[0] + node_id
                _join_properties(node, by_id)
                if "@type" in node:
                    objects.append(node)
                queue += [
                    member
                    for key, member in node.items()
                    if key not in _OTHER_OBJECTS and isinstance(member, dict | list)
                ]
    oversized = (Excess(JSON_LD_CHARACTERS, excess_characters),) if excess_characters else ()
    return objects, (*oversized, *JSON_LD_OBJECTS.find_excess(object_count)), unread_scripts


def _join_properties(node: LinkedObject, by_id: dict[str, LinkedObject]) -> None:
    """Add an object's properties to those of its `@id`. A mere reference may have a type, but no other properties."""
    object_id = node.get("@id")
    if isinstance(object_id, str) and len(node) > 1:
        properties = by_id.setdefault(object_id, {})
        for name in node.keys() - properties.keys():
            properties[name] = node[name]


def decode_json_ld(script: str) -> tuple[list[Any], bool]:
    """Return the JSON values in a script, with plain names, and whether the script has nothing else.

    It may be in a comment of HTML. Comments of JavaScript, commas after the last member and further values after the
    first one are allowed. Reading ends at any other fault, and at a value that is nested too deeply.

    >>> decode_json_ld('{"a": 1,} // one'), decode_json_ld('{"a": [2]}, {"b": "c'), decode_json_ld("")
    (([{'a': 1}], True), ([{'a': [2]}], False), ([], True))
    """
    values, is_whole = _decode_values(_strip_comment(script))
    use_plain_names(values)
    return values, is_whole


def _decode_values(text: str) -> tuple[list[Any], bool]:
    try:
        return [json.loads(text, strict=False)], True
    except (ValueError, RecursionError):
        text = _TRAILING_COMMA.sub(r"\1", _CODE_COMMENT.sub(r"\1", text))
    values: list[Any] = []
    position = 0
    while start := _VALUE_START.search(text, position):
        try:
            value, position = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return values, False
        values.append(value)
    return values, True


def _strip_comment(script: str) -> str:
    if opening := _COMMENT_OPENING.match(script):
        script = script[opening.end() :]
    end = script.rstrip()
    closing = next((delimiter for delimiter in _COMMENT_CLOSINGS if end.endswith(delimiter)), "")
    return end.removesuffix(closing) if closing else script


def _has_type(node: LinkedObject, type_pattern: re.Pattern[str]) -> bool:
    return any(type_pattern.search(text.rpartition("/")[2]) for text in _texts(node.get("@type")))


def _list_of(value: Any) -> list[Any]:
    """Return the values in a value: those of a list and of the containers of JSON-LD, at any depth, or itself."""
    members = value if isinstance(value, list) else [value]
    for member in members:
        match member:
            case list() | {"@list": _} | {"@set": _} | {"@graph": _}:
                return _flatten(members)
    return members


def _flatten(value: Any) -> list[Any]:
    values: list[Any] = []
    remaining = [value]  # the next one is last
    while remaining:
        match remaining.pop():
            case list() as members:
                remaining += members[::-1]
            case {"@list": member} | {"@set": member} | {"@graph": member}:
                remaining.append(member)
            case member:
                values.append(member)
    return values


def _texts(value: Any) -> list[str]:
    """Return the texts and numbers in a value or in a list of values; a value may be an object with `@value`."""
    contents = (node.get("@value") if isinstance(node, dict) else node for node in _list_of(value))
    return [str(content) for content in contents if isinstance(content, str | int | float) and content is not True]


def _first_text(node: LinkedObject, *names: str) -> str:
    for name in names:
        for raw_text in _texts(node.get(name)):
            if text := _clean(raw_text):
                return text
    return ""


def _clean(text: str) -> str:
    return replace_lone_surrogates(" ".join(unescape(text).split()))


def _read_names(persons: Any, by_id: dict[str, LinkedObject]) -> Iterator[str]:
    for person in _list_of(persons):
        if isinstance(person, str):
            yield _clean(person)
        elif isinstance(person, dict) and "@value" in person:
            yield from map(_clean, _texts(person))
        elif isinstance(person, dict):
            node = person if "name" in person else by_id.get(str(person.get("@id")), person)
            if names := list(filter(None, map(_clean, _texts(node.get("name"))))):
                yield from names
            elif name := " ".join(filter(None, (_first_text(node, "givenName"), _first_text(node, "familyName")))):
                yield name
            elif _has_type(node, _ROLE_TYPE):  # the property of the article is repeated in its role
                roles = [node[role] for role in ("author", "creator") if isinstance(node.get(role), dict)]
                yield from _read_names([role for role in roles if not _has_type(role, _ROLE_TYPE)], by_id)


def _list_topics(node: LinkedObject, by_id: dict[str, LinkedObject]) -> list[Any]:
    """Return an object's keywords, sections, subjects and genres. Keywords in one text are separated by commas."""
    keywords = _list_of(node.get("keywords"))
    keywords = [by_id.get(str(word.get("@id")), word) if isinstance(word, dict) else word for word in keywords]
    if len(keywords) == 1 and (texts := _texts(keywords)):
        keywords = texts[0].split(",")
    for name in ("articleSection", "about", "genre"):
        if name in node:
            keywords = [*keywords, *_list_of(node[name])]
    return keywords


def _image_addresses(images: Any, by_id: dict[str, LinkedObject]) -> Iterator[str]:
    for image in (images if isinstance(images, list) else [images])[:10]:
        node = by_id.get(str(image.get("@id")), image) if isinstance(image, dict) and "url" not in image else image
        addresses = _texts([node.get("url"), node.get("contentUrl")] if isinstance(node, dict) else node)
        yield from (text for text in map(_clean, addresses) if text)
