"""The description of the web view for programs, and whether its answers are as it says."""

from __future__ import annotations

import os
import re
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from lxml import html
from schemathesis import GenerationMode, checks

import windrow
from tests.web.farm import get
from tests.web.test_pages import FERRY, PATHS, capture_of
from windrow.web.query import PageQuery
from windrow.web.routes import PAGES

QUERIES = {"/diff": {"name": "town"}, "/why": {"name": "town"}, "/search": {"q": "ferry"}}
EXAMPLES = int(os.environ.get("WINDROW_EXAMPLES", "2"))
CHECKS = [
    checks.not_a_server_error, checks.status_code_conformance, checks.content_type_conformance,
    checks.response_schema_conformance,
]  # fmt: skip


@pytest.fixture(scope="module")
def document(view) -> dict[str, Any]:
    return get(view, "/openapi.json").json


def test_the_description_has_each_parameter_that_a_page_reads(farm) -> None:
    class RecordingQuery(PageQuery):
        def text(self, name: str) -> str:
            read.add(name)
            return super().text(name)

    for page in PAGES:
        read: set[str] = set()
        query = RecordingQuery(QUERIES.get(page.path, {}), farm.sessions()[0].began)
        try:
            page.make(farm, query)
        except windrow.WindrowError:  # a source has no versions
            assert page.path == "/diff"
        assert read == {parameter.name for parameter in page.parameters}, page.path


def test_each_answer_has_the_fields_that_the_description_says_and_no_other(view, document) -> None:
    described = set()
    for target in (*PATHS, f"/captures/{capture_of(view, FERRY)}", "/healthz"):
        path = target.partition("?")[0]
        path = {"/": "/index.json", "/healthz": path}.get(path, f"{path}.json")
        matching = [name for name in document["paths"] if re.fullmatch(re.sub(r"{\w+}", ".+", name), path)]
        if not matching:
            assert path in {"/nothing.json", "/openapi.json"}
            continue
        reply = get(view, target, accept="application/json")
        answers = document["paths"][matching[0]]["get"]["responses"]
        schema = answers[str(reply.status)]["content"]["application/json"]["schema"]
        jsonschema_rs.validate({**schema, "components": document["components"]}, reply.json)
        described.add(matching[0])
    assert {name for name in document["paths"] if name.endswith(".json")} - described == set()


def test_requests_made_from_the_description_are_answered_as_it_says(view, document) -> None:
    """Schemathesis makes them. A few here; some thousands were made once, with a greater EXAMPLES."""
    schema = schemathesis.openapi.from_dict(document)
    schema.app = view
    for operation in (result.ok() for result in schema.get_all_operations()):

        @settings(
            max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, suppress_health_check=[*HealthCheck]
        )
        @given(case=operation.as_strategy(GenerationMode.POSITIVE) | operation.as_strategy(GenerationMode.NEGATIVE))
        def is_as_described(case: schemathesis.Case) -> None:
            case.validate_response(case.call(base_url="http://localhost"), checks=CHECKS)

        is_as_described()


def test_a_page_shows_the_description_and_lets_a_person_try_each_request(view, document) -> None:
    page = html.fromstring(get(view, "/openapi").text)
    assert {form.get("action") for form in page.forms} >= {path for path in document["paths"] if "{" not in path}
    anchors = {target.removeprefix("#") for target in page.xpath("//main//a/@href") if target.startswith("#")}
    assert {"TodayPage", "SearchPage", "Health"} <= anchors <= {*page.xpath("//@id")}
