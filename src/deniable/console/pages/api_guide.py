"""How the JSON API is used: its own OpenAPI document, for people."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from starlette.requests import Request
from starlette.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.rendering import origin_of, render
from deniable.console.routing import Router
from deniable.console.security import console_of, require

router = Router()


@dataclass(frozen=True)
class Answer:
    status: str
    meaning: str


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    summary: str
    description: str
    takes: tuple[tuple[str, str], ...]
    """The fields of what is sent: name and meaning."""
    fields: tuple[tuple[str, str], ...]
    """The same of what it answers."""
    command: str
    """How it is called from a terminal."""
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class ApiPage:
    operations: tuple[Operation, ...]
    document: str
    """Address of the OpenAPI document."""


@router.get("/api")
def api_page(request: Request, _: Annotated[Person, require("people")]) -> Response:
    document, here, programme = request.app.openapi(), origin_of(request), console_of(request).programme()
    classes = [] if programme is None else [one.name for one in programme.parameters.classes]
    operations = tuple(
        _operation(document, f"{method} {path}", here, classes)
        for path, methods in document["paths"].items()
        for method in methods
    )
    return render(request, "api.html", ApiPage(operations, request.app.openapi_url))


def _operation(document: dict[str, Any], name: str, here: str, classes: Sequence[str]) -> Operation:
    method, _, path = name.partition(" ")
    described = document["paths"][path][method]
    command = f'curl -H "Authorization: Bearer $TOKEN" {here}{path}'
    takes = _properties(document, described["requestBody"]) if "requestBody" in described else {}
    if takes:
        example = {name: schema["examples"][0] for name, schema in takes.items()} | {"class": next(iter(classes), "")}
        if len(classes) < 2:
            del example["class"]
        command += f" --json '{json.dumps(example)}'"
    return Operation(
        method=method.upper(),
        path=path,
        summary=described["summary"],
        description=described["description"],
        takes=_meanings(takes),
        fields=_meanings(_properties(document, described["responses"]["200"])),
        command=command,
        answers=tuple(Answer(status, answer["description"]) for status, answer in described["responses"].items()),
    )


def _properties(document: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    schema = described["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    properties: dict[str, Any] = schema["properties"]
    return properties


def _meanings(properties: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, schema["description"]) for name, schema in properties.items())
