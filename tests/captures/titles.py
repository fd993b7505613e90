"""A collection that asks for pages by requests, and for what they link to: it wants the titles of a site's articles."""

import re

from windrow.contract import Collection, FollowResult, Observation, Request, Requests, Settle
from windrow.record_adapter import RecordAdapter
from windrow.settings.asked import ASKED, store_of
from windrow.settings.configuration import Configuration

LINK = re.compile(rb'href="(/article[^"]*)"')
TITLE = re.compile(rb"<title>(.*?)</title>")


def begin(source, learned):
    return (Request("/", "home", every=1),)  # due again before a run ends that asked it for another collection


def follow(source, learned, answer):
    links = LINK.findall(answer.view.read()) if answer.request.name == "home" else ()
    return FollowResult(tuple(Request(link.decode(), "article") for link in links))


def titled(task):
    found = TITLE.search(task.view.read())
    return [Observation(task.request.url, {"title": found[1].decode()}, found[1].decode())] if found else []


COLLECTION = Collection(
    name="titles",
    phases=("ask", "title"),
    discovery=Requests(begin, follow),
    steps=(Settle("title", "1", titled),),
    adapter="tests.captures.titles:ADAPTER",
    configuration=Configuration(settings=(store_of("titles"),), source=ASKED),
)

ADAPTER = RecordAdapter(COLLECTION)
