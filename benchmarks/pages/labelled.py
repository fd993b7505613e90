"""Queries with the page that they should find: from real pages, and from a generated web."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin

from selectolax.lexbor import LexborHTMLParser

from benchmarks.pages.corpus import Vocabulary
from benchmarks.pages.filler import PageRow
from windrow.query.word import words

HOSTS = 30
"""Hosts of the generated web."""


class Known(NamedTuple):
    """A query and the URL that it should find."""

    kind: str
    query: str
    url: str


class Labelled(NamedTuple):
    """Pages, and queries over them."""

    pages: tuple[PageRow, ...]
    queries: tuple[Known, ...]


def real(folder: Path) -> Labelled:
    """Read the pages of a folder laid out as `html/ID.html.gz` beside `ground-truth/ID.json`.

    The queries are the titles that people noted for the pages (`title`), the three rarest words of each
    (`few words`), and what other pages of the set call a page in a link (`link text`).
    """
    pages: dict[str, PageRow] = {}
    titles: dict[str, str] = {}
    for path in sorted((folder / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text())
        url = urldefrag(truth["url"]).url
        markup = gzip.decompress((folder / "html" / f"{path.stem}.html.gz").read_bytes())
        pages[url] = _read(url, markup)
        titles[url] = truth["ground_truth"]["title"] or ""
    among = {
        url: page._replace(links=tuple(link for link in page.links if link[0] in pages)) for url, page in pages.items()
    }
    queries = [Known("title", title, url) for url, title in titles.items() if len(words(title)) > 1]
    queries += list(_rarest(list(pages.values()), queries))
    queries += list(_called(list(among.values())))
    return Labelled(tuple(among.values()), tuple(queries))


def _read(url: str, markup: bytes) -> PageRow:
    tree = LexborHTMLParser(markup.decode("utf-8", "replace"))
    links = []
    for node in tree.css("a[href]"):
        target, text = urldefrag(urljoin(url, node.attributes.get("href") or "")).url, " ".join(node.text().split())
        if text and target != url:
            links.append((target, text))
    title = tree.css_first("title")
    headline = tree.css_first("h1")
    described = tree.css_first("meta[name=description]")
    tree.strip_tags(["script", "style", "template", "noscript", "svg"])
    outside = [" ".join(node.text(separator=" ").split()) for node in tree.css("nav, footer")]
    tree.strip_tags(["nav", "footer"])
    text = " ".join(tree.body.text(separator=" ").split()) if tree.body else ""
    called = " ".join(title.text().split()) if title else ""
    description = (described.attributes.get("content") if described else None) or None
    return PageRow(
        url,
        text,
        called,
        " ".join(outside),
        headline.text(strip=True) if headline else None,
        description,
        links=tuple(links),
    )


def _rarest(pages: Sequence[PageRow], queries: Sequence[Known]) -> Iterator[Known]:
    among = Counter(word for page in pages for word in set(words(f"{page.title} {page.text}")))
    for known in queries:
        rare = sorted(dict.fromkeys(words(known.query)), key=lambda word: among[word])[:3]
        if len(rare) == 3:
            yield Known("few words", " ".join(word for word in words(known.query) if word in rare), known.url)


def _called(pages: Sequence[PageRow]) -> Iterator[Known]:
    """Yield link texts of the set, with their target, if all links with the text lead to one page."""
    called = defaultdict[str, set[str]](set)
    for page in pages:
        for url, text in page.links:
            called[" ".join(words(text))].add(url)
    for text, urls in sorted(called.items()):
        if len(urls) == 1 and 2 <= len(text.split()) <= 12:
            yield Known("link text", text, next(iter(urls)))


def generated(*, hosts: int = HOSTS, each: int = 60, seed: int = 11) -> Labelled:
    """Make a web: hosts with a home, lists and articles, copies, and links between hosts.

    A list names all its articles and has their first words. What other hosts call an article stands in none
    of its words. Half of the articles have another article of the host as neighbour that repeats its title.
    """
    vocabulary = Vocabulary(seed)
    chance = vocabulary.random
    pages: list[PageRow] = []
    queries: list[Known] = []
    articles: list[PageRow] = []
    for number in range(hosts):
        host = f"https://{''.join(vocabulary.draw(2))}{number}.example"
        own = [_article(vocabulary, f"{host}/{index}/{'-'.join(vocabulary.draw(2))}") for index in range(each)]
        for index in range(0, each, 2):
            repeats = f"{own[index].title}. {own[index + 1].text} More: {own[index].title}."
            own[index + 1] = own[index + 1]._replace(text=repeats)
        articles += own
        pages += _lists(host, own)
        queries += [Known("title, made web", article.title, article.url) for article in own[::2]]
    called = {article.url: " ".join(vocabulary.draw(3)) for article in chance.sample(articles, len(articles) // 3)}
    for url, name in called.items():
        queries.append(Known("link text, made web", name, url))
    linking = defaultdict[str, list[tuple[str, str]]](list)
    for url, name in called.items():
        for article in chance.sample(articles, chance.randint(2, 5)):
            if article.url != url:
                linking[article.url].append((url, name))
    for article in articles:
        links = tuple(linking[article.url])
        more = " ".join(f"See {text}." for _, text in links)
        pages.append(article._replace(text=f"{article.text} {more}", links=links))
    pages += [
        linked._replace(url=f"{linked.url}?print=1", duplicate=True)
        for linked in chance.sample(pages, len(pages) // 10)
    ]
    return Labelled(tuple(pages), tuple(queries))


def _article(vocabulary: Vocabulary, url: str) -> PageRow:
    title = " ".join(vocabulary.draw(vocabulary.random.randint(2, 5))).title()
    text = f"{title}. {vocabulary.text(vocabulary.random.randint(100, 500))}"
    return PageRow(url, text, f"{title} - {url.split('/')[2]}", "Home Archive", title, indexiness=-20)


def _lists(host: str, own: Sequence[PageRow]) -> Iterator[PageRow]:
    for start in range(0, len(own), 20):
        listed = own[start : start + 20]
        text = " ".join(f"{article.headline}. {' '.join(article.text.split()[:12])}" for article in listed)
        links = tuple((article.url, article.headline or "") for article in listed)
        yield PageRow(f"{host}/list/{start}", text, f"Archive - {host[8:]}", indexiness=40, links=links)
    home = " ".join(article.headline or "" for article in own[:10])
    yield PageRow(
        f"{host}/",
        home,
        host[8:],
        indexiness=30,
        links=tuple((article.url, article.headline or "") for article in own[:10]),
    )


def mixed(folder: Path | None, hosts: int = HOSTS) -> Labelled:
    """Return both sets together; without the folder, the generated one."""
    pages = generated(hosts=hosts)
    if folder is None:
        return pages
    read = real(folder)
    random.Random(3).shuffle(order := [*pages.pages, *read.pages])
    return Labelled(tuple(order), (*pages.queries, *read.queries))
