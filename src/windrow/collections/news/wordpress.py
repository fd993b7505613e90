"""Read the posts of WordPress through its REST API.

A site is read once from its first post to its last. After that, each run requests the posts of two windows of time that
overlap the last run: by date, and by time of change. A scheduled post has an old time of change; a draft that is
published later has an old date. Each of them is in one of the windows. A post that is back-dated when it is created is
in neither window, because its time of change is its date. So posts with new numbers are requested, too.
`wordpress_gone` finds deleted posts.

`learned` is what the ledger remembers about a source. `upto.MODE` is the time up to which posts were read in a mode,
`top` is the highest number, `tries` is how often a list could not be read, `range` has the days that were read, and
`api` is the address of the API, and `first_api` the one that was refused first. `kind` is the kind of the site, and
`closed` is set if the site refuses its API.
`learned` also has blocks of known numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from windrow.caps import LIST_ROUNDS, POST_PAGES, Excess
from windrow.collections.news import wordpress_gone
from windrow.collections.news.article import FoundArticle, article_observation, separate_claim
from windrow.collections.news.feed import RefusedResponse, parse_response, strip_html, texts_in
from windrow.collections.news.wanted_paths import find_refusal
from windrow.content.head import unique_keywords
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task, count_excess
from windrow.formats.json_names import PERSON_KEYS, TOPIC_KEYS, find_names
from windrow.formats.text import counted
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

POSTS = "wordpress.posts"
_API_PATH = "wp-json/wp/v2/posts"
_POSTS_PER_PAGE = 100
_EMBED_PARAMETER = "_embed=author,wp:term,wp:featuredmedia"
_INVALID_PAGE_CODE = "rest_post_invalid_page_number"
_MAX_ROUNDS = LIST_ROUNDS.number  # a list is read at most this often, if posts are removed meanwhile
_MAX_PAGES = POST_PAGES.number
_WORD = re.compile(r"\w+")
_NOT_IN_CLASS = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9_-]")  # what WordPress leaves out of a slug in a class
_SECOND = timedelta(seconds=1)
_DAY = 86_400  # in seconds
_NOT_A_LIST = RefusedResponse(Reason.NOT_VALID, "the response is not a list of posts")


@dataclass(frozen=True)
class PostList:
    """How far a list of all posts, or of the posts of a window, was read. The ledger stores it with each request."""

    mode: str  # all posts, or those of a window: all, date, modified or id
    start: str = ""  # ISO time from which posts are requested; in mode id: HIGHEST KNOWN NUMBER.TIME
    end: str = ""  # ISO time up to which posts are requested
    page: int = 1
    began: str = ""  # time of the request for the first page
    total: int = -1  # posts in the list, or -1 if it is not known
    size: int = 0  # the most posts on a page so far
    last: str = ""  # the numbers of the posts on the previous page
    shrunk: bool = False  # whether the total fell while the list was read
    round: int = 1  # how many times the list has been begun

    def query(self) -> str:
        """Return the query of the address of the current page."""
        column = self.mode if self.mode in {"modified", "id"} else "date"
        parameters = [f"per_page={_POSTS_PER_PAGE}", f"page={self.page}", f"orderby={column}"]
        parameters.append(f"order={'asc' if self.mode == 'all' else 'desc'}")
        if self.start:
            parameter_names = {"modified": "modified_after", "id": "known"}  # `known` only makes the address new
            parameters.append(f"{parameter_names.get(self.mode, 'after')}={self.start}")
        if self.end:
            parameters.append(f"{'modified_before' if self.mode == 'modified' else 'before'}={self.end}")
        if self.round > 1:
            parameters.append(f"round={self.round}")
        return "&".join((*parameters, _EMBED_PARAMETER))

    def request(self, api: str) -> Request:
        """Return the request for the current page; `api` is the address of the posts in the API."""
        separator = "&" if "?" in api else "?"
        priority = 1 if self.page == 1 else 0
        return Request(f"{api}{separator}{self.query()}", POSTS, priority=priority, context=json.dumps(vars(self)))


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Request all posts until all have been read. Then request new and changed posts and the numbers of all posts.

    If `until` is set, request nothing once all posts have been read.
    """
    path = learned.get("api") or _API_PATH
    api = path if "://" in path else f"{source.site.address('').rstrip('/')}/{path}"
    options = source.options
    day_range = f"{options['since']}..{options['until']}"
    if learned.get("range") != day_range:
        return (_first_list(source, PostList("all")).request(_with_attempt(api, learned)),)
    if options["until"]:
        return ()
    overlap = _overlap(source)
    starts = {mode: _before_overlap(learned[f"upto.{mode}"], overlap) for mode in ("date", "modified")}
    starts["id"] = f"{learned.get('top', 0)}.{learned['upto.date'][:19]}"
    windows = (PostList(mode, start).request(_with_attempt(api, learned)) for mode, start in starts.items())
    return (*windows, wordpress_gone.begin(source, api))


def request_closed_api(source: Source, learned: Mapping[str, Any]) -> Request:
    """Return the request, sent again once a day, for the API of a site that refused it, so that its feed is read."""
    (request,) = begin(source, learned)
    return request._replace(every=_DAY, is_guess=True)


def _first_list(source: Source, listing: PostList) -> PostList:
    """Return the beginning of the list that `listing` continues: its first page, with its first bounds."""
    if listing.mode != "all":
        return PostList(listing.mode, listing.start)
    return PostList(
        "all", wordpress_gone.second_before(source.options["since"]), _second_after(source.options["until"])
    )


def _second_after(day: str) -> str:
    """Return the first second after a day as ISO 8601, because `before` excludes the given time; "" without a day."""
    if not day:
        return ""
    next_day = min(date.fromisoformat(day), date.max - timedelta(days=1)) + timedelta(days=1)
    return f"{next_day.isoformat()}T00:00:00"


def _with_attempt(api: str, learned: Mapping[str, Any]) -> str:
    """Return `api`, with the number `tries` from `learned` added if it is above 0, so that the address is new."""
    refusals = learned.get("tries", 0)
    return f"{api}{'&' if '?' in api else '?'}attempt={refusals}" if refusals else api


def _overlap(source: Source) -> timedelta:
    return max(timedelta(seconds=float(source.options["overlap"])), _SECOND)


def _before_overlap(end: str, overlap: timedelta) -> str:
    return (datetime.fromisoformat(end) - overlap).strftime("%Y-%m-%dT%H:%M:%S")


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the posts of a page, and request the next page unless it would have no posts, or only older or known ones.

    A list whose next page cannot be requested is continued by time. A response that cannot be used is refused; another
    address of the API may then be requested. `wordpress_gone` follows the lists of numbers.
    """
    if answer.request.name == wordpress_gone.NUMBERS:
        return wordpress_gone.follow_numbers(source, learned, answer)
    if answer.request.name == wordpress_gone.BY_NUMBER:
        return _follow_by_number(learned, answer)
    context: dict[str, Any] = json.loads(answer.request.context) if answer.request.context else {"mode": "all"}
    listing = PostList(**context)
    api = answer.request.url.partition("per_page=")[0].rstrip("?&")
    content = parse_response(answer.status, answer.fields, answer.view.read())
    if isinstance(content, RefusedResponse) and content.code == _INVALID_PAGE_CODE and listing.page > 1:
        return _finish_list(source, listing, answer, (), "the previous page was the last")
    if isinstance(content, RefusedResponse) or not isinstance(content, list):
        refused = content if isinstance(content, RefusedResponse) else _NOT_A_LIST
        if listing.page > 1:  # the address of the API is good; another `tries` begins the list again
            return _refuse(refused, {"tries": learned.get("tries", 0) + 1})
        return _try_elsewhere(source, learned, api, refused)
    posts = [post for post in content if isinstance(post, dict)]
    numbers = [post["id"] for post in posts if isinstance(post.get("id"), int)]
    learned_now = {"top": max([learned.get("top", 0), *numbers]), **wordpress_gone.learned_numbers(learned, numbers)}
    if learned.get("closed"):
        learned_now |= {"closed": False, "kind": "wordpress"}
    offers = tuple({key: Offering(key) for key in map(_post_version, posts)}.values())
    total, pages = (wordpress_gone.count_field(answer.fields, f"x-wp-total{suffix}") for suffix in ("", "pages"))
    shrunk = listing.shrunk or 0 <= total < listing.total
    listing = replace(
        listing, began=listing.began or answer.at.isoformat(), total=total, size=max(listing.size, len(posts)),
        shrunk=shrunk,
    )  # fmt: skip
    is_repeated = bool(posts) and _numbers_text(posts) == listing.last
    # Without the header an empty or refused page follows the last one.
    is_last = 0 <= pages <= listing.page and not is_repeated and not (not posts and 0 < pages == listing.page)
    why_ended = (
        "the last page" if is_last else "an empty page" if not posts and pages < 0
        else "the later pages are older or known" if not is_repeated and _reaches_window_end(posts, listing) else ""
    )  # fmt: skip
    if why_ended:
        continued = _finish_list(source, listing, answer, offers, why_ended)
    elif is_repeated or not posts or listing.page >= _MAX_PAGES:
        continued = _continue_by_time(source, listing, answer, posts, offers)
    else:
        continued = FollowResult(
            (replace(listing, page=listing.page + 1, last=_numbers_text(posts)).request(api),), offers
        )
    if continued.skip is not None or "range" in continued.learned:  # a list that is begun again needs another address
        learned_now["tries"] = learned.get("tries", 0) + 1
    return replace(continued, learned={**continued.learned, **learned_now})


def _numbers_text(posts: Sequence[Mapping[str, Any]]) -> str:
    return ",".join(map(_post_name, posts))[:2000]


def _continue_by_time(
    source: Source, listing: PostList, answer: Answer, posts: Sequence[Mapping[str, Any]], offers: tuple[Offering, ...]
) -> FollowResult:  # fmt: skip
    """Request the rest of a list by the time of its last post, because its next page cannot be requested.

    If that would request the same list again, the list is finished if this page is not full. Otherwise it is refused,
    and the next run begins it again.
    """
    start, end = _bounds_after(listing, posts)
    if (start, end) != (listing.start, listing.end):
        continued = replace(listing, start=start, end=end, page=1, total=-1, last=_numbers_text(posts))
        api = answer.request.url.partition("per_page=")[0].rstrip("?&")
        return FollowResult((continued.request(api),), offers)
    if posts and listing.page < _MAX_PAGES and len(posts) < max(listing.size, 2):
        return _finish_list(source, listing, answer, offers, "the page has the posts of the previous one")
    message = (
        f"page {listing.page:,} has the posts of the previous one" if posts and _numbers_text(posts) == listing.last
        else f"page {listing.page:,} is empty, although it is not the last one" if not posts
        else f"the list has more than {_MAX_PAGES:,} pages"
    )  # fmt: skip
    finding = Finding("Refused", f"{message}; the next run begins the list again")
    return FollowResult((), offers, skip=Reason.CRAWLER_TRAP, findings=(finding,))


def _bounds_after(listing: PostList, posts: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return (start, end) of the part of a list that follows `posts`, with a second of overlap.

    The bounds do not change if the list is ordered by number, if there are no posts, or if a post has no valid time.
    """
    column = "modified" if listing.mode == "modified" else "date"
    try:
        times = sorted(datetime.fromisoformat(str(post.get(column))[:19]) for post in posts)
        if listing.mode == "all":
            return (times[-1] - _SECOND).isoformat(), listing.end
        if listing.mode != "id":
            return listing.start, (times[0] + _SECOND).isoformat()
    except (ValueError, IndexError, OverflowError):
        pass
    return listing.start, listing.end


def _follow_by_number(learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    content = parse_response(answer.status, answer.fields, answer.view.read())
    if not isinstance(content, list):
        refused = content if isinstance(content, RefusedResponse) else _NOT_A_LIST
        return _refuse(refused)
    posts = [post for post in content if isinstance(post, dict)]
    missing = wordpress_gone.missing_numbers(answer.request, answer.fields, posts)
    offers = tuple({key: Offering(key) for key in map(_post_version, posts)}.values())
    learned_now = wordpress_gone.learned_numbers(learned, wordpress_gone.numbers_of(posts), missing or ())
    if missing is None:
        requests = wordpress_gone.remaining_posts(answer.request, posts, f"{answer.at.timestamp():.0f}")
        message = "the response has fewer posts than its header states; the others are not gone"
        findings = () if requests else (Finding("Refused", message, Level.WARN),)
        return FollowResult(
            requests, offers, learned_now, findings=findings, skip=None if requests else Reason.TRUNCATED
        )
    return FollowResult((), offers, learned_now, end=f"{counted(len(missing), 'post')} gone")


def _finish_list(
    source: Source, listing: PostList, answer: Answer, offers: tuple[Offering, ...], why_ended: str
) -> FollowResult:
    """Finish a list and remember the time up to which it was read.

    If posts were removed in the meantime, begin it again instead, unless it has been begun _MAX_ROUNDS times already.
    """
    if listing.shrunk and listing.round < _MAX_ROUNDS:
        api = answer.request.url.partition("per_page=")[0].rstrip("?&")
        next_list = replace(_first_list(source, listing), round=listing.round + 1)
        return FollowResult((next_list.request(api),), offers)
    left_out = count_excess([Excess(LIST_ROUNDS, 1)] if listing.shrunk else (), answer.request.url)
    began = listing.began or answer.at.isoformat()
    learned_now = {f"upto.{listing.mode}": _window_end(source, listing, began)}
    if listing.mode == "all":
        day_range = f"{source.options['since']}..{source.options['until']}"
        learned_now = {"range": day_range, "upto.date": began, "upto.modified": began}
    return FollowResult((), offers, learned_now, end=why_ended, left_out=left_out)


def _window_end(source: Source, listing: PostList, began: str) -> str:
    """Return the time up to which a window was read, as ISO 8601. `began` is when its first page was requested.

    The time is late enough for the next window to start later than this one. Otherwise both would have the same
    address, and each address is requested once.
    """
    overlap = _overlap(source)
    if listing.mode == "id" or _before_overlap(began, overlap) > listing.start:
        return began
    return (datetime.fromisoformat(f"{listing.start}+00:00") + overlap + _SECOND).isoformat()


def _try_elsewhere(source: Source, learned: Mapping[str, Any], api: str, refused: RefusedResponse) -> FollowResult:
    """Refuse a response; request the second address of the API if the first was refused.

    If the second is refused, too, for a reason that may last, later runs read the feed of the site, until the API gives
    posts. For another reason, or if all posts were read before, nothing else is requested, and later runs try the same
    address again.
    """
    if learned.get("closed"):
        return _refuse(refused)
    if "rest_route=" not in api and "upto.date" not in learned:
        other_form = {"api": "?rest_route=/wp/v2/posts", "first_api": api}
        return replace(_refuse(refused, other_form), requests=begin(source, {**learned, **other_form}))
    refusals = learned.get("tries", 0) + 1
    if "upto.date" not in learned and refused.reason in {Reason.PERMISSION_DENIED, Reason.NOT_FOUND, Reason.BOT_WALL}:
        end = "the API of the site is not available; from the next run on, its feed is read"
        closed = {"kind": "feed", "closed": True, "api": learned.get("first_api", ""), "tries": refusals}
        return replace(_refuse(refused, closed), end=end)
    return _refuse(refused, {"tries": refusals})


def _refuse(refused: RefusedResponse, learned: Mapping[str, Any] | None = None) -> FollowResult:
    finding = Finding("Refused", refused.message, Level.WARN)
    return FollowResult(skip=refused.reason, findings=(finding,), learned=learned or {})


def _reaches_window_end(posts: Sequence[Mapping[str, Any]], listing: PostList) -> bool:
    """Return whether a window ends on a page: all posts on it precede the window or, in mode id, a number is known."""
    if listing.mode == "all" or not listing.start:
        return False
    if listing.mode == "id":
        highest_known = int(listing.start.partition(".")[0])
        return any(isinstance(post.get("id"), int) and post["id"] <= highest_known for post in posts)
    column = "modified_gmt" if listing.mode == "modified" else "date_gmt"
    times = [str(post.get(column) or post.get(column[:-4]) or "") for post in posts]
    # A post without a time in UTC has one in the zone of the site, so a difference of a day is allowed.
    earliest = (datetime.fromisoformat(listing.start) - timedelta(days=1)).isoformat()
    return bool(times) and all(time < earliest for time in times)


def _post_version(post: Mapping[str, Any]) -> str:
    return f"{_post_name(post)[:200]}@{str(post.get('modified_gmt') or post.get('modified'))[:40]}"


def _post_name(post: Mapping[str, Any]) -> str:
    """Return the number of a post or, on sites that leave numbers out, its address; "" if it has neither."""
    return str(post.get("id") or post.get("link") or "")


def read(task: Task) -> Iterator[Observation | Skip]:
    """Yield an observation or a skip for each post, and an observation for each requested post that is gone.

    Yield nothing for a list of numbers.
    """
    posts = parse_response(200, task.fields, task.view.read())
    request = task.request
    if not isinstance(posts, list) or request is None or request.name == wordpress_gone.NUMBERS:
        return
    seen_names: set[str] = set()
    zone = task.source.options["timezone"] if task.source else ""
    for post in posts:
        if not isinstance(post, dict):
            yield Skip(Reason.NOT_VALID, "", "a post is not a JSON object")
            continue
        url = str(post.get("link") or "")
        name = _post_name(post)
        if name and name in seen_names:
            yield Skip(Reason.LISTED_TWICE, f"post {name}", url)
            continue
        seen_names.add(name)
        post_type, status = str(post.get("type", "post")), str(post.get("status", "publish"))
        if post_type != "post":
            yield Skip(Reason.NOT_WANTED, url or f"post {name}", f"its type is {post_type[:40]}, not post")
        elif status != "publish":
            yield Skip(Reason.NOT_WANTED, url or f"post {name}", f"its status is {status[:40]}, not publish")
        elif rule := find_refusal(url, task.source.options if task.source else {}):
            yield Skip(Reason.NOT_WANTED, url, rule)
        elif _field_part(post, "content", "protected") is True:
            yield Skip(Reason.PASSWORD_PROTECTED, url or f"post {name}")
        else:
            lasting_name = wordpress_gone.post_name(request.url, name) if post.get("id") else ""
            article = separate_claim(_build_article(post, url, lasting_name, zone), task)
            yield article_observation(article, zone, task.visited)
    if request.name == wordpress_gone.BY_NUMBER:
        yield from wordpress_gone.missing_posts(request, task.fields, posts)


def _build_article(post: Mapping[str, Any], url: str, lasting_name: str, zone: str) -> FoundArticle:
    embedded = post.get("_embedded")
    embedded_objects = embedded if isinstance(embedded, dict) else {}
    head = post.get("yoast_head_json")
    yoast = head if isinstance(head, dict) else {}
    excerpt = strip_html(_field_part(post, "excerpt")).removesuffix("[…]").removesuffix("[...]").strip()
    return FoundArticle(
        url=url,
        kind="wordpress",
        title=strip_html(_field_part(post, "title")),
        html=_field_part(post, "content") if isinstance(_field_part(post, "content"), str) else "",
        base_url=url,
        date=_date(post, "date", zone),
        authors=next(filter(None, (_person_names(part.get("author")) for part in (embedded_objects, yoast))), []),
        keywords=_keywords(post, embedded_objects, yoast),
        image_url=_image_url(embedded_objects, yoast, post),
        excerpt=excerpt,
        metadata={
            "wp_post_id": post.get("id"), "wp_post_type": str(post.get("type", "post")),
            "modified_date": _date(post, "modified", zone),
        },
        lasting_name=lasting_name,
        modified=_date(post, "modified", zone),
    )  # fmt: skip


def _field_part(post: Mapping[str, Any], name: str, part: str = "rendered") -> Any:
    """Return a part of a field of a post, or an empty text. A field that is a text has only the part `rendered`."""
    content = post.get(name)
    if isinstance(content, dict):
        return content.get(part, "")
    return content if part == "rendered" and isinstance(content, str) else ""


def _date(post: Mapping[str, Any], name: str, zone: str) -> str:
    """Return the time `name` (date or modified) of a post as ISO 8601: in UTC or, if that is missing, in local time.

    If there is a `zone` and both times are equal, the local time is returned, because the site then has no time in UTC.
    """
    local, gmt = post.get(name), post.get(f"{name}_gmt")
    local = local if isinstance(local, str) else ""
    if not isinstance(gmt, str) or not gmt or gmt.startswith("0000"):
        return local
    if zone and gmt == local:
        return local
    return gmt if gmt.endswith("Z") or "+" in gmt else f"{gmt}Z"


def _person_names(people: Any) -> list[str]:
    return list(filter(None, map(strip_html, find_names(people, PERSON_KEYS))))


def _keywords(post: Mapping[str, Any], embedded: Mapping[str, Any], yoast: Mapping[str, Any]) -> list[str]:
    """Return the names of a post's categories and tags, and what Yoast states beside them, each once ignoring case.

    A term that is not embedded, for example because the site refuses the list of tags, is in the post's classes: by its
    slug without other letters than Latin ones, or by its number if nothing else is left of the slug.
    """
    groups = embedded.get("wp:term")
    terms = [term for group in groups if isinstance(group, list) for term in group] if isinstance(groups, list) else []
    named_terms = [term for term in terms if isinstance(term, dict) and isinstance(term.get("name"), str)]
    names = [strip_html(term["name"]) for term in named_terms]
    slugs = {_NOT_IN_CLASS.sub("", str(term.get("slug"))) for term in named_terms}
    words = {" ".join(_WORD.findall(name.casefold())) for name in names}
    for name in texts_in(post.get("class_list")):
        prefix, _, slug = name.partition("-")
        spaced = slug.replace("-", " ")
        if prefix in {"category", "tag"} and slug not in slugs and spaced not in words and not slug.isdecimal():
            names.append(spaced)
    schema = yoast.get("schema")
    nodes = schema.get("@graph") if isinstance(schema, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict):
            names += [
                strip_html(text)
                for key in ("keywords", "articleSection")
                for text in find_names(node.get(key), TOPIC_KEYS)
            ]
    return list(unique_keywords(names))


def _image_url(embedded: Mapping[str, Any], yoast: Mapping[str, Any], post: Mapping[str, Any]) -> str:
    media = embedded.get("wp:featuredmedia")
    featured = media[0] if isinstance(media, list) and media and isinstance(media[0], dict) else {}
    pictures = yoast.get("og_image")
    open_graph = pictures[0] if isinstance(pictures, list) and pictures and isinstance(pictures[0], dict) else {}
    addresses = (featured.get("source_url"), open_graph.get("url"), post.get("jetpack_featured_media_url"))
    return next((address for address in addresses if isinstance(address, str) and address), "")
