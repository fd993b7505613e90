"""A run in which a source gave nothing usable ends with 3 and the reason, until the source is repaired."""

from dataclasses import replace
from time import sleep

import pytest

from tests.clock import pass_time
from tests.requests.workshop import Workshop, collection
from tests.requests.workshop import follow as follow_documents
from tests.sessions import session_settings
from windrow.app.run import phase_span, preview
from windrow.contract import FollowResult, Observation, Request, Requests, Skip
from windrow.digest import hash64
from windrow.engine.frontier import RETRY, FetchBounds, frontier_of
from windrow.engine.session import Session
from windrow.ledger import Ledger
from windrow.model import Reading
from windrow.reasons import Reason


def follow_page(source, learned, answer):
    """Skip answers that are not of status 200, or not a page."""
    is_page = answer.status == 200 and answer.view.read().startswith(b"page")
    return FollowResult() if is_page else FollowResult(skip=Reason.NOT_VALID)


def read_page(task):
    return None


def read_document(task):
    """Record each document with content; fail or skip the others."""
    if not task.offers:
        return None
    (offer,) = task.offers
    content = task.view.read().decode()
    if content == "broken":
        return Reading(Reason.NOT_WELL_FORMED)
    if content == "left out":
        return Skip(Reason.NOINDEX, offer.key)
    return Observation(offer.key, content) if content else Skip(Reason.NO_TEXT, offer.key)


@pytest.fixture
def shop(tmp_path, serve):
    """Return a function that makes a workspace whose server's answer can be replaced."""

    def make(answer, declared, *lines, section=""):
        api, service = serve(answer), serve(answer)
        return Workshop(tmp_path, api, service, declared, *lines, section=section)

    return make


def run(shop):
    """Run a session; return its exit code, and the comments of its tasks of the source that failed."""
    with Session(session_settings(shop.workspace), "run") as session:
        session.run_harvest(shop.adapter.harvest(shop.workspace))
        exit_code = session.close()
        first_fact = session.number
    ledger = shop.ledger()
    comments = [task.comment for task in ledger.sessions.tasks((first_fact, 1 << 60)) if task.failed]
    ledger.close()
    return exit_code, comments


def late_answer(asked):
    sleep(3)
    return 200, b"page", {}


FAULTS = {
    "another origin": (
        lambda asked: (302, b"", {"Location": "http://elsewhere.example/"}),
        (),
        "",
        "to http://elsewhere.example/",
    ),
    "itself": (lambda asked: (302, b"", {"Location": asked.path}), (), "", "which was requested"),
    "too large": (
        lambda asked: (200, b"page" * 1000, {}),
        (),
        "[limits]\ntransfer_size = '1 KiB'",
        "has more than 1024 bytes",
    ),
    "too late": (late_answer, ('timeout = "1s"',), "", "1 second"),
    "not valid": (lambda asked: (200, b"other", {}), (), "", Reason.NOT_VALID.meaning),
    "not found": (lambda asked: (404, b"", {}), (), "", Reason.NOT_VALID.meaning),
    "broken server": (lambda asked: (500, b"", {}), (), "", "the server answers 500"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_source_without_a_usable_answer_has_failed_until_it_is_repaired(shop, name):
    answer, lines, section, message = FAULTS[name]
    made = shop(answer, collection(read_page, follow=follow_page), *lines, section=section)
    exit_code, comments = run(made)
    assert exit_code == 3
    assert len(comments) == 1
    assert message in comments[0]
    requests = len(made.api.paths())
    refused = {"another origin": ["redirected"], "itself": ["redirected"], "not valid": ["not_valid"]}.get(name, [])
    assert unused(made) == (refused, refused)
    assert run(made)[0] == 3, "nothing is due, and nothing is repaired"
    assert len(made.api.paths()) == requests
    made.api.answer = lambda asked: (200, b"page", {})
    if refused:
        pass_time(61)  # it is requested again by itself
    else:
        make_due(made)
    assert run(made) == (0, [])
    assert unused(made) == ([], [])
    assert run(made) == (0, [])


def unused(shop):
    """Return the reasons of unused answers in status, and those for which `retry --reason` finds an address."""
    ledger = shop.ledger()
    frontier = frontier_of(ledger, shop.made)
    reasons = [count.reason for count in frontier.left_out("texts", ()) if "not used" in count.rule]
    chosen = [reason for reason in ("redirected", "not_valid") if frontier.find_undone(RETRY, "texts", reason)]
    ledger.close()
    return reasons, chosen


def begin_seven(source, learned):
    return [Request(str(number)) for number in range(7)]


def test_all_first_requests_decide_whether_a_source_without_due_requests_has_failed(shop):
    usable = ""
    declared = replace(collection(read_page), discovery=Requests(begin_seven, follow_page))
    made = shop(lambda asked: (200 if asked.path == usable else 404, b"page", {}), declared)
    *_, usable = sorted((f"/{number}" for number in range(7)), key=lambda path: hash64(f"{made.api.url}{path[1:]}"))
    assert run(made) == (0, [])
    assert run(made) == (0, []), "one of the seven was usable"
    usable = ""
    ledger = made.ledger()
    with ledger.writing() as writer:
        writer.addresses.set_due("workshop", [hash64(f"{made.api.url}{number}") for number in range(7)], 1)
    ledger.close()
    assert run(made)[0] == 3
    exit_code, (comment,) = run(made)
    assert (exit_code, "and 2 more like these" in comment) == (3, True)


def make_due(shop):
    """Make the source's address due."""
    ledger = shop.ledger()
    with ledger.writing() as writer:
        writer.addresses.set_due("workshop", [hash64(shop.api.url)], 1)
    ledger.close()


@pytest.mark.parametrize(
    ("contents", "exit_code"),
    [
        (["", "", ""], 3),
        (["", "broken", ""], 3),
        (["", "", "", "text"], 0),
        (["", "left out", "left out"], 0),
    ],
)
def test_documents_none_of_which_is_usable_are_a_failure_of_their_source(shop, contents, exit_code):
    documents = {f"d{number}": content.encode() for number, content in enumerate(contents)}

    def answer(asked):
        name = asked.path.strip("/")
        return (200, documents[name], {}) if name else (200, "\n".join(documents).encode(), {})

    code, comments = run(shop(answer, collection(read_document, follow=follow_documents)))
    assert code == exit_code
    assert len(comments) == (exit_code > 0)
    for comment in comments:
        counted = f"no_text {contents.count('')}"
        assert f"none of the documents read in this run was usable: {counted}" in comment


def test_a_source_of_whose_documents_none_can_be_fetched_has_failed_until_one_is(shop):
    sizes = {f"d{number}": 5_000 for number in range(3)}

    def answer(asked):
        name = asked.path.strip("/")
        return (200, b"t" * sizes[name], {}) if name else (200, "\n".join(sizes).encode(), {})

    declared = collection(read_document, follow=follow_documents)
    made = shop(answer, declared, section="[limits]\ntransfer_size = '1 KiB'")
    exit_code, comments = run(made)
    assert exit_code == 3
    assert any("could ever be fetched: 3 failed" in comment for comment in comments)
    exit_code, comments = run(made)
    assert exit_code == 3, "nothing of it is due, or only its list"
    assert any("could ever be fetched: 3 failed" in comment for comment in comments)
    sizes["d1"] = 500
    ledger = made.ledger()
    with ledger.writing() as writer:
        writer.addresses.set_due("workshop", [hash64(f"{made.api.url}{name}") for name in sizes], 1)
    ledger.close()
    assert run(made) == (0, [])
    assert run(made) == (0, [])


def begin_valid(source, learned):
    """Return a request that is not valid for the source `texts1`, and fail for `texts2`."""
    url = {"texts2": {}}.get(source.name, {"url": ""})["url"]
    return [Request(url, method="PUT" if source.name == "texts1" else "GET")]


def test_first_requests_that_cannot_be_made_cost_only_their_source(tmp_path, serve):
    declared = replace(collection(read_page), discovery=Requests(begin_valid, follow_page))
    api = serve(lambda asked: (200, b"page", {}))
    made = Workshop(tmp_path, api, api, declared, paths=("a", "b", "c", "d"))
    problems = (
        f"its first requests cannot be made: {api.url}b: the method 'PUT' is neither GET nor POST",
        "its first requests cannot be made: KeyError: 'url'",
    )
    ledger = Ledger(made.workspace.ledger)
    shown = preview(ledger, declared, made.workspace.sources, phase_span(declared), FetchBounds())
    ledger.close()
    assert [source.why_not for source in shown.sources] == ["", *problems, ""]
    assert [source.asked for source in shown.sources] == [True, False, False, True]
    exit_code, comments = run(made)
    assert exit_code == 3
    assert comments == [f"texts{number}: 0 requested, 0 found; {problem}" for number, problem in enumerate(problems, 1)]
    assert sorted(made.api.paths()) == ["/a", "/d"]
