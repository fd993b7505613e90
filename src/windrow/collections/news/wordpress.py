"""WordPress: the posts that its REST interface lists, and what each says.

A site is read once from its first post to its last. From then on each run asks for two windows of time, which reach
behind the last run: posts dated in it, and posts changed in it. A post that was scheduled has an old time of change,
one that was published later an old date; each is in one of them. One that is back-dated when it is made is in neither,
since WordPress gives it its own date as the time of its change: so posts with new numbers are asked for, too. What
went is found by `wordpress_gone`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from windrow.collections.news import wordpress_gone
from windrow.collections.news.article import FoundArticle, article_observation
from windrow.collections.news.feed import RefusedReply, plain, reply, texts
from windrow.contract import Answer, FollowResult, Observation, Offering, Request, Skip, Task
from windrow.model import Finding, Level, Source
from windrow.reasons import Reason

POSTS = "wordpress.posts"
NAMESPACE = "wp-json/wp/v2/posts"
_PER_PAGE = 100
_EMBEDDED = "_embed=author,wp:term,wp:featuredmedia"
_BEYOND = "rest_post_invalid_page_number"
_ROUNDS = 3  # readings of one list, where posts go from it meanwhile
_MOST = 100_000  # pages
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class PostList:
    """One reading of a list of posts from its first page to its last: all, or those of a window of time."""

    mode: str  # all, date, modified or id
    start: str = ""  # of the window, or of the range; of numbers, the highest that is known, and when that was
    end: str = ""
    page: int = 1
    began: str = ""  # when the first page was asked for
    total: int = -1
    last: str = ""  # what the page before listed
    shrunk: bool = False
    round: int = 1

    def query(self) -> str:
        """Return the query that asks for its page."""
        column = self.mode if self.mode in {"modified", "id"} else "date"
        words = [f"per_page={_PER_PAGE}", f"page={self.page}", f"orderby={column}"]
        words.append(f"order={'asc' if self.mode == 'all' else 'desc'}")
        if self.start:
            names = {"modified": "modified_after", "id": "known"}  # `known` is for the address alone: it is asked once
            words.append(f"{names.get(self.mode, 'after')}={self.start}")
        if self.end:
            words.append(f"before={self.end}")
        if self.round > 1:
            words.append(f"round={self.round}")
        return "&".join((*words, _EMBEDDED))

    def request(self, api: str) -> Request:
        """Ask for its page."""
        mark = "&" if "?" in api else "?"
        priority = 1 if self.page == 1 else 0
        return Request(f"{api}{mark}{self.query()}", POSTS, priority=priority, context=json.dumps(vars(self)))


def begin(source: Source, learned: Mapping[str, Any]) -> tuple[Request, ...]:
    """Ask for all posts until they were all seen, then for what is new and what changed."""
    path = learned.get("api") or NAMESPACE
    api = path if "://" in path else f"{source.site.address('').rstrip('/')}/{path}"
    options = source.options
    wanted = f"{options['since']}..{options['until']}"
    if learned.get("range") != wanted:
        start = f"{options['since']}T00:00:00" if options["since"] else ""
        end = f"{options['until']}T23:59:59" if options["until"] else ""
        return (PostList("all", start, end).request(_tried(api, learned)),)
    if options["until"]:
        return ()
    overlap = _overlap(source)
    starts = {mode: _back(learned[f"upto.{mode}"], overlap) for mode in ("date", "modified")}
    starts["id"] = f"{learned.get('top', 0)}.{learned['upto.date'][:19]}"
    windows = (PostList(mode, start).request(_tried(api, learned)) for mode, start in starts.items())
    return (*windows, wordpress_gone.begin(source, api))


def _tried(api: str, learned: Mapping[str, Any]) -> str:
    """Spell an address anew that was refused: one that has an answer is not asked again."""
    tries = learned.get("tries", 0)
    return f"{api}{'&' if '?' in api else '?'}attempt={tries}" if tries else api


def _overlap(source: Source) -> timedelta:
    """Return how far windows reach back: as far as their ends are put off at least."""
    return max(timedelta(seconds=float(source.options["overlap"])), _SECOND)


def _back(told: str, overlap: timedelta) -> str:
    return (datetime.fromisoformat(told) - overlap).strftime("%Y-%m-%dT%H:%M:%S")


def follow(source: Source, learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the posts of a page, and ask for the next one until the true end."""
    if answer.request.name == wordpress_gone.NUMBERS:
        return wordpress_gone.follow_numbers(learned, answer)
    if answer.request.name == wordpress_gone.BY_NUMBER:
        return _follow_by_number(learned, answer)
    told: dict[str, Any] = json.loads(answer.request.context) if answer.request.context else {"mode": "all"}
    now = PostList(**told)
    api = answer.request.url.partition("per_page=")[0].rstrip("?&")
    came = reply(answer.status, answer.fields, answer.view.read())
    if isinstance(came, RefusedReply) and came.code == _BEYOND and now.page > 1:
        return _ended(source, now, answer, (), "the page before was the last")
    if isinstance(came, RefusedReply) or not isinstance(came, list):
        refused = came if isinstance(came, RefusedReply) else RefusedReply(Reason.NOT_VALID, "no list of posts")
        return _closed(source, learned, api, refused)
    posts = [one for one in came if isinstance(one, dict)]
    numbers = [post["id"] for post in posts if isinstance(post.get("id"), int)]
    top = {"top": max([learned.get("top", 0), *numbers]), **wordpress_gone.learned_numbers(learned, numbers)}
    offers = tuple({key: Offering(key) for key in map(_version, posts)}.values())
    listed = ",".join(str(post.get("id")) for post in posts)[:2000]
    total, pages = _number(answer.fields, "x-wp-total"), _number(answer.fields, "x-wp-totalpages")
    now = PostList(**{
        **vars(now), "began": now.began or answer.at.isoformat(), "total": total,
        "shrunk": now.shrunk or 0 <= total < now.total,
    })  # fmt: skip
    last = 0 <= pages <= now.page  # where it is not told, the true end is a page that is empty or refused
    if not posts or last or listed == now.last or _is_before(posts, now) or now.page >= _MOST:
        why = "an empty page" if not posts else "the last page" if last else "the rest is older or known"
        result = _ended(source, now, answer, offers, why)
        return replace(result, learned={**result.learned, **top})
    following = PostList(**{**vars(now), "page": now.page + 1, "last": listed})
    return FollowResult((following.request(api),), offers, top)


def _follow_by_number(learned: Mapping[str, Any], answer: Answer) -> FollowResult:
    """Offer the posts that are there, and forget the numbers of those that are not."""
    came = reply(answer.status, answer.fields, answer.view.read())
    if not isinstance(came, list):
        refused = came if isinstance(came, RefusedReply) else RefusedReply(Reason.NOT_VALID, "no list of posts")
        return FollowResult(skip=refused.reason, findings=(Finding("Refused", refused.message, Level.WARN),))
    posts = [one for one in came if isinstance(one, dict)]
    there = {post["id"] for post in posts if isinstance(post.get("id"), int)}
    not_there = set(wordpress_gone.asked_numbers(answer.request)) - there
    offers = tuple({key: Offering(key) for key in map(_version, posts)}.values())
    return FollowResult(
        (), offers, wordpress_gone.learned_numbers(learned, there, not_there), end=f"{len(not_there)} are gone"
    )


def _ended(source: Source, now: PostList, answer: Answer, offers: tuple[Offering, ...], why: str) -> FollowResult:
    """Note how far the posts were read; read the list again where posts went from it meanwhile."""
    if now.shrunk and now.round < _ROUNDS:
        api = answer.request.url.partition("per_page=")[0].rstrip("?&")
        again = PostList(now.mode, now.start, now.end, round=now.round + 1)
        return FollowResult((again.request(api),), offers)
    began = now.began or answer.at.isoformat()
    if now.mode == "all":
        wanted = f"{source.options['since']}..{source.options['until']}"
        return FollowResult((), offers, {"range": wanted, "upto.date": began, "upto.modified": began}, end=why)
    return FollowResult((), offers, {f"upto.{now.mode}": _upto(source, now, began)}, end=why)


def _upto(source: Source, now: PostList, began: str) -> str:
    """Return up to when a window was read: the next one begins a second later than it at least.

    What has an answer is not asked again: the window of another run in the same second would never be read.
    """
    overlap = _overlap(source)
    if now.mode == "id" or _back(began, overlap) > now.start:
        return began
    return (datetime.fromisoformat(f"{now.start}+00:00") + overlap + _SECOND).isoformat()


def _closed(source: Source, learned: Mapping[str, Any], api: str, refused: RefusedReply) -> FollowResult:
    """Go on by the other spelling of the interface, and then by the feed, where the site shuts this one."""
    finding = Finding("Refused", refused.message, Level.WARN)
    if "rest_route=" not in api and "upto.date" not in learned:
        other = {"api": "?rest_route=/wp/v2/posts"}
        return FollowResult(
            begin(source, {**learned, **other}), skip=refused.reason, findings=(finding,), learned=other
        )
    tries = learned.get("tries", 0) + 1
    if "upto.date" not in learned and refused.reason in {Reason.PERMISSION_DENIED, Reason.NOT_FOUND, Reason.BOT_WALL}:
        return FollowResult(
            skip=refused.reason,
            findings=(finding,),
            learned={"kind": "feed", "closed": True, "tries": tries},
            end="its interface is closed: its feed is read from the next run on",
        )
    return FollowResult(skip=refused.reason, findings=(finding,), learned={"tries": tries})


def _is_before(posts: Sequence[Mapping[str, Any]], now: PostList) -> bool:
    """Tell whether a page of a window lies before it: servers that do not know a parameter ignore it."""
    if now.mode == "all" or not now.start:
        return False
    if now.mode == "id":
        known = int(now.start.partition(".")[0])
        return any(isinstance(post.get("id"), int) and post["id"] <= known for post in posts)
    column = "modified_gmt" if now.mode == "modified" else "date_gmt"
    told = [str(post.get(column) or post.get(column[:-4]) or "") for post in posts]
    least = (datetime.fromisoformat(now.start) - timedelta(days=1)).isoformat()  # the site's own zone may be any
    return all(one < least for one in told)


def _number(fields: Mapping[str, str], name: str) -> int:
    told = fields.get(name, "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 10 else -1


def _version(post: Mapping[str, Any]) -> str:
    return f"{str(post.get('id'))[:40]}@{str(post.get('modified_gmt') or post.get('modified'))[:40]}"


def read(task: Task) -> Iterator[Observation | Skip]:
    """Make an article of each post."""
    came = reply(200, task.fields, task.view.read())
    request = task.request
    if not isinstance(came, list) or request is None or request.name == wordpress_gone.NUMBERS:
        return
    seen: set[str] = set()
    zone = task.source.options["zone"] if task.source else ""
    for post in came:
        if not isinstance(post, dict):
            yield Skip(Reason.NOT_VALID, "", "no object where a post is due")
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
            yield Skip(Reason.PROTECTED, url or f"post {number}")
        else:
            name = wordpress_gone.post_name(request.url, number)
            yield article_observation(_found(post, url, name, zone), zone, task.visited)
    if request.name == wordpress_gone.BY_NUMBER:
        yield from wordpress_gone.gone(request, came)


def _found(post: Mapping[str, Any], url: str, name: str, zone: str) -> FoundArticle:
    embedded = post.get("_embedded")
    inside = embedded if isinstance(embedded, dict) else {}
    yoast = post.get("yoast_head_json")
    head = yoast if isinstance(yoast, dict) else {}
    excerpt = plain(_rendered(post, "excerpt")).removesuffix("[…]").removesuffix("[...]").strip()
    return FoundArticle(
        url=url,
        kind="wordpress",
        title=plain(_rendered(post, "title")),
        html=_rendered(post, "content") if isinstance(_rendered(post, "content"), str) else "",
        base=url,
        date=_date(post, "date", zone),
        authors=_authors(inside) or texts(head.get("author")),
        keywords=_terms(inside) or _slugs(post),
        image=_image(inside, head, post),
        excerpt=excerpt,
        metadata={
            "wp_post_id": post.get("id"), "wp_post_type": str(post.get("type", "post")),
            "modified_date": _date(post, "modified", zone),
        },
        name=name,
        modified=_date(post, "modified", zone),
    )  # fmt: skip


def _rendered(post: Mapping[str, Any], name: str, part: str = "rendered") -> Any:
    value = post.get(name)
    if isinstance(value, dict):
        return value.get(part, "")
    return value if part == "rendered" and isinstance(value, str) else ""


def _date(post: Mapping[str, Any], name: str, zone: str) -> str:
    """Return a date in UTC as WordPress has it; the site's local one where that is not told, or only repeats it."""
    local, gmt = post.get(name), post.get(f"{name}_gmt")
    local = local if isinstance(local, str) else ""
    if not isinstance(gmt, str) or not gmt or gmt.startswith("0000"):
        return local
    if zone and gmt == local:
        return local
    return gmt if gmt.endswith("Z") or "+" in gmt else f"{gmt}Z"


def _authors(embedded: Mapping[str, Any]) -> list[str]:
    people = embedded.get("author")
    found = [one for one in people if isinstance(one, dict)] if isinstance(people, list) else []
    return [plain(one["name"]) for one in found if isinstance(one.get("name"), str) and "code" not in one]


def _terms(embedded: Mapping[str, Any]) -> list[str]:
    groups = embedded.get("wp:term")
    terms = [term for group in groups if isinstance(group, list) for term in group] if isinstance(groups, list) else []
    return [plain(term["name"]) for term in terms if isinstance(term, dict) and isinstance(term.get("name"), str)]


def _slugs(post: Mapping[str, Any]) -> list[str]:
    """Return what the classes of a post say of its categories and tags, where their names are not told."""
    classes = texts(post.get("class_list"))
    found = [one.partition("-")[2] for one in classes if one.startswith(("category-", "tag-"))]
    return [one.replace("-", " ") for one in found]


def _image(embedded: Mapping[str, Any], head: Mapping[str, Any], post: Mapping[str, Any]) -> str:
    media = embedded.get("wp:featuredmedia")
    first = media[0] if isinstance(media, list) and media and isinstance(media[0], dict) else {}
    pictures = head.get("og_image")
    shown = pictures[0] if isinstance(pictures, list) and pictures and isinstance(pictures[0], dict) else {}
    told = (first.get("source_url"), shown.get("url"), post.get("jetpack_featured_media_url"))
    return next((one for one in told if isinstance(one, str) and one), "")
