"""How the JSON API is used: its own OpenAPI document, for people."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from deniable.console.accounts.people import Person
from deniable.console.rendering import origin_of, render
from deniable.console.security import require

router = APIRouter()


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
    app, here = request.app, origin_of(request)
    operations = tuple(
        _operation(here, method, path, described)
        for path, methods in app.openapi()["paths"].items()
        for method, described in methods.items()
    )
    return render(request, "api.html", ApiPage(operations, app.openapi_url))


def _operation(here: str, method: str, path: str, described: dict[str, Any]) -> Operation:
    command = f'curl -H "Authorization: Bearer $TOKEN" {here}{path}'
    takes = _properties(described["requestBody"]) if "requestBody" in described else {}
    if takes:
        command += f" --json '{json.dumps({name: schema['example'] for name, schema in takes.items()})}'"
    return Operation(
        method=method.upper(),
        path=path,
        summary=described["summary"],
        description=described["description"],
        takes=_meanings(takes),
        fields=_meanings(_properties(described["responses"]["200"])),
        command=command,
        answers=tuple(Answer(status, answer["description"]) for status, answer in described["responses"].items()),
    )


def _properties(described: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = described["content"]["application/json"]["schema"]["properties"]
    return properties


def _meanings(properties: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, schema["description"]) for name, schema in properties.items())
