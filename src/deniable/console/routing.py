"""Pages by their addresses, and what each of them is given.

A page is a function that its file's `router` gives an address:

    @router.post("/transcript/find", writes=False)
    def find(
        request: Request, person: Annotated[Person, require("transcript")], programme: CurrentProgramme, fields: Fields
    ) -> Response

The annotations say what it is given, from left to right. Other parameters are parts of the address. A form is read
first; who sent it is looked up when all of it has come, in the same moment of the database in which the page is made.
So sending a form asks the database no more than opening a page does.

A page to look at (`get`) is made on the event loop, one after the other. So is what a form does that writes nothing
(`writes=False`), or waits for nothing but what it awaits (`async`). Where more than some milliseconds may follow, they
say `takes_long()`, or leave that to `Paced` and `Remembered`, and are made again in a thread. What other forms do is
done in a thread, since it may wait until it may write.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar, get_args

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from deniable.console.security import (
    Fields,
    Given,
    SignInFirst,
    check_token,
    form,
    in_slow_thread,
    is_known_first,
    quickly,
)
from deniable.errors import DeniableError

Page = TypeVar("Page", bound=Callable[..., Response | Awaitable[Response]])


@dataclass(frozen=True)
class Route:
    """A page at its address."""

    method: str
    path: str
    page: Callable[..., Any]
    given: Mapping[str, Callable[[Request], Any]]
    """How what it is given is found in the request, by the parameter's name, in their order."""
    fields: str | None
    """The parameter that is given the fields of a form."""
    writes: bool
    """Whether what its form does is done in a thread."""

    @classmethod
    def to(cls, method: str, path: str, page: Callable[..., Any], *, writes: bool) -> "Route":
        given, fields = dict[str, Callable[[Request], Any]](), None
        for name, parameter in signature(page).parameters.items():
            found = [one.found for one in get_args(parameter.annotation)[1:] if isinstance(one, Given)]
            if found:
                given[name] = found[0]
            elif parameter.annotation == Fields:
                fields = name
            elif name == "request":
                given[name] = _itself
            else:
                given[name] = partial(_part, name)
        return cls(method, path, page, given, fields, writes and not iscoroutinefunction(page))

    async def answer(self, request: Request) -> Response:
        if self.fields is None:
            return await quickly(request, lambda: self.page(**self._given(request)))
        if is_known_first(request):
            await quickly(request, partial(self._given, request))
        async with form(request) as fields:
            done = in_slow_thread if self.writes else quickly
            response: Response = await done(request, partial(self._sent, request, {self.fields: fields}))
            return response

    def _sent(self, request: Request, fields: dict[str, FormData]) -> Any:
        """What the page answers to a form."""
        given = self._given(request)
        check_token(request, *fields.values())
        return self.page(**given, **fields)

    def _given(self, request: Request) -> dict[str, Any]:
        return {name: found(request) for name, found in self.given.items()}


def _itself(request: Request) -> Request:
    return request


def _part(name: str, request: Request) -> str:
    part: str = request.path_params[name]
    return part


class Router:
    """The pages of one file."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self.routes: list[Route] = []

    def get(self, path: str) -> Callable[[Page], Page]:
        return partial(self._add, "GET", path, False)

    def post(self, path: str, *, writes: bool = True) -> Callable[[Page], Page]:
        return partial(self._add, "POST", path, writes)

    def _add(self, method: str, path: str, writes: bool, page: Page) -> Page:
        self.routes.append(Route.to(method, self._prefix + path, page, writes=writes))
        return page


class Pages:
    """All pages."""

    def __init__(self, routers: Iterable[Router]) -> None:
        self.routes = [route for router in routers for route in router.routes]
        self._exact = {(route.method, route.path): route for route in self.routes if "{" not in route.path}
        self._patterns = [(route, address_of(route.path)) for route in self.routes]

    async def answer(self, request: Request) -> Response:
        """What the page at the request's address answers; refused where there is none. Who opens the address of a
        form's answer again, in a tab that the browser restores for example, is led to the page that has the form.
        """
        method, path = request.method, request.scope["path"]
        if method == "GET" and self._is_form(path):
            return RedirectResponse(self.page_above(path) or "/", 303)
        route = self._exact.get((method, path))
        if route is None:
            route, request.scope["path_params"] = self._found(method, path)
        return await route.answer(request)

    def has(self, path: str) -> bool:
        """Whether this is the address of a page to look at: of ours, and in plain letters."""
        return _PLAIN.fullmatch(path) is not None and not self._is_form(path) and "GET" in self._methods(path)

    def page_above(self, path: str) -> str:
        """The address itself where it is that of a page to look at, or else the nearest above it; empty where there is
        none but the first page.
        """
        while path and not self.has(path):
            path = path.rpartition("/")[0]
        return path

    def _is_form(self, path: str) -> bool:
        """Whether there is nothing to look at here, only an answer to a form."""
        if ("POST", path) in self._exact:
            return ("GET", path) not in self._exact
        return ("GET", path) not in self._exact and self._methods(path) == {"POST"}

    def _methods(self, path: str) -> set[str]:
        return {route.method for route, pattern in self._patterns if pattern.fullmatch(path)}

    async def admits(self, request: Request) -> bool:
        """Whether the page at the request's address is there, and for the person who asks."""
        try:
            route, request.scope["path_params"] = self._found("GET", request.scope["path"])
            await quickly(request, partial(route._given, request))
        except (HTTPException, DeniableError, SignInFirst):
            return False
        return True

    def _found(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        matches = [(route, pattern.fullmatch(path)) for route, pattern in self._patterns]
        found = {route.method: (route, match.groupdict()) for route, match in matches if match is not None}
        if not found:
            raise HTTPException(404)
        if method not in found:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(found))})
        return found[method]


_PLAIN = re.compile(r"(/[\w-]+)+", re.ASCII)


def address_of(path: str) -> re.Pattern[str]:
    """Names in braces stand for one part of an address each."""
    parts = re.split(r"{(\w+)}", path)
    return re.compile("".join(f"(?P<{part}>[^/]+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)))
