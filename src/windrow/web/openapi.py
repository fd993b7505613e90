"""The description of the web view for programs (OpenAPI 3.1), made from the classes of the values that it sends."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from windrow.adapters.adapter import Explanation
from windrow.app import Windrow
from windrow.caps import WEB_NAME_CHARACTERS
from windrow.formats.text import to_json_value
from windrow.web import manual, watching
from windrow.web.query import PageQuery
from windrow.web.routes import CHANGES_PARAMETERS, NUMBERED, PAGES, Parameter

Schema = dict[str, Any]
"""A JSON Schema."""


class WebError(NamedTuple):
    """Why a request was refused or failed: a message, a command that helps, and a reason; both may be empty."""

    message: str
    hint: str
    reason: str


_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}, bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"}, date: {"type": "string", "format": "date"},
    Path: {"type": "string"}, NoneType: {"type": "null"}, Any: {},
    Explanation: {
        "type": "array", "description": "messages of a collection, as `windrow why --json` prints them",
        "items": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
    },
}  # fmt: skip
"""The schemas of types that are no classes of values. An explanation's messages differ by collection."""


def describe_type(kind: Any, classes: dict[str, Schema]) -> Schema:
    """Return the JSON Schema of a type's values, as `to_json_value` writes them; add classes of values to `classes`.

    >>> describe_type(tuple[int | None, ...], {})
    {'type': 'array', 'items': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _SIMPLE:
        schema = _SIMPLE[kind]
    elif origin in {Union, UnionType}:
        schema = {"anyOf": [describe_type(argument, classes) for argument in arguments]}
    elif origin is not None and issubclass(origin, Mapping):
        schema = {"type": "object", "additionalProperties": describe_type(arguments[1], classes)}
    elif origin is tuple and Ellipsis not in arguments:
        items = [describe_type(argument, classes) for argument in arguments]
        schema = {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    elif origin is not None:
        schema = {"type": "array", "items": describe_type(arguments[0], classes)}
    elif issubclass(kind, Enum):
        schema = {"enum": [to_json_value(member) for member in kind]}
    else:
        schema = _describe_class(kind, classes)
    return schema


def _describe_class(kind: Any, classes: dict[str, Schema]) -> Schema:
    """Add the schema of a named tuple or dataclass to `classes`, and return a reference to it."""
    if kind.__name__ not in classes:
        classes[kind.__name__] = {}  # a class may contain itself
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else [*kind._fields]
        hints = get_type_hints(kind)
        classes[kind.__name__] = {
            "type": "object", "description": inspect.getdoc(kind),
            "properties": {name: describe_type(hints[name], classes) for name in names},
            "required": names, "additionalProperties": False,
        }  # fmt: skip
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def spell_schema(schema: Schema) -> str:
    """Return the schema of a value in words.

    >>> spell_schema({"type": "array", "items": {"anyOf": [{"$ref": "#/components/schemas/Event"}, {"type": "null"}]}})
    'list of Event or null'
    """
    if reference := schema.get("$ref"):
        return str(reference.rpartition("/")[2])
    if alternatives := schema.get("anyOf"):
        return " or ".join(map(spell_schema, alternatives))
    if values := schema.get("enum"):
        return " or ".join(map(str, values))
    kind: str = schema.get("type", "any value")
    if kind == "array":
        items = [spell_schema(item) for item in schema.get("prefixItems", ())]
        return f"list: {', '.join(items)}" if items else f"list of {spell_schema(schema['items'])}"
    if members := schema.get("additionalProperties"):
        return f"object with values: {spell_schema(members)}"
    return {"string": "text", "integer": "whole number", "boolean": "yes or no"}.get(kind, kind)


def describe_api(_workspace: Windrow, _query: PageQuery) -> Schema:
    """Return the description of all that programs can request, in OpenAPI 3.1."""
    return _document()


@cache
def _document() -> Schema:
    classes: dict[str, Schema] = {}
    error = describe_type(WebError, classes)
    classes["WebError"]["properties"]["type"] = {"const": "error"}
    classes["WebError"]["required"].append("type")
    refusals = {
        str(status): {"description": text, "content": {"application/json": {"schema": error}, "text/html": {}}}
        for status, text in _REFUSALS.items()
    }
    paths = {
        path: {"get": _describe_request(path, request, refusals, classes)} for path, request in _list_requests().items()
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "windrow", "version": version("windrow"), "license": {"name": "Apache-2.0"},
            "description": "The web view of a workspace, which only reads. Times are UTC, sizes are in bytes.",
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(classes.items())),
            "securitySchemes": {name: {"type": "http", "scheme": name} for name in ("bearer", "basic")},
        },
        "security": [{}, {"bearer": []}, {"basic": []}],
    }  # fmt: skip


class _Request(NamedTuple):
    """What can be requested: in a line, its parameters, the media type of the answer, and the type of its value."""

    summary: str
    parameters: tuple[Parameter, ...]
    media_type: str
    kind: Any


_REFUSALS = {
    400: "the request is not valid",
    404: "it is not known, or was taken down",
    503: "the ledger or a store cannot be read, or the page took too long",
}
_JSON = "application/json"
_OTHERS = {
    "/changes.atom": _Request("Return the changes as an Atom feed.", CHANGES_PARAMETERS, "application/atom+xml", str),
    "/changes.feed": _Request(
        "Return the changes as a JSON Feed, version 1.1.",
        CHANGES_PARAMETERS,
        "application/feed+json",
        Mapping[str, Any],
    ),
    "/captures/{number}/text": _Request("Return the start of a capture as plain text.", (), "text/plain", str),
    "/captures/{number}/download": _Request("Return a capture as a file.", (), "application/octet-stream", str),
    "/sessions/{number}/events": _Request(
        "Return the progress of a session as server-sent events, until it has ended.", (), "text/event-stream", str
    ),
    "/metrics": _Request("Return counts for Prometheus.", (), "text/plain", str),
}


def _list_requests() -> dict[str, _Request]:
    """Return all that programs can request, by path."""
    requests = {
        "/index.json" if page.path == "/" else f"{page.path}.json": _request_of(page.make, page.parameters)
        for page in PAGES
    }
    requests |= {f"{page.path}/{{number}}.json": _request_of(page.make) for page in NUMBERED}
    requests |= {"/help/{name}.json": _request_of(manual.open_manual), "/healthz": _request_of(watching.health)}
    return requests | _OTHERS


def _request_of(make: Callable[..., Any], parameters: tuple[Parameter, ...] = ()) -> _Request:
    about = (inspect.getdoc(make) or "").partition("\n\n")[0].replace("\n", " ").partition("; raise ")[0]
    return _Request(about, parameters, _JSON, get_type_hints(make)["return"])


def _describe_request(path: str, request: _Request, refusals: Schema, classes: dict[str, Schema]) -> Schema:
    answer = {"schema": describe_type(request.kind, classes)}
    return {
        "operationId": re.sub(r"\W+", "_", path).strip("_"),
        "summary": request.summary,
        "parameters": [*_path_parameters(path), *map(_describe_parameter, request.parameters)],
        "responses": {"200": {"description": "the answer", "content": {request.media_type: answer}}, **refusals},
    }


def _path_parameters(path: str) -> Iterator[Schema]:
    for name in re.findall(r"{(\w+)}", path):
        schema = {"type": "integer", "minimum": 0} if name == "number" else {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _describe_parameter(parameter: Parameter) -> Schema:
    schema: Schema = {"type": "string", "maxLength": WEB_NAME_CHARACTERS.number, "minLength": int(parameter.needed)}
    if parameter.choices:
        schema = {"enum": [*parameter.choices]}
    elif parameter.most is not None:
        schema = {"type": "integer", "minimum": 0, "maximum": parameter.most}
    return {
        "name": parameter.name, "in": "query", "required": parameter.needed, "description": parameter.meaning,
        "schema": schema,
    }  # fmt: skip
