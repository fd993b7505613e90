"""Takedowns in a collection of requests: nothing stays but the tombstone."""

from tests.requests.test_secrets import read_all_files
from tests.requests.workshop import Workshop, collection, documents, send_parts
from tests.sessions import session_settings
from windrow.app.takedowns import lift_takedowns, take_down
from windrow.contract import Ask, FollowResult, Observation, Offering, Request, Skip
from windrow.engine.crawl import crawling
from windrow.model import Finding
from windrow.reasons import Reason

MARK = "MarkOfTheForgotten"


def follow(source, learned, answer):
    """Return everything that a discovery may return for a document."""
    content = answer.view.read().decode()
    if not answer.request.context:
        return FollowResult(tuple(Request(name, context=name) for name in content.split()))
    name = f"{answer.request.context}-{content}"
    return FollowResult(offers=(Offering(name),), learned={"last": content}, end=f"after {content}",
                findings=(Finding("Odd", content),))  # fmt: skip


def ask_with_words(task):
    """Send a service the document's text, and skip a part of it."""
    observed = []
    for offer in task.offers:
        answer = task.answers.get(offer.key)
        if answer is None:
            observed.append(Ask(offer.key, "reader", "words", body=task.part(offer)))
        else:
            observed.append(Observation(offer.key, {"heard": answer.view.read().decode()}, task.part(offer).decode()))
            observed.append(Skip(Reason.NOT_VALID, f"{offer.key}-2", task.part(offer).decode()))
    return observed


def forget(shop, *names):
    return take_down(
        shop.workspace, session_settings(shop.workspace), names, "asked by its author", {"workshop": shop.adapter}
    )


def test_nothing_of_a_forgotten_document_stays_in_any_file_neither_what_services_were_told_of_it(tmp_path, serve):
    api = serve(documents({"a": MARK.encode(), "b": b"stays"}))
    service = serve(lambda asked: (200, b"heard: " + asked.body, {"X-Said": asked.body.decode()}))
    shop = Workshop(tmp_path, api, service, collection(ask_with_words, follow=follow))
    shop.run()
    assert read_all_files(tmp_path).count(MARK.encode()) > 8
    assert set(shop.records()) == {f"a-{MARK}", "b-stays"}
    (done,) = forget(shop, f"{api.url}a")
    assert done.done
    assert not done.errors
    assert MARK.encode() not in read_all_files(tmp_path)
    assert set(shop.records()) == {"b-stays"}
    assert b"heard: stays" in read_all_files(tmp_path)
    asked = len(api.asked) + len(service.asked)
    shop.run()
    assert [request.path for request in api.asked[-1:]] == ["/robots.txt"] or len(api.asked) + len(
        service.asked
    ) == asked
    assert MARK.encode() not in read_all_files(tmp_path)


def test_what_a_service_was_asked_for_two_documents_stays_for_the_one_that_is_not_forgotten(
    tmp_path, serve, monkeypatch
):
    monkeypatch.setattr(crawling, "MAX_SERVICE_WAIT", 1.0)  # a service that is down is asked with growing pauses
    api = serve(documents({"a": b"the same", "b": b"the same"}))
    service = serve(lambda asked: (503, b"", {}))
    shop = Workshop(tmp_path, api, service, collection(send_parts))
    shop.run()
    assert len(shop.waiting()) == 2
    forget(shop, f"{api.url}a")
    assert len(shop.waiting()) == 1
    service.answer = lambda asked: (200, b"got " + asked.body, {})
    shop.ask_next()
    shop.run()
    assert shop.records() == {"b": {"status": 200, "body": "got the same", "reason": None}}


def test_a_forgotten_document_may_be_asked_for_again_once_that_is_lifted(tmp_path, serve):
    api = serve(documents({"a": MARK.encode()}))
    service = serve(lambda asked: (200, b"heard: " + asked.body, {}))
    shop = Workshop(tmp_path, api, service, collection(ask_with_words, follow=follow))
    shop.run()
    forget(shop, f"{api.url}a")
    lift_takedowns(shop.workspace, session_settings(shop.workspace), [f"{api.url}a"], {"workshop": shop.adapter})
    shop.run()
    assert set(shop.records()) == {f"a-{MARK}"}


def test_nothing_of_a_forgotten_source_stays(tmp_path, serve):
    api = serve(documents({f"{MARK}-name": MARK.encode()}))
    service = serve(lambda asked: (200, b"heard: " + asked.body, {}))
    shop = Workshop(tmp_path, api, service, collection(ask_with_words, follow=follow))
    shop.run()
    forget(shop, "texts")
    contents = read_all_files(tmp_path)
    assert f'"{MARK}'.encode() not in contents
    assert f"heard: {MARK}".encode() not in contents
    assert f"after {MARK}".encode() not in contents
