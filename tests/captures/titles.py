"""A collection of the titles of a site's articles: it requests pages and the articles that they link to."""

from __future__ import annotations

import re
from collections.abc import Mapping

from windrow.adapters.records import RecordAdapter
from windrow.contract import Answer, Collection, FollowResult, Observation, Request, Requests, Settle, Task
from windrow.model import Source
from windrow.settings.configuration import Configuration
from windrow.settings.setting import ASKED, store_of

LINK = re.compile(rb'href="(/article[^"]*)"')
TITLE = re.compile(rb"<title>(.*?)</title>")


def begin(source: Source, learned: Mapping[str, str]) -> tuple[Request, ...]:
    return (
        Request("/", "home", every=1),
    )  # due again before the run ends, which may have requested it for another collection


def follow(source: Source, learned: Mapping[str, str], answer: Answer) -> FollowResult:
    links = LINK.findall(answer.view.read()) if answer.request.name == "home" else ()
    return FollowResult(tuple(Request(link.decode(), "article") for link in links))


def observe_title(task: Task) -> list[Observation]:
    title = TITLE.search(task.view.read())
    assert task.request is not None
    return [Observation(task.request.url, {"title": title[1].decode()}, title[1].decode())] if title else []


COLLECTION = Collection(
    name="titles",
    phases=("ask", "title"),
    discovery=Requests(begin, follow),
    steps=(Settle("title", "1", observe_title),),
    adapter="tests.captures.titles:ADAPTER",
    configuration=Configuration(settings=(store_of("titles"),), source=ASKED),
)

ADAPTER = RecordAdapter(COLLECTION)
