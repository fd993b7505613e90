"""Following: an answer whose discovery takes long keeps no other source waiting."""

from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.requests.workshop import Workshop, collection, send_form
from tests.sessions import session_settings
from tests.waiting import PATIENCE
from windrow.contract import FollowResult, Request
from windrow.engine.session import Session

PAGES = 5


def follow_pages(source, learned, answer):
    """Follow five pages, then write a file; at another address, wait for the file before the next request."""
    path, _, page = answer.view.read().decode().partition(" ")
    if page == "after":
        return FollowResult()
    if page:
        if int(page) < PAGES:
            return FollowResult((Request(f"/quick/{int(page) + 1}"),))
        Path(path).touch()
        return FollowResult(end="the last page")
    deadline = monotonic() + PATIENCE
    while not Path(path).exists():
        if monotonic() > deadline:
            raise TimeoutError(path)
        sleep(0.01)
    return FollowResult((Request("/after"),))


@pytest.fixture
def run_sources(tmp_path, serve):
    """Return a function that harvests sources, and returns the paths that were requested."""

    def answer(asked):
        page = asked.path.removeprefix("/slow").rpartition("/")[2]
        return 200, f"{tmp_path / 'last'} {page}".encode(), {}

    def run(*paths, workers):
        api, service = serve(answer), serve(answer)
        shop = Workshop(tmp_path, api, service, collection(send_form, follow=follow_pages), paths=paths)
        # In its sandbox, a process that reads documents can neither write the file nor see it.
        settings = replace(session_settings(shop.workspace, workers=workers), sandbox=False)
        with Session(settings, "run") as session:
            session.run_harvest(shop.adapter.harvest(shop.workspace))
        ledger = shop.ledger()
        followed = [
            row for source in shop.workspace.sources for row in ledger.requests.latest("workshop", source.name, 9)
        ]
        ledger.close()
        return api.paths(), followed

    return run


@pytest.mark.parametrize(("slow", "workers"), [(1, 2), (1, 1), (4, 2)])
def test_a_source_is_followed_to_its_end_while_answers_of_others_are_being_read(run_sources, slow, workers):
    paths, followed = run_sources(*["slow"] * slow, "quick/1", workers=workers)
    assert [row.reason for row in followed] == [None] * (PAGES + 2 * slow)
    assert [path for path in paths if path.startswith("/quick")] == [f"/quick/{page + 1}" for page in range(PAGES)]
    assert paths[-slow:] == ["/after"] * slow
