"""Read the posts of WordPress by its REST API.

A site is read once from its first post to its last. After that each run requests two windows of time, which overlap the
last run: posts by date, and posts by time of change. A scheduled post has an old time of change, and one published
later an old date; each is in one of the windows. A post that is back-dated when it is created is in neither, as its
time of change is its date: so posts with new numbers are requested, too. `wordpress_gone` finds deleted posts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from windrow.collections.news import wordpress_gone
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.feed import RefusedReply, parse_reply, strip_html, texts_in
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

POSTS = "wordpress.posts"
NAMESPACE = "wp-json/wp/v2/posts"
_PER_PAGE = 100
_EMBEDDED = "_embed=author,wp:term,wp:featuredmedia"
_INVALID_PAGE = "rest_post_invalid_page_number"
_MAX_ROUNDS = 3  # readings of one list, if posts are removed from it meanwhile
_MAX_PAGES = 100_000
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class PostList:
    """The state of reading a list of posts, page by page: of all posts, or of those in a window."""

    mode: str  # all, date, modified or id
    start: str = ""  # of the window, or of the range; for mode id, the highest known number and its time
    end: str = ""
    page: int = 1
    began: str = ""  # when the first page was requested
    total: int = -1
    last: str = ""  # numbers on the previous page
    shrunk: bool = False
    round: int = 1

    def query(self) -> str:
        """Return the query of the current page."""
        column = self.mode if self.mode in {"modified", "id"} else "date"
        words = [f"per_page={_PER_PAGE}", f"page={self.page}", f"orderby={column}"]
        words.append(f"order={'asc' if self.mode == 'all' else 'desc'}")
        if self.start:
            names = {"modified": "modified_after", "id": "known"}  # `known` is ignored; it makes the address new
            words.append(f"{names.get(self.mode, 'after')}={self.start}")
        if self.end:
            words.append(f"before={self.end}")
        if self.round > 1:
            words.append(f"round={self.round}")
        return "&".join((*words, _EMBEDDED))

    def request(self, api: str) -> Request:
        """Request the current page."""
        mark = "&" if "?" in api else "?"
        priority = 1 if self.page == 1 else 0
        return Request(f"{api}{mark}{self.query()}", POSTS, priority=priority, context=json.dumps(vars(self)))


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request all posts until all were read, then the windows of new and changed ones."""
    path = learned.get("api") or NAMESPACE
    api = path if "://" in path else f"{source.site.address('').rstrip('/')}/{path}"
    options = source.options
    day_range = f"{options['since']}..{options['until']}"
    if learned.get("range") != day_range:
        start = f"{options['since']}T00:00:00" if options["since"] else ""
        end = f"{options['until']}T23:59:59" if options["until"] else ""
        return (PostList("all", start, end).request(_with_attempt(api, learned)),)
    if options["until"]:
        return ()
    overlap = _overlap(source)
    starts = {mode: _before_overlap(learned[f"upto.{mode}"], overlap) for mode in ("date", "modified")}
    starts["id"] = f"{learned.get('top', 0)}.{learned['upto.date'][:19]}"
    windows = (PostList(mode, start).request(_with_attempt(api, learned)) for mode, start in starts.items())
    return (*windows, wordpress_gone.begin(source, api))


def _with_attempt(api: str, learned: Mapping[str, Any]) -> str:
    """Return an address, changed if it was refused earlier, since an address with a response is not requested again."""
    tries = learned.get("tries", 0)
    return f"{api}{'&' if '?' in api else '?'}attempt={tries}" if tries else api


def _overlap(source: Source) -> timedelta:
    """Return the time by which a window overlaps the previous one; at least one second."""
    return max(timedelta(seconds=float(source.options["overlap"])), _SECOND)


def _before_overlap(upto: str, overlap: timedelta) -> str:
    return (datetime.fromisoformat(upto) - overlap).strftime("%Y-%m-%dT%H:%M:%S")


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the posts of a page, and request the next one until the last."""
    if answer.request.name == wordpress_gone.NUMBERS:
        return wordpress_gone.follow_numbers(learned, answer)
    if answer.request.name == wordpress_gone.BY_NUMBER:
        return _follow_by_number(learned, answer)
    context: dict[str, Any] = json.loads(answer.request.context) if answer.request.context else {"mode": "all"}
    listing = PostList(**context)
    api = answer.request.url.partition("per_page=")[0].rstrip("?&")
    content = parse_reply(answer.status, answer.fields, answer.view.read())
    if isinstance(content, RefusedReply) and content.code == _INVALID_PAGE and listing.page > 1:
        return _finish_list(source, listing, answer, (), "the previous page was the last")
    if isinstance(content, RefusedReply) or not isinstance(content, list):
        refused = (
            content
            if isinstance(content, RefusedReply)
            else RefusedReply(Reason.NOT_VALID, "the response is not a list of posts")
        )
        return _try_elsewhere(source, learned, api, refused)
    posts = [post for post in content if isinstance(post, dict)]
    numbers = [post["id"] for post in posts if isinstance(post.get("id"), int)]
    top = {"top": max([learned.get("top", 0), *numbers]), **wordpress_gone.learned_numbers(learned, numbers)}
    offers = tuple({key: Offering(key) for key in map(_post_version, posts)}.values())
    numbers_text = ",".join(str(post.get("id")) for post in posts)[:2000]
    total, pages = _count_header(answer.fields, "x-wp-total"), _count_header(answer.fields, "x-wp-totalpages")
    listing = PostList(**{
        **vars(listing), "began": listing.began or answer.at.isoformat(), "total": total,
        "shrunk": listing.shrunk or 0 <= total < listing.total,
    })  # fmt: skip
    is_last = 0 <= pages <= listing.page  # without this header the list ends with a page that is empty or refused
    if not posts or is_last or numbers_text == listing.last or _is_before(posts, listing) or listing.page >= _MAX_PAGES:
        end = "an empty page" if not posts else "the last page" if is_last else "the rest is older or known"
        finished = _finish_list(source, listing, answer, offers, end)
        return replace(finished, learned={**finished.learned, **top})
    next_list = PostList(**{**vars(listing), "page": listing.page + 1, "last": numbers_text})
    return FollowResult((next_list.request(api),), offers, top)


def _follow_by_number(learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the posts that exist, and remove the numbers of the others."""
    content = parse_reply(answer.status, answer.fields, answer.view.read())
    if not isinstance(content, list):
        refused = (
            content
            if isinstance(content, RefusedReply)
            else RefusedReply(Reason.NOT_VALID, "the response is not a list of posts")
        )
        return FollowResult(skip=refused.reason, findings=(Finding("Refused", refused.message, Level.WARN),))
    posts = [post for post in content if isinstance(post, dict)]
    existing = {post["id"] for post in posts if isinstance(post.get("id"), int)}
    missing = set(wordpress_gone.requested_numbers(answer.request)) - existing
    offers = tuple({key: Offering(key) for key in map(_post_version, posts)}.values())
    return FollowResult(
        (), offers, wordpress_gone.learned_numbers(learned, existing, missing), end=f"{len(missing)} are gone"
    )


def _finish_list(
    source: Source, listing: PostList, answer: Answer, offers: tuple[Offering, ...], end: str
) -> FollowResult:
    """Remember the time up to which posts were read, or read the list again if posts were removed from it meanwhile."""
    if listing.shrunk and listing.round < _MAX_ROUNDS:
        api = answer.request.url.partition("per_page=")[0].rstrip("?&")
        next_list = PostList(listing.mode, listing.start, listing.end, round=listing.round + 1)
        return FollowResult((next_list.request(api),), offers)
    began = listing.began or answer.at.isoformat()
    if listing.mode == "all":
        day_range = f"{source.options['since']}..{source.options['until']}"
        return FollowResult((), offers, {"range": day_range, "upto.date": began, "upto.modified": began}, end=end)
    return FollowResult((), offers, {f"upto.{listing.mode}": _window_end(source, listing, began)}, end=end)


def _window_end(source: Source, listing: PostList, began: str) -> str:
    """Return the end of a window, so late that the next one starts at least a second later than this one.

    Otherwise the next window could have the same address, which is not requested again.
    """
    overlap = _overlap(source)
    if listing.mode == "id" or _before_overlap(began, overlap) > listing.start:
        return began
    return (datetime.fromisoformat(f"{listing.start}+00:00") + overlap + _SECOND).isoformat()


def _try_elsewhere(source: Source, learned: Mapping[str, Any], api: str, refused: RefusedReply) -> FollowResult:
    """Try the other address of the API if a site refuses this one, and then its feed."""
    finding = Finding("Refused", refused.message, Level.WARN)
    if "rest_route=" not in api and "upto.date" not in learned:
        other_form = {"api": "?rest_route=/wp/v2/posts"}
        return FollowResult(
            begin(source, {**learned, **other_form}), skip=refused.reason, findings=(finding,), learned=other_form
        )
    tries = learned.get("tries", 0) + 1
    if "upto.date" not in learned and refused.reason in {Reason.PERMISSION_DENIED, Reason.NOT_FOUND, Reason.BOT_WALL}:
        return FollowResult(
            skip=refused.reason,
            findings=(finding,),
            learned={"kind": "feed", "closed": True, "tries": tries},
            end="the API of the site is not available; from the next run on, its feed is read",
        )
    return FollowResult(skip=refused.reason, findings=(finding,), learned={"tries": tries})


def _is_before(posts: Sequence[Mapping[str, Any]], listing: PostList) -> bool:
    """Return whether a page has posts from before the window, as from a server that ignores its parameter."""
    if listing.mode == "all" or not listing.start:
        return False
    if listing.mode == "id":
        highest_known = int(listing.start.partition(".")[0])
        return any(isinstance(post.get("id"), int) and post["id"] <= highest_known for post in posts)
    column = "modified_gmt" if listing.mode == "modified" else "date_gmt"
    times = [str(post.get(column) or post.get(column[:-4]) or "") for post in posts]
    # A date without one in UTC is in the zone of the site.
    earliest = (datetime.fromisoformat(listing.start) - timedelta(days=1)).isoformat()
    return all(time < earliest for time in times)


def _count_header(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def _post_version(post: Mapping[str, Any]) -> str:
    return f"{str(post.get('id'))[:40]}@{str(post.get('modified_gmt') or post.get('modified'))[:40]}"


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield an article for each post, and a skip for each that is not public or not an article."""
    posts = parse_reply(200, task.fields, task.view.read())
    request = task.request
    if not isinstance(posts, list) or request is None or request.name == wordpress_gone.NUMBERS:
        return
    seen: set[str] = set()
    zone = task.source.options["timezone"] if task.source else ""
    for post in posts:
        if not isinstance(post, dict):
            yield Skip(Reason.NOT_VALID, "", "a post is not a JSON object")
            continue
        url = str(post.get("link") or "")
        number = str(post.get("id"))
        if number in seen:
            yield Skip(Reason.LISTED_TWICE, f"post {number}", url)
            continue
        seen.add(number)
        kind, status = str(post.get("type", "post")), str(post.get("status", "publish"))
        if kind != "post":
            yield Skip(Reason.NOT_WANTED, url or f"post {number}", f"type {kind[:40]}")
        elif status != "publish":
            yield Skip(Reason.NOT_WANTED, url or f"post {number}", f"status {status[:40]}")
        elif _rendered(post, "content", "protected") is True:
            yield Skip(Reason.PASSWORD_PROTECTED, url or f"post {number}")
        else:
            name = wordpress_gone.post_name(request.url, number)
            yield article_observation(_build_article(post, url, name, zone), zone, task.visited)
    if request.name == wordpress_gone.BY_NUMBER:
        yield from wordpress_gone.missing_posts(request, posts)


def _build_article(post: Mapping[str, Any], url: str, name: str, zone: str) -> FoundArticle:
    embedded = post.get("_embedded")
    embedded_objects = embedded if isinstance(embedded, dict) else {}
    yoast = post.get("yoast_head_json")
    head = yoast if isinstance(yoast, dict) else {}
    excerpt = strip_html(_rendered(post, "excerpt")).removesuffix("[…]").removesuffix("[...]").strip()
    return FoundArticle(
        url=url,
        kind="wordpress",
        title=strip_html(_rendered(post, "title")),
        html=_rendered(post, "content") if isinstance(_rendered(post, "content"), str) else "",
        base=url,
        date=_date(post, "date", zone),
        authors=_authors(embedded_objects) or texts_in(head.get("author")),
        keywords=_terms(embedded_objects) or _slugs(post),
        image=_image(embedded_objects, head, post),
        excerpt=excerpt,
        metadata={
            "wp_post_id": post.get("id"), "wp_post_type": str(post.get("type", "post")),
            "modified_date": _date(post, "modified", zone),
        },
        name=name,
        modified=_date(post, "modified", zone),
    )  # fmt: skip


def _rendered(post: Mapping[str, Any], name: str, part: str = "rendered") -> Any:
    content = post.get(name)
    if isinstance(content, dict):
        return content.get(part, "")
    return content if part == "rendered" and isinstance(content, str) else ""


def _date(post: Mapping[str, Any], name: str, zone: str) -> str:
    """Return a post's date in UTC, or the local one if that in UTC is missing or, with a `timezone`, equals it."""
    local, gmt = post.get(name), post.get(f"{name}_gmt")
    local = local if isinstance(local, str) else ""
    if not isinstance(gmt, str) or not gmt or gmt.startswith("0000"):
        return local
    if zone and gmt == local:
        return local
    return gmt if gmt.endswith("Z") or "+" in gmt else f"{gmt}Z"


def _authors(embedded: Mapping[str, Any]) -> list[str]:
    people = embedded.get("author")
    people = [person for person in people if isinstance(person, dict)] if isinstance(people, list) else []
    return [strip_html(user["name"]) for user in people if isinstance(user.get("name"), str) and "code" not in user]


def _terms(embedded: Mapping[str, Any]) -> list[str]:
    groups = embedded.get("wp:term")
    terms = [term for group in groups if isinstance(group, list) for term in group] if isinstance(groups, list) else []
    return [strip_html(term["name"]) for term in terms if isinstance(term, dict) and isinstance(term.get("name"), str)]


def _slugs(post: Mapping[str, Any]) -> list[str]:
    """Return the categories and tags in a post's CSS classes, for posts without embedded names."""
    classes = texts_in(post.get("class_list"))
    slugs = [name.partition("-")[2] for name in classes if name.startswith(("category-", "tag-"))]
    return [slug.replace("-", " ") for slug in slugs]


def _image(embedded: Mapping[str, Any], head: Mapping[str, Any], post: Mapping[str, Any]) -> str:
    media = embedded.get("wp:featuredmedia")
    featured = media[0] if isinstance(media, list) and media and isinstance(media[0], dict) else {}
    pictures = head.get("og_image")
    open_graph = pictures[0] if isinstance(pictures, list) and pictures and isinstance(pictures[0], dict) else {}
    addresses = (featured.get("source_url"), open_graph.get("url"), post.get("jetpack_featured_media_url"))
    return next((address for address in addresses if isinstance(address, str) and address), "")
