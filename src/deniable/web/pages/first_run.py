"""What a one-time link opens: the first administrator, somebody who was invited, and new one-time codes."""

import io
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import segno
from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from pyotp import TOTP
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from deniable.errors import DeniableError
from deniable.web import accounts
from deniable.web.accounts import Invitation
from deniable.web.console import Console
from deniable.web.pages.common import refusal
from deniable.web.rendering import render
from deniable.web.security import Fields, Visitor, console_of, text, visitor

router = APIRouter()

WRONG = "The password or the code is not right."
WRONG_CODE = (
    "The code is not right. Type the six digits that the app shows now, and check that the telephone's clock is right."
)


@dataclass(frozen=True)
class InvitationPage:
    name: str
    """Empty where it is to be chosen."""
    role: str
    is_first: bool
    exists: bool
    """Whether the person has a password, and only sets up new codes."""
    qr: str
    """Address of the picture with the secret of the codes."""
    secret: str
    """The same for typing, in groups of four."""
    typed_name: str
    error: str | None


@router.get("/first-run/{token}")
@router.get("/invitation/{token}")
def invitation_page(request: Request, token: str, _: Annotated[Visitor, Depends(visitor)]) -> Response:
    return _page(request, _invitation(request, token), 200)


@router.get("/first-run/{token}/qr.png")
@router.get("/invitation/{token}/qr.png")
def picture(request: Request, token: str) -> Response:
    invited = _invitation(request, token)
    name = invited.person.name or "administrator"
    uri = _codes(console_of(request), invited).provisioning_uri(name, issuer_name="deniable")
    drawn = io.BytesIO()
    segno.make(uri, error="m").save(drawn, kind="png", scale=6)
    return Response(drawn.getvalue(), media_type="image/png")


@router.post("/first-run/{token}")
@router.post("/invitation/{token}")
async def accept(request: Request, token: str, fields: Fields) -> Response:
    invited = await to_thread.run_sync(_invitation, request, token)
    console = console_of(request)
    if not console.throttle.take(f"invitation {invited.person.id}", None):
        raise HTTPException(429, "There were too many tries. Wait a quarter of an hour.")
    try:
        await console.lanes.run(partial(_accept, console, invited, token, fields), stranger=False)
    except DeniableError as error:
        return await to_thread.run_sync(partial(_page, request, invited, 422, text(fields, "name"), refusal(error)))
    return RedirectResponse("/login", 303)


def _invitation(request: Request, token: str) -> Invitation:
    console = console_of(request)
    with console.store.reading() as connection:
        invited = accounts.invitation(connection, token, console.clock())
    if invited is None or invited.is_first != request.scope["path"].startswith("/first-run/"):
        raise HTTPException(404, "This link was used or has expired. Ask for another one.")
    return invited


def _accept(console: Console, invited: Invitation, token: str, fields: FormData) -> None:
    now = console.clock()
    step = accounts.matching_step(_codes(console, invited), text(fields, "code"), now)
    password, again = (str(fields.get(name, "")) for name in ("password", "again"))
    if invited.exists:
        with console.store.reading() as connection:
            known = accounts.account_of(connection, invited.person.id)
        if not console.passwords.fits(password, known.password) or step is None:
            raise DeniableError(WRONG)
        stored = known.password
    else:
        if password != again:
            raise DeniableError("the two passwords must be the same, and are not")
        if step is None:
            raise DeniableError(WRONG_CODE)
        stored = console.passwords.hashed(password)
    with console.store.writing() as connection:
        person = accounts.accept(connection, token, now, name=text(fields, "name"), password=stored, step=step)
        deed = "set up new one-time codes" if invited.exists else f"joined as {person.role}"
        accounts.record(connection, now, person.name, deed)


def _codes(console: Console, invited: Invitation) -> TOTP:
    return accounts.codes(console.key, invited.person.id, invited.generation)


def _page(
    request: Request, invited: Invitation, status: int, typed_name: str = "", error: str | None = None
) -> Response:
    secret = _codes(console_of(request), invited).secret
    page = InvitationPage(
        name=invited.person.name,
        role=invited.person.role,
        is_first=invited.is_first,
        exists=invited.exists,
        qr=f"{request.scope['path']}/qr.png",
        secret=" ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        typed_name=typed_name,
        error=error,
    )
    return render(request, "invitation.html", page, status)
