"""Who may do what, and what every request must show for it."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Annotated, Any, Literal, TypeVar
from unicodedata import normalize

from anyio import to_thread
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request

from deniable.console import sessions
from deniable.console.accounts.people import ROLE_NAMES, ROLES, Person, Role
from deniable.console.console import Console
from deniable.console.console import console_of as console_of  # noqa: PLC0414, pages have it from here
from deniable.console.kept_forms import KeptForm
from deniable.console.limits import Refused as Refused  # noqa: PLC0414, pages have it from here
from deniable.console.remembered import TakesLong
from deniable.console.sessions import Session
from deniable.errors import DeniableError
from deniable.message import Message, all_of, noted, noted_count
from deniable.programme.names import check_name, has_piled_marks
from deniable.storage.store import OneMomentError, is_storable

T = TypeVar("T")

Permission = Literal[
    "account",
    "people",
    "activity",
    "health",
    "plan",
    "report",
    "withdraw",
    "counts",
    "round",
    "close",
    "decide",
    "transcript",
    "publish",
    "guarantee",
    "resume",
]

ALLOWED: Mapping[Permission, tuple[Role, ...]] = {
    "account": ROLES,  # one's own
    "people": ("administrator",),  # invite, disable, remove, reset codes; tokens
    "activity": ("administrator", "auditor"),
    "health": ("administrator", "operator", "auditor"),
    "plan": ("auditor",),
    "report": ("importer", "auditor"),  # enter and import reports
    "withdraw": ("auditor",),  # take back what was entered, with its receipt
    "counts": ("auditor",),
    "round": ("operator", "auditor"),
    "close": ("operator", "auditor"),
    "decide": ("operator", "auditor"),  # skip, override, targets, rename, carried out or not
    "transcript": ("operator", "auditor"),
    "publish": ("operator", "auditor"),
    "guarantee": ("administrator", "operator", "auditor"),
    "resume": ("auditor",),  # let imports count again after a recovery
}


UPLOAD = "/import"
MOST_MEGABYTES = 64
MOST_UPLOADED = MOST_MEGABYTES * 1024 * 1024
"""Bytes of an export. It is assumed that a hotline's exports stay below; the terminal has no such limit."""
SMALL = 64 * 1024
LARGE = {
    UPLOAD: MOST_UPLOADED,
    "/import/channels/file": 2 * 1024 * 1024,  # a file that was looked at comes again in base64
    "/plan": 1024 * 1024,
    "/api/v1/reports": 1024 * 1024,
}
_MULTIPART, _URLENCODED = "multipart/form-data", "application/x-www-form-urlencoded"


def most_bytes(scope: Mapping[str, Any]) -> int:
    """What a request may bring, by its path; only a form with a file in it is an upload."""
    if scope["path"] == UPLOAD and _kind(Headers(raw=scope["headers"])) != _MULTIPART:
        return SMALL
    return LARGE.get(scope["path"], SMALL)


def _kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class SignInFirst(Exception):  # noqa: N818
    """The page is for people who are signed in."""


class LinkGone(Refused):
    """A link for one use that was used, withdrawn or has expired."""


class FormTooOld(Refused):
    """A form that this browser was not given in this session. Nothing was done."""


class NotSetUp(Refused):
    """The page needs something that the office has not set up yet."""


@dataclass(frozen=True)
class Visitor:
    """Who made the request."""

    person: Person | None
    name: str = field(repr=False)
    """Of the session, or of the visit of a person who is not signed in: what their cookies have in common."""
    is_new: bool
    """Whether the browser does not have the cookie of the visit yet."""
    renewed: str | None = field(default=None, repr=False)
    """The session's cookie that the browser should have from now on, if it has an older one."""


def may(person: Person | None, permission: Permission) -> bool:
    return person is not None and person.role in ALLOWED[permission]


@dataclass(frozen=True)
class Given:
    """In the annotation of a page's parameter: how what it is given is found in the request."""

    found: Callable[[Request], Any]


def visitor(request: Request) -> Visitor:
    """Who made the request; the answer brings a cookie that says when (`app.Guard`), and nothing is written."""
    console = console_of(request)
    cookie = request.cookies.get(console.cookie_name("session"), "")
    found = _session(console, cookie)
    if found is not None:
        result = Visitor(found.person, sessions.name_in(cookie), is_new=False, renewed=found.renewed)
    else:
        visit = request.cookies.get(console.cookie_name("visit"), "")
        result = Visitor(None, visit or secrets.token_urlsafe(16), is_new=not visit)
    request.state.visitor = result
    return result


AnyVisitor = Annotated[Visitor, Given(visitor)]
"""Signed in or not, for the few pages that people see before they sign in."""


def _session(console: Console, cookie: str) -> Session | None:
    """The database is not asked about a cookie that strangers made."""
    now = console.clock()
    if sessions.open_since(console.key, cookie, now) is None:
        return None
    with console.store.reading() as connection:
        return sessions.find(connection, console.key, cookie, now)


def require(permission: Permission) -> Given:
    """For a page's parameter: the person who is signed in, if their role has this permission.

    Name it first in the page's signature, so that nothing else is looked at for anybody else:

        def page(request: Request, person: Annotated[Person, require("counts")], fields: Fields) -> Response
    """

    def check(request: Request) -> Person:
        person = visitor(request).person
        if person is None:
            raise SignInFirst
        if not may(person, permission):
            raise Refused(403, _not_for(person, permission))
        return person

    return Given(check)


def _not_for(person: Person, permission: Permission) -> Message:
    allowed = ALLOWED[permission]
    return noted_count(
        "Your role is {role}. This page is for another role: {roles}.",
        "Your role is {role}. This page is for these roles: {roles}.",
        len(allowed),
        role=ROLE_NAMES[person.role],
        roles=all_of(ROLE_NAMES[one] for one in allowed),
    )


async def quickly(request: Request, work: Callable[[], T | Awaitable[T]]) -> T:
    """What this work comes to: done here (`Store.at_one_moment`), or begun anew in a thread where it writes or takes
    long (`takes_long`). It changes nothing before.
    """
    try:
        done = console_of(request).store.at_one_moment(work)
    except (TakesLong, OneMomentError):
        done = await in_slow_thread(request, work)
    return await done if isawaitable(done) else done


async def in_slow_thread(request: Request, work: Callable[[], T]) -> T:
    """The same in a thread in any case: it takes long, or waits until it may write."""
    return await to_thread.run_sync(work, limiter=console_of(request).slow_threads)


class _InMemory(MultiPartParser):
    """Uploads are confidential and never touch the disk. The body's size is bounded before it comes here."""

    spool_max_size = 2**40


def is_known_first(request: Request) -> bool:
    """Whether it is looked up who sends a form before any of it is read, too: where much may come, and where the
    browser has no session, of which the database is not asked.
    """
    console = console_of(request)
    cookie = request.cookies.get(console.cookie_name("session"), "")
    return request.scope["path"] in LARGE or sessions.open_since(console.key, cookie, console.clock()) is None


@asynccontextmanager
async def form(request: Request) -> AsyncIterator[FormData]:
    """The fields of a form, once all of it has come, which may take minutes. Who sends it, and from where, is not
    known yet: a person who was disabled, removed or signed out in the meantime does nothing any more.
    """
    who: Visitor | None = getattr(request.state, "visitor", None)
    is_upload = request.scope["path"] == UPLOAD
    async with (
        console_of(request).upload_slots.slot(who.person.id) if is_upload and who and who.person else nullcontext()
    ):
        fields = await _parsed(request)
        try:
            yield fields
        finally:
            await fields.close()


def check_token(request: Request, fields: FormData) -> None:
    """Refuse a form that this very console did not give to this very session or visit."""
    who: Visitor = getattr(request.state, "visitor", None) or visitor(request)
    given = fields.get("csrf")
    if not isinstance(given, str) or not sessions.is_form_token(console_of(request).key, who.name, given):
        raise FormTooOld(403, noted("Nothing was sent: the form was too old or came from elsewhere."))


async def typed_before(request: Request) -> KeptForm | None:
    """The form that was sent, if this console gave it to this browser's last session; None where it has files.

    Nothing is done with it: the session has ended.
    """
    if _kind(request.headers) != _URLENCODED:
        return None
    console = console_of(request)
    fields = await _parsed(request)
    given, cookie = fields.get("csrf"), request.cookies.get(console.cookie_name("session"), "")
    if not isinstance(given, str) or not sessions.is_form_token(console.key, cookie, given):
        return None
    typed = tuple((name, value) for name, value in fields.multi_items() if isinstance(value, str))
    return KeptForm(request.scope["path"], typed)


async def _parsed(request: Request) -> FormData:
    """What comes can be read once; after that it is known."""
    known: FormData | None = getattr(request.state, "fields", None)
    if known is not None:
        return known
    kind = _kind(request.headers)
    if kind not in {_MULTIPART, _URLENCODED, ""}:
        raise Refused(415, noted("The form cannot be read; send it as a browser does."))
    try:
        if kind == _MULTIPART:
            parser = _InMemory(request.headers, request.stream(), max_files=4, max_fields=2000, max_part_size=2**20)
            fields = await parser.parse()
        else:
            fields = await FormParser(request.headers, request.stream()).parse()
    except (MultiPartException, ValueError, LookupError):  # the last for a character set that there is not
        raise Refused(400, noted("The form cannot be read.")) from None
    if not all(_is_text(value) for _, value in fields.multi_items() if isinstance(value, str)):
        raise Refused(400, noted("The form has something in it that is not text."))
    request.state.fields = fields
    return fields


def _is_text(typed: str) -> bool:
    """Whether a database takes it, and it is soon compared with others; also strangers type names and passwords."""
    return is_storable(typed) and not has_piled_marks(typed)


Fields = Annotated[FormData, form]
"""What a page that changes something is given, so that the form's origin is checked."""


def text(fields: FormData, name: str) -> str:
    """One field of a form, without spaces around it; empty where it is missing."""
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def texts(fields: FormData, name: str) -> list[str]:
    """All fields of that name, such as ticked boxes."""
    return [value.strip() for value in fields.getlist(name) if isinstance(value, str)]


def uploaded(fields: FormData, name: str) -> bytes:
    """The content of a file, however often it is asked for; empty where none was chosen."""
    value = fields.get(name)
    if not isinstance(value, UploadFile):
        return b""
    value.file.seek(0)
    return value.file.read()


def check_chosen(fields: FormData, name: str, *, may_be_empty: bool = False) -> None:
    """Refuse a form without its file."""
    value = fields.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        raise DeniableError("Choose a file first.")
    if not may_be_empty and not uploaded(fields, name):
        raise DeniableError("Choose a file that is not empty.")


def file_name(fields: FormData, name: str) -> str:
    """What the person's computer calls the file; empty where that is no name that can be shown."""
    value = fields.get(name)
    given = normalize("NFC", value.filename or "") if isinstance(value, UploadFile) else ""
    with suppress(DeniableError):
        return check_name("a file's name", given)
    return ""
