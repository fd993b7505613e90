"""An answered request of a step is made again when its document has changed, or in another period."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.clock import pass_time
from tests.requests.workshop import Workshop, collection, documents, follow
from windrow.contract import Answer, Ask, FollowResult, Observation, Task
from windrow.model import Source

HOUR = 3600
ASKS = (
    Ask("once", "reader", "once", "GET"),
    Ask("changed", "reader", "changed", "GET", again_if_changed=True),
    Ask("fresh", "reader", "fresh", body=b"?", fresh_for=2.0 * HOUR),
)


def follow_hourly(source: Source, learned: Any, answer: Answer) -> FollowResult:
    followed = follow(source, learned, answer)
    return replace(followed, requests=tuple(request._replace(every=HOUR) for request in followed.requests))


def ask_three(task: Task) -> Any:
    """Return the three requests for the document and, when they are answered, a record of the answers."""
    if not task.offers:
        return None
    if not task.answers:
        return list(ASKS)
    answers = {name: answer.view.read().decode() for name, answer in task.answers.items()}
    return Observation(task.offers[0].key, answers)


def test_an_answer_is_asked_for_again_when_its_document_changed_or_it_is_not_fresh(tmp_path, serve):
    contents, asked = {"a": b"first"}, []

    def answer(request):
        asked.append(request.path)
        return 200, str(asked.count(request.path)).encode(), {}

    shop = Workshop(tmp_path, serve(documents(contents)), serve(answer), collection(ask_three, follow=follow_hourly))
    for change, expected, values in (
        (b"first", ["/changed", "/fresh", "/once"], "111"),
        (b"first", ["/fresh"], "112"),  # three hours later
        (b"second", ["/changed", "/fresh"], "123"),
    ):
        contents["a"] = change
        asked_before = len(asked)
        shop.run()
        assert sorted(asked[asked_before:]) == expected
        (record,) = shop.records().values()
        assert "".join(record[name] for name in ("once", "changed", "fresh")) == values
        pass_time(3 * HOUR)
    count, records = len(asked), shop.records()
    shop.replay()
    assert (len(asked), shop.records()) == (count, records)
