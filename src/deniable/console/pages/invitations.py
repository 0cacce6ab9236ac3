"""What a one-time link opens: the first administrator, somebody who was invited, and new one-time codes."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import segno
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from deniable.console import sessions
from deniable.console.accounts import activity, invitations, people, totp
from deniable.console.accounts.invitations import Invitation
from deniable.console.accounts.people import ROLE_NAMES, Role
from deniable.console.console import Console
from deniable.console.pages.common import redirect, refusal
from deniable.console.rendering import render
from deniable.console.routing import Router
from deniable.console.security import AnyVisitor, Fields, LinkGone, Refused, Visitor, console_of, quickly, text
from deniable.console.voices import voice_of
from deniable.errors import DeniableError
from deniable.message import Message, noted
from deniable.programme.calendar import Day, day_in_words

router = Router()

WRONG = noted("The password or the code is wrong. Type them again, with the code that the app shows now.")
GONE = noted(
    "This link was used or withdrawn, or has expired. Ask the administrator for a new one. If you have joined already, "
    "sign in."
)
GONE_FIRST = noted(
    "This link was used, or the console was started again since. If there is no administrator yet, ask the person who "
    "runs the server to start the console again, and for the new link that it shows then."
)
WRONG_CODE = noted(
    "The code is wrong. Type the six digits that the app shows now, and check that your telephone's clock is right."
)
TYPE_AGAIN = noted("Type both passwords again, and the code last.")


@dataclass(frozen=True)
class InvitationPage:
    name: str
    """Empty where it is to be chosen."""
    role: Role
    is_first: bool
    joins: bool
    """Otherwise the person has a password, and only sets up new codes."""
    until: Day
    """The last on which the link works."""
    here: str
    """Address of the page itself."""
    qr: str
    """Address of the picture with the secret of the codes."""
    uri: str
    """The same as a link, for the telephone on which the app is."""
    secret: str
    """The same for typing, in groups of four; every visit has another."""
    typed_name: str
    mistakes: tuple[Message, ...]
    wrong: Mapping[str, Message]
    """Of the mistakes, those of a field, by its name."""


@dataclass(frozen=True, repr=False)
class OpenedInvitation:
    """A link that somebody has opened, and the one-time codes it shows to them and to nobody else."""

    token: str
    invitation: Invitation
    salt: str


@router.get("/first-run/{token}")
@router.get("/invitation/{token}")
def invitation_page(request: Request, token: str, who: AnyVisitor) -> Response:
    return _page(request, _opened(request, token, who), 200)


@router.get("/first-run/{token}/qr.png")
@router.get("/invitation/{token}/qr.png")
def picture(request: Request, token: str, who: AnyVisitor) -> Response:
    opened = _opened(request, token, who)
    drawn = io.BytesIO()
    segno.make(_uri(request, opened), error="m").save(drawn, kind="png", scale=6)
    return Response(drawn.getvalue(), media_type="image/png")


@router.post("/first-run/{token}")
@router.post("/invitation/{token}")
async def accept(request: Request, token: str, who: AnyVisitor, fields: Fields) -> Response:
    opened = _opened(request, token, who)
    console, person = console_of(request), opened.invitation.person
    console.password_queues.check(stranger=False)
    if not console.throttle.take(f"invitation {person.id}", None):
        raise Refused(429, noted("There were too many tries. Wait a quarter of an hour."))
    try:
        mistakes = await console.password_queues.run(partial(_accept, console, opened, fields), stranger=False)
    except DeniableError as error:
        mistakes = {"": refusal(error)}
    if mistakes:
        return await quickly(request, partial(_page, request, opened, 422, text(fields, "name"), mistakes))
    response = redirect("/login", "joined" if opened.invitation.joins else "codes")
    console.set_cookie(response, "device", sessions.new_device_cookie(console.key, person.id))
    return response


def _uri(request: Request, opened: OpenedInvitation) -> str:
    """The secret of the codes as authenticator apps take it."""
    person = opened.invitation.person
    codes = totp.totp(console_of(request).key, person.id, opened.salt)
    return codes.provisioning_uri(name=person.name or "administrator", issuer_name="deniable")


def _opened(request: Request, token: str, who: Visitor) -> OpenedInvitation:
    console = console_of(request)
    with console.store.reading() as connection:
        invitation = invitations.find(connection, console.key, token, console.clock())
    is_first_run = request.scope["path"].startswith("/first-run/")
    if invitation is None or invitation.is_first != is_first_run:
        raise LinkGone(404, GONE_FIRST if is_first_run else GONE)
    return OpenedInvitation(token, invitation, invitations.salt(console.key, token, who.name))


def _accept(console: Console, opened: OpenedInvitation, fields: FormData) -> dict[str, Message]:
    """All that is wrong, by the field; nothing where the person has joined."""
    now, key, invitation = console.clock(), console.key, opened.invitation
    step = totp.matching_step(totp.totp(key, invitation.person.id, opened.salt), text(fields, "code"), now)
    password, again = (str(fields.get(name, "")) for name in ("password", "again"))
    if invitation.joins:
        mistakes = {} if step is not None else {"code": WRONG_CODE}
        try:
            stored = console.passwords.new(password, again)
        except DeniableError as error:
            mistakes["password" if password == again else "again"] = refusal(error)
        if invitation.is_first:
            mistakes |= _wrong_name(console, text(fields, "name"))
        if mistakes or step is None:
            return mistakes
    else:
        with console.store.reading() as connection:
            stored = people.known(connection, key, invitation.person.id).password
        if not console.passwords.matches(password, stored) or step is None:
            raise DeniableError(WRONG)
    with console.store.writing() as connection:
        person = invitations.accept(
            connection, key, opened.token, now, salt=opened.salt, step=step, name=text(fields, "name"), password=stored
        )
        joined = noted("joined as {role}", role=ROLE_NAMES[person.role])
        action = joined if invitation.joins else noted("set up new one-time codes")
        activity.record(connection, now, person.name, action, "people")
    return {}


def _wrong_name(console: Console, name: str) -> dict[str, Message]:
    try:
        with console.store.reading() as connection:
            people.free_name(connection, console.key, name)
    except DeniableError as error:
        return {"name": refusal(error)}
    return {}


_NONE: Mapping[str, Message] = {}


def _page(
    request: Request,
    opened: OpenedInvitation,
    status: int,
    typed_name: str = "",
    mistakes: Mapping[str, Message] = _NONE,
) -> Response:
    invitation = opened.invitation
    again = (TYPE_AGAIN,) if mistakes and invitation.joins else ()
    secret = totp.totp(console_of(request).key, invitation.person.id, opened.salt).secret
    page = InvitationPage(
        name=invitation.person.name,
        role=invitation.person.role,
        is_first=invitation.is_first,
        joins=invitation.joins,
        until=day_in_words(invitation.until, voice_of(request)),
        here=request.scope["path"],
        qr=f"{request.scope['path']}/qr.png",
        uri=_uri(request, opened),
        secret=" ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        typed_name=typed_name,
        mistakes=(*mistakes.values(), *again),
        wrong={field: mistake for field, mistake in mistakes.items() if field},
    )
    return render(request, "invitation.html", page, status)
