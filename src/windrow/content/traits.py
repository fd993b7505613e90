"""Read traits that indicate a page's kind from its head and address; find the groups of an element's names.

Authors name the parts of a page with a small vocabulary: `nav`, `site-footer`, `postContent`, `related-items`. Each
group of these words has a bit, so that the names of an element (its classes, id and the like) become one integer, and
the names of all elements around it become another one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_PATTERNS = ("article|blogposting|report", "product|offer", "itemlist", "discussionforum|qapage|comment",
         "faqpage|question", "person|profile", "breadcrumb", "website|webpage", "collectionpage",
         "organization|business")  # fmt: skip
"""A regular expression for each family of schema.org types."""
ADDRESS_PATTERNS = (r"forum|thread|topic|discuss|community|viewtopic|/t/|/questions?/|comments|board",
             r"/products?/|/p/|/dp/|/item|/itm|-p-|/shop/|sku",
             r"/collections?/|/category|/categories|/c/|/tag|/shop|/browse|/list|/search|/best",
             r"docs?[./]|/docs|documentation|/api|reference|manual|/guide|learn|help|support",
             r"/blog|/news|/article|/\d{4}/\d\d|/post|/story|/stories",
             r"\?")  # fmt: skip
"""Regular expressions for addresses: of forums, products, collections, documentation or articles, or with a query."""

_TYPE_REGEXES = [re.compile(pattern) for pattern in TYPE_PATTERNS]
_ADDRESS_REGEXES = [re.compile(pattern) for pattern in ADDRESS_PATTERNS]
_TYPE_MEMBER = re.compile(r'"@type"\s*:\s*(?:"([^"]{1,80})"|\[([^\]]{1,200})\])')
_KIND_NUMBERS = {"website": 1, "article": 2, "product": 3}


class PageTraits(NamedTuple):
    """Traits that indicate a page's kind; a missing trait is 0."""

    kind: int = 0
    """The `og:type`: 0 missing, 1 website, 2 article, 3 product, 4 other."""
    types: int = 0
    """A bit for each of `TYPE_PATTERNS`: whether it matches a schema.org type in the JSON-LD."""
    steps: int = 0
    """The number of segments of the address's path."""
    digits: int = 0
    """The number of digits in the address's path."""
    address: int = 0
    """A bit for each of `ADDRESS_PATTERNS`: whether it matches the page's address."""


def read_page_traits(url: str, og_type: str | None, json_ld: str) -> PageTraits:
    """Return a page's traits from its address, its `og:type` and the text of its JSON-LD.

    >>> read_page_traits("http://a.example/forum/t/9?x=1", "article", '{"@type": "Product"}')
    PageTraits(kind=2, types=2, steps=3, digits=1, address=33)
    """
    types = " ".join(single or several for single, several in _TYPE_MEMBER.findall(json_ld)).lower()
    address = url.partition("://")[2].partition("#")[0].lower()
    path = address.partition("?")[0].partition("/")[2].strip("/")
    og_type_word = (og_type or "").strip().lower()
    return PageTraits(
        0 if not og_type_word else _KIND_NUMBERS.get(og_type_word, 3 if "product" in og_type_word else 4),
        sum(1 << number for number, regex in enumerate(_TYPE_REGEXES) if types and regex.search(types)),
        path.count("/") + 1 if path else 0,
        sum(map(str.isdigit, path)),
        sum(1 << number for number, regex in enumerate(_ADDRESS_REGEXES) if regex.search(address)),
    )


GROUPS = {
    "nav": "nav navbar navigation navi menu menus submenu megamenu topnav subnav tabs breadcrumb breadcrumbs crumb"
    " topbar toolbar dropdown skip hamburger flyout",
    "head": "header masthead head banner hero top logo branding brand",
    "foot": "footer foot bottom colophon copyright legal contentinfo",
    "side": "sidebar side aside rail widget widgets secondary complementary sidenav",
    "share": "share sharing social socials follow addthis facebook twitter pinterest linkedin whatsapp",
    "sponsor": "ad ads advert advertisement adsense sponsor sponsored promo promotion promoted outbrain taboola upsell",
    "related": "related recommend recommended recommendations recommendation more similar also popular trending recent"
    " latest recirc readnext next prev previous pager pagination paging viewed suggested suggestions teaser teasers",
    "carousel": "carousel slider slick swiper slide slides slideshow gallery",
    "consent": "cookie cookies consent gdpr onetrust privacy ccpa cmp optanon",
    "modal": "modal popup overlay dialog lightbox tooltip tooltips toast drawer offcanvas interstitial notification"
    " notice alert",
    "form": "form newsletter subscribe subscription signup login signin register search searchbox input email field",
    "filter": "filter filters facet facets refine refinement refinements sort sorting select option options",
    "cart": "cart checkout basket wishlist minicart buy buybox bag shipping delivery payment",
    "comment": "comment comments disqus respond reply replies commentlist",
    "post": "post posts message messages thread topic bbp forum discussion answer answers question bbcode postbody",
    "article": "article story entry blog news rte richtext prose markdown wysiwyg articlebody text copy body paragraph"
    " cms mw",
    "content": "content main primary page contents maincontent detail details overview about intro",
    "description": "description desc summary excerpt abstract lead",
    "product": "product products item items sku pdp spec specs specification specifications feature features variant",
    "price": "price prices pricing offer offers sale discount",
    "card": "card cards tile tiles grid list listing listings results result collection row col",
    "review": "review reviews rating ratings star stars testimonial testimonials",
    "byline": "meta byline author authors date time timestamp published publish info credit credits bio avatar",
    "user": "user username profile member account",
    "tag": "tags tag category categories label labels badge badges chip",
    "contents": "toc tableofcontents anchor anchors outline jump",
    "hidden": "hidden hide sr visuallyhidden screenreader offscreen invisible collapse collapsed closed none print",
    "code": "code highlight snippet hljs prism codehilite syntax",
    "accordion": "faq faqs accordion collapsible panel tabpanel expandable",
    "title": "title headline heading subtitle subheading name",
    "media": "image img figure caption video photo media thumb thumbnail icon svg",
    "button": "button btn buttons cta link links",
    "action": "edit editsection action actions control controls tool tools vote votes like likes",
    "locale": "lang language languages locale country currency region translate",
}

GROUP_BITS = {group: 1 << index for index, group in enumerate(GROUPS)}

_GROUPS_BY_WORD: dict[bytes, int] = {}
for _group, _words in GROUPS.items():
    for _word in _words.encode().split():
        _GROUPS_BY_WORD[_word] = _GROUPS_BY_WORD.get(_word, 0) | GROUP_BITS[_group]

_WORD_REGEX = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LETTERS = bytes(code if code > 127 or chr(code).isalpha() else 32 for code in range(256))
_MAX_NAME_BYTES = 300


def find_groups(names: bytes) -> int:
    """Return the groups of the words in names, as one bit for each group. Only the first 300 bytes (UTF-8) are read.

    >>> find_groups(b"siteNav main-menu") == GROUP_BITS["nav"] | GROUP_BITS["content"]
    True
    """
    names = names[:_MAX_NAME_BYTES]
    words = names.translate(_LETTERS).split() if names.islower() else map(bytes.lower, _WORD_REGEX.findall(names))
    bits = 0
    for word in words:
        bits |= _GROUPS_BY_WORD.get(word, 0)
    return bits
