"""The home of pages: sites, the pages of a site, and a page with its history, its links, its copies and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta

from windrow.adapters.home import (
    Fact,
    Facts,
    Home,
    HomeEntry,
    HomeLink,
    HomeList,
    HomeMoment,
    HomeTable,
    HomeText,
    HomeTimeline,
    HomeView,
    Part,
    read_day,
    read_start,
    refuse_unread,
    unknown_name,
)
from windrow.clock import from_unix_time, now
from windrow.collections.pages.adapter.changes import Edition
from windrow.collections.pages.adapter.lookup import open_existing_summary
from windrow.collections.pages.adapter.search import search
from windrow.collections.pages.adapter.spelling import spell_address
from windrow.collections.pages.adapter.story import PageState, find_page, list_origins
from windrow.collections.pages.collection import COLLECTION
from windrow.collections.pages.database.page_lists import PageLink, list_links_from, list_links_to, list_present
from windrow.collections.pages.database.page_versions import PageVersion, VersionReader
from windrow.config import Workspace
from windrow.digest import hash64
from windrow.errors import UsageError
from windrow.formats.text import counted
from windrow.ledger import Ledger
from windrow.model import Source

_PAGE_PAGES = 50
_MAX_ROWS = 100  # links from or to a page, or origins of a site
_MAX_MOMENTS = 100  # attempts and versions of a page, the latest ones
_TITLE_CHARACTERS = 200  # of a link's text


def home(workspace: Workspace, ledger: Ledger, view: HomeView) -> Home:
    """Return the sites, the pages with some words, the pages of the site `view.name`, or the page `view.name`.

    Of a page, `view.day` chooses the version that was current at the end of that day.
    """
    sources = {source.name: source for source in workspace.of(COLLECTION.name)}
    if view.words:
        refuse_unread(view, "name", "words", "start")
        return _search_pages(workspace, view, f"source:{view.name}" if view.name in sources else "")
    if not view.name:
        refuse_unread(view)
        return _list_sites(workspace, ledger, sources.values())
    refuse_unread(view, "name", "start" if view.name in sources else "day")
    if view.name in sources:
        return _show_site(workspace, ledger, sources[view.name], view)
    page = find_page(workspace, ledger, view.name)
    if page is None:
        raise unknown_name(COLLECTION.name, view.name)
    return _show_page(workspace, page, view)


def knows(workspace: Workspace, ledger: Ledger, name: str) -> bool:
    """Return whether there is a site or page with this name or address."""
    if any(source.name == name for source in workspace.of(COLLECTION.name)):
        return True
    url = spell_address(workspace, name)
    is_recorded = any(row.url == url for row in ledger.addresses.of_sources(COLLECTION.name, hash64(url)))
    return is_recorded or find_page(workspace, ledger, name) is not None  # that may be an address on a site


def _list_sites(workspace: Workspace, ledger: Ledger, sources: Iterable[Source]) -> Home:
    """Return the sites as a table; however many there are, the counts of all are read by one query of each store."""
    with open_existing_summary(workspace) as summary:
        counts = VersionReader(summary).count_by_origin() if summary else []
    by_origin = {count.origin: count for count in counts}
    numbers: dict[str, Counter[str]] = {}
    due_times: dict[str, list[int]] = {}
    for host in ledger.addresses.hosts(COLLECTION.name):  # an origin may belong to several sites
        if count := by_origin.get(host.origin):
            numbers.setdefault(host.source, Counter()).update({"present": count.open, "versions": count.versions})
    for of_kind in ledger.addresses.by_source(int(now().timestamp())):
        kind = {"known": of_kind.known, "failing": of_kind.failing, "due": of_kind.due}
        numbers.setdefault(of_kind.source, Counter()).update(kind)
        due_times.setdefault(of_kind.source, []).extend(filter(None, [of_kind.next_due]))
    rows = tuple(
        (
            HomeLink(site, view=HomeView(name=site)),
            *(numbers.get(site, Counter())[name] for name in ("present", "versions", "known", "failing", "due")),
            from_unix_time(min(due_times.get(site, ()), default=None)),
        )
        for site in (source.name for source in sources)
    )  # fmt: skip
    columns = ("site", "present pages", "versions", "addresses", "failing", "due", "next due")
    note = "" if rows else "No sites yet: windrow new source NAME URL --collection pages"
    return Home("Sites", (HomeTable("", columns, rows),) if rows else (), by_words=True, note=note)


def _search_pages(workspace: Workspace, view: HomeView, of_site: str) -> Home:
    """Return the pages that have some words: those that the filter `of_site` leaves, or all if it is empty."""
    offset = read_start(view)
    answer = search(workspace, f"({view.words}) {of_site}" if of_site else view.words, offset=offset, limit=_PAGE_PAGES)
    entries = tuple(
        HomeEntry(
            HomeLink(hit.title or hit.url, view=HomeView(name=hit.url)),
            (HomeLink(hit.url), Fact("last seen", hit.last_seen)), hit.snippet,
        )
        for hit in (result.details for result in answer.results)
    )  # fmt: skip
    start = str(offset + len(entries))
    further = HomeLink("Further pages", view=view._replace(start=start)) if answer.further else None
    title = f"Pages with “{view.words}”{f' of {view.name}' if of_site else ''}"
    parts = (HomeList("", entries),) if entries else ()
    return Home(title, parts, further=further, by_words=True, note="" if entries else "No page has these words.")


def _show_site(workspace: Workspace, ledger: Ledger, source: Source, view: HomeView) -> Home:
    """Return a site: its origins, and its present pages origin by origin, in the order of addresses."""
    hosts = ledger.addresses.hosts(COLLECTION.name)
    # With the slash they are in the order of addresses: https://a.co.uk/ before https://a.co/
    origins = sorted({host.origin for host in hosts if host.source == source.name}, key="{}/".format)
    if view.start and not view.start.startswith(tuple(f"{origin}/" for origin in origins)):
        raise UsageError(f"start: {view.start[:100]!r} is not one that a page before gave")
    # The origins are on the first page of the list, as counting their addresses takes long.
    parts = [] if view.start else _show_origins(workspace, ledger, source)
    entries: list[HomeEntry] = []
    with open_existing_summary(workspace) as summary:
        for origin in origins:
            if summary and len(entries) <= _PAGE_PAGES and not (view.start and view.start >= f"{origin}0"):
                after = view.start if view.start.startswith(f"{origin}/") else ""
                found = list_present(summary, origin, after, _PAGE_PAGES + 1 - len(entries))
                entries += [
                    HomeEntry(
                        HomeLink(page.title or page.url, view=HomeView(name=page.url)),
                        (HomeLink(page.url), Fact("since", _time(page.first_seen))), page.description,
                    )
                    for page in found
                ]  # fmt: skip
    further = None
    if len(entries) > _PAGE_PAGES:
        last = entries[_PAGE_PAGES - 1].title.view
        further = HomeLink("Further pages", view=view._replace(start=last.name if last else ""))
    if entries:
        parts.append(HomeList("Pages", tuple(entries[:_PAGE_PAGES])))
    note = "" if entries else "No pages yet: windrow run" if not view.start else "No further pages."
    return Home(source.name, tuple(parts), further=further, by_words=True, note=note)


def _show_origins(workspace: Workspace, ledger: Ledger, source: Source) -> list[Part]:
    origins, number = list_origins(workspace, ledger, source, _MAX_ROWS)
    rows = tuple(
        (
            HomeLink(origin.origin), origin.addresses, origin.pages, origin.failing, origin.due, origin.last_request,
            HomeLink(origin.robots),
        )
        for origin in origins
    )  # fmt: skip
    columns = ("origin", "addresses", "with a body", "failing", "due", "last request", "robots.txt")
    seeds, story = HomeLink(", ".join(source.options["seeds"])), HomeLink(source.name, story=source.name)
    more = f", {_MAX_ROWS} of {number:,}; the story as JSON has all" if number > _MAX_ROWS else ""
    return [Facts("", (Fact("seeds", seeds), Fact("story", story))), HomeTable(f"Origins{more}", columns, rows)]


def _show_page(workspace: Workspace, page: PageState, view: HomeView) -> Home:
    day = read_day(view, now().date())
    parts: list[Part] = []
    with open_existing_summary(workspace) as summary:
        reader = VersionReader(summary) if summary else None
        version = _version_at(reader.read_versions(page.url) if reader else (), day)
        if summary and reader and version:
            texts = reader.read_texts([version.pile_id]) if version.pile_id is not None else {}
            main, other = texts.get(version.pile_id or 0, ("", ""))
            parts += [HomeText("Text", main)] if main else []
            parts += [HomeText("Beside the main text", other)] if other else []
            if version.id > 0:  # the links of its latest version
                parts += _links("Links to", list_links_from(summary, version.generation, _MAX_ROWS + 1))
            parts += _links("Linked from", list_links_to(summary, page.url, _MAX_ROWS + 1))
    edition = next((each for each in page.versions if version and each.first_seen == _time(version.first_seen)), None)
    title = (edition.title if edition else "") or page.url
    copies = [(HomeLink(url, view=HomeView(name=url)), HomeLink("the same text")) for url in page.alike]
    copies += [
        (HomeLink(near.url, view=HomeView(name=near.url)), HomeLink(f"{near.similarity:.0%} alike"))
        for near in page.near
    ]
    if copies:
        parts.append(HomeTable("Copies", ("address", "text"), tuple(copies)))
    parts.append(_show_history(page))
    note = "" if version else f"No version of it is kept from {day.isoformat()} or before."
    return Home(
        title, (_show_facts(workspace.of(COLLECTION.name), page, edition, view), *parts), by_day="as of", note=note
    )


def _version_at(versions: Sequence[PageVersion], day: date) -> PageVersion | None:
    """Return the version that was current at the end of a day, or the last one before."""
    end = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    return next((version for version in reversed(versions) if version.first_seen < end.timestamp()), None)


def _show_facts(sources: Iterable[Source], page: PageState, edition: Edition | None, view: HomeView) -> Facts:
    facts = [Fact("address", HomeLink(page.url, story=page.url)), Fact("state", HomeLink(page.state))]
    if page.source:  # one that is not declared any more has a story, and no list here
        is_site = any(source.name == page.source for source in sources)
        link = HomeLink(page.source, view=HomeView(name=page.source)) if is_site else None
        facts.append(Fact("site", link or HomeLink(page.source, story=page.source)))
    facts += [Fact("found at", HomeLink(page.via[0], view=HomeView(name=page.via[0])))] if page.via else []
    facts += [Fact("next request", page.due)] if page.due and page.due.timestamp() > 1 else []
    if edition:
        of_day = f", the version of {view.day}" if view.day else ""
        facts += [Fact(f"first seen{of_day}", edition.first_seen), Fact("last seen", edition.last_seen)]
        facts += [Fact("gone since", edition.end)] if edition.end else []
        facts += [Fact("language", HomeLink(edition.language)), Fact("media type", HomeLink(edition.kind))]
        facts += [Fact("redirects to", HomeLink(edition.redirect))]
        facts += [Fact("different words", edition.words)] if edition.words else []
        facts += [Fact("not read in full", HomeLink(edition.reason))] if edition.reason else []
    if page.represented_by:
        represented = HomeLink(page.represented_by, view=HomeView(name=page.represented_by))
        facts.append(Fact("searches show", represented))
    return Facts("", tuple(facts))


def _links(title: str, links: Sequence[PageLink]) -> list[Part]:
    """Return links as a table; the title says if there are more than are shown."""
    if not links:
        return []
    rows = tuple(
        (
            HomeLink(link.url, view=HomeView(name=link.url) if link.is_kept else None),
            HomeLink(link.text[:_TITLE_CHARACTERS]),
        )
        for link in links[:_MAX_ROWS]
    )
    more = f", the first {_MAX_ROWS}" if len(links) > _MAX_ROWS else ""
    return [HomeTable(f"{title}{more}", ("address", "text of the link"), rows)]


def _show_history(page: PageState) -> HomeTimeline:
    """Return the versions and the attempts, in order of time; each version leads to its copy and its difference."""
    moments = [
        HomeMoment(
            event.at,
            event.event,
            HomeLink("capture", capture=event.number) if event.warc else HomeLink(""),
            event.message,
        )
        for event in page.events
    ]
    for number, edition in enumerate(page.versions, 1):
        day = f"{edition.first_seen:%Y-%m-%d}"
        name = f"version {number}: {edition.title or edition.kind or 'no title'}"
        copy = HomeLink(name, view=HomeView(name=page.url, day=day))
        note = f"{counted(edition.crawls, 'crawl')}, {counted(edition.links, 'link')}"
        moments.append(HomeMoment(edition.first_seen, "version", copy, note))
        if edition.changed:
            new = f"{edition.first_seen:%Y-%m-%dT%H:%M:%S}"
            link = HomeLink(edition.changed, difference=page.url, new=new)
            moments.append(HomeMoment(edition.first_seen, "changed", link))
        if edition.end is not None and number == len(page.versions):
            moments.append(HomeMoment(edition.end, "gone", HomeLink("not present any more")))
    moments += [HomeMoment(each.at, "taken down", HomeLink(each.reason), each.target) for each in page.tombstones]
    moments.sort(key=lambda moment: moment.at)
    left_out = len(moments) - _MAX_MOMENTS
    title = f"History, the latest {_MAX_MOMENTS} entries" if left_out > 0 else "History"
    return HomeTimeline(title, tuple(moments[max(left_out, 0) :]))


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
