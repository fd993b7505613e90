"""Generated pages of six kinds of sites: the same bytes each time, and free of copyright.

Each has what its kind has around its text: menus, teasers, forms, scripts, metadata of several vocabularies.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.pages.sample import Sample

_WHO = ("The council", "A keeper of the lighthouse", "Her neighbour", "The ferry company", "Our reader", "The museum")
_DID = ("repaired", "counted", "described", "bought", "forgot", "opened", "measured", "sold", "found")
_WHAT = ("the wooden pier", "forty small boats", "an old map", "the north wall", "two barrels of tar", "a letter")
_WHEN = ("in the spring of 1998", "before the storm", "after a long quarrel", "on Monday", "against all advice")
_WHY = ("because the tide was low", "and nobody objected", "though it cost more than expected", "as the law demands")
_TOPICS = ("Harbour", "Weather", "Market", "People", "Sea", "Trade", "Sport", "Letters", "Archive", "Events")


class _Writer:
    """Writes random text, the same for a seed; `headline` and `prose` are a page's main content."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.prose: list[str] = []
        self.headline = self.title()

    def sentence(self) -> str:
        return " ".join(self.chance.choice(words) for words in (_WHO, _DID, _WHAT, _WHEN, _WHY)) + "."

    def title(self) -> str:
        return " ".join(self.chance.choice(words) for words in (_WHO, _DID, _WHAT))

    def paragraph(self, sentences: int = 5) -> str:
        text = " ".join(self.sentence() for _ in range(sentences))
        self.prose.append(text)
        at = text.index(" ", 20)
        link = f'<a href="/topic/{self.chance.randrange(500)}">{text[:at]}</a>'
        return f"<p>{link}{text[at:]} <em>{self.chance.choice(_TOPICS)}</em> &amp; more&nbsp;&ndash; so it is said.</p>"

    def teaser(self) -> str:
        number = self.chance.randrange(10_000)
        return (
            f'<li class="teaser card"><a href="/story/{number}?ref=more#top"><img '
            f'src="/img/{number}.jpg" alt="" width=96>'
            f"<h3>{self.title()}</h3></a><span class=date>{self.chance.randrange(1, 29)} May 2024</span></li>"
        )


def _article(write: _Writer) -> str:
    paragraphs = "\n".join(write.paragraph() for _ in range(14))
    return (
        f"<article class='post entry'><header><h1>{write.headline}</h1><p class=byline>By <a "
        "rel=author href=/by/ann>Ann "
        f"Lee</a>, <time datetime=2024-05-03T08:00:00Z>3 May 2024</time></p></header><figure><img src=/pier.jpg "
        f"alt='The pier'><figcaption>The pier in May. Photograph: Bo Berg</figcaption></figure>{paragraphs}<blockquote>"
        ""
        f"<p>{write.sentence()}</p></blockquote><h2>{write.title()}</h2>{write.paragraph(8)}</article><aside><h2>Related"
        f"</h2><ul>{''.join(write.teaser() for _ in range(12))}</ul></aside>"
    )


def _product(write: _Writer) -> str:
    rows = "".join(f"<tr><th>{topic}</th><td>{write.chance.randrange(90)} cm</td></tr>" for topic in _TOPICS * 3)
    reviews = "".join(
        f"<div class=review itemprop=review><b>{write.chance.choice(_WHO)}</b> <span>&#9733;&#9733;</span>"
        f"{write.paragraph(3)}</div>"
        for _ in range(8)
    )
    return (
        f"<div itemscope itemtype=https://schema.org/Product><h1 itemprop=name>{write.headline}</h1><p class=price>"
        f"<span itemprop=price>49.00</span> EUR</p><form action=/cart method=post><select name=size><option>S<option>M"
        f"</select><button>Add to basket</button></form><div class=description>{write.paragraph(9)}</div><table "
        f"class=properties>{rows}</table><section id=reviews><h2>Reviews</h2>{reviews}</section></div>"
        f"<ul class=carousel>{''.join(write.teaser() for _ in range(20))}</ul>"
    )


def _thread(write: _Writer) -> str:
    posts = "".join(
        f"<div class=post id=p{number}><div class=author><img src=/avatar/{number}.png "
        f"alt=''>user{number} &middot; 12 posts"
        f"</div><div class=postbody>{write.paragraph(write.chance.randrange(2, 7))}</div><div class=tools><a "
        f"href=/reply/{number}>Reply</a> <a href=/quote/{number}>Quote</a> <a "
        f"href=/report/{number}>Report</a></div></div>"
        for number in range(16)
    )
    return f"<h1>{write.headline}?</h1><div class=pages>Page 1 <a href=?page=2>2</a> <a href=?page=3>3</a></div>{posts}"


def _manual(write: _Writer) -> str:
    parts = "".join(
        f"<section id=s{number}><h2>{number}. {write.title()}<a class=headerlink href=#s{number}>&para;</a></h2>"
        f"{write.paragraph(4)}<pre><code>def step_{number}(value):\n    return value &lt; "
        f"{number}\n</code></pre><ul><li>"
        f"{write.sentence()}<ul><li>{write.sentence()}</ul><li><code>--option-{number}</code> "
        f"{write.sentence()}</ul><dl>"
        f"<dt>value<dd>{write.sentence()}</dl></section>"
        for number in range(1, 9)
    )
    toc = "".join(f"<li><a href=#s{number}>Step {number}</a>" for number in range(1, 9))
    return f"<div class=toc><ul>{toc}</ul></div><main><h1>{write.headline}</h1>{parts}</main>"


def _listing(write: _Writer) -> str:
    groups = "".join(
        f"<section><h2><a href=/{topic.lower()}/>{topic}</a></h2><ul>{''.join(write.teaser() for _ in range(9))}</ul>"
        "</section>"
        for topic in _TOPICS
    )
    return f"<h1>{write.headline}</h1>{groups}<nav class=pager><a rel=next href=/page/2>Older</a></nav>"


def _old(write: _Writer) -> str:
    rows = "".join(
        f"<tr><td bgcolor=#eeeeee><font face=Arial size=2>{write.paragraph(3)}<td>{write.sentence()}<br><br>"
        f"{write.sentence()}<hr>"
        for _ in range(12)
    )
    head = f"<center><h1>{write.headline} \u2013 caf\u00e9</h1></center>"
    return f"{head}<table width=90% border=0><tr><td><table>{rows}</table>"


_KINDS: dict[str, Callable[[_Writer], str]] = {
    "article": _article, "product": _product, "forum": _thread, "documentation": _manual, "listing": _listing,
    "other": _old,
}  # fmt: skip


def _head(kind: str, title: str, url: str) -> str:
    about = {"@context": "https://schema.org", "@type": "WebPage", "headline": title, "datePublished": "2024-05-03"}
    style = "".join(f".c{number}{{color:#{number:03}}}" for number in range(100, 160))
    return (
        f"<!doctype html><html lang=en><head><title>{title} | The Quay</title><meta name=description "
        f"content='{title}.'>"
        f"<meta property=og:type content={kind}><meta property=og:title content='{title}'><link "
        f"rel=canonical href={url}>"
        f"<link rel=alternate hreflang=de href={url}?lang=de><link rel=alternate type=application/rss+xml href=/feed>"
        "<script "
        f"type=application/ld+json>{json.dumps(about)}</script><style>{style}</style><script>var a = '<p>no text"
        f"</p>'; if (a < 1) {{ track('{kind}') }}</script></head><body class='page {kind}'>"
    )


def _frame(body: str) -> str:
    menu = "".join(
        f"<li><a href=/{topic.lower()}/>{topic}</a><ul>"
        + "".join(f"<li><a href=/{topic.lower()}/{number}>{topic} {number}</a></li>" for number in range(4))
        + "</ul></li>"
        for topic in _TOPICS
    )
    return (
        f"<header><a href=/ class=logo>The Quay</a><nav id=menu><ul>{menu}</ul></nav><form "
        "role=search action=/find><input "
        "name=q></form></header><div id=cookies>We use cookies. "
        f"<button>Accept</button></div>{body}<footer><p>&copy; 2024 "
        f"The Quay. <a href=/privacy>Privacy</a> <a href=/imprint>Imprint</a></p><ul class=social><li><a "
        f"href=https://social.example/quay>Follow us</a></ul></footer></body></html>"
    )


def pages(count: int = 24) -> Iterator[Sample]:
    """Make pages, the kinds in turn, each from a site of its kind; every sixth is in Latin-1, and not well formed."""
    for number in range(count):
        kind = list(_KINDS)[number % len(_KINDS)]
        write = _Writer(number)
        url = f"https://{kind}.quay.example/{number}/page.html"
        body = _KINDS[kind](write)
        html = _head(kind, write.headline, url) + _frame(body)
        raw = html.encode("latin-1", "xmlcharrefreplace") if kind == "other" else html.encode()
        yield Sample(f"{number:04}", kind, url, raw, "\n".join(write.prose))


def lay_out(folder: Path, count: int = 24) -> None:
    """Write pages into a folder as the shared data has them: `html/ID.html.gz` beside `ground-truth/ID.json`."""
    for name in ("html", "ground-truth"):
        (folder / name).mkdir(parents=True)
    for page in pages(count):
        gold = {
            "title": _Writer(int(page.name)).headline,
            "author": "Ann Lee",
            "publish_date": "2024-05-03",
            "main_content": page.gold,
        }
        truth = {"url": page.url, "ground_truth": gold, "_internal": {"page_type": {"primary": page.kind}}}
        (folder / "ground-truth" / f"{page.name}.json").write_text(json.dumps(truth))
        (folder / "html" / f"{page.name}.html.gz").write_bytes(gzip.compress(page.raw, mtime=0))
