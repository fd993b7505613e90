"""A list whose pages lead from one to the next without end and offer nothing new is left, and the source has failed."""

import pytest

from tests.requests.test_nothing_usable import read_document, run
from tests.requests.workshop import Workshop, collection
from windrow.contract import FollowResult, Offering, Request
from windrow.engine.requests.following import MAX_FRUITLESS


def follow_pages(source, learned, answer):
    """Offer the names on a page, and request the page that its first line names."""
    page, *names = answer.view.read().decode().split("\n")
    return FollowResult((Request(f"/{page}"),) if page else (), tuple(Offering(name) for name in names if name))


@pytest.fixture
def harvest(tmp_path, serve):
    """Return a function that harvests a list of pages, given by functions of their numbers."""

    def start(next_page, names):
        def answer(asked):
            number = int(asked.path.strip("/") or 0)
            return 200, "\n".join([str(next_page(number)), *names(number)]).encode(), {}

        api, service = serve(answer), serve(answer)
        shop = Workshop(tmp_path, api, service, collection(read_document, follow=follow_pages))
        return api, *run(shop)

    return start


@pytest.mark.parametrize("names", [lambda number: ["a"], lambda number: []])
def test_an_endless_cursor_is_found_long_before_the_most_requests_of_a_run(harvest, names):
    api, exit_code, comments = harvest(lambda number: number + 1, names)
    assert exit_code == 3
    (comment,) = comments
    assert "crawler_trap 1" in comment
    assert f"{MAX_FRUITLESS} answers in a row, each found through the one before it, offered nothing new" in comment
    assert MAX_FRUITLESS < len(api.paths()) <= MAX_FRUITLESS + 2


def test_a_long_list_that_offers_something_new_from_time_to_time_is_read_to_its_end(harvest):
    last_page = MAX_FRUITLESS + 20
    api, exit_code, comments = harvest(
        lambda number: number + 1 if number < last_page else "",
        lambda number: [f"item-{number // 40}"],
    )
    assert (exit_code, comments) == (0, [])
    assert len(api.paths()) == last_page + 1
