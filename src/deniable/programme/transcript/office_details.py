"""How the public reaches the office and its hotline: what the office may write, and what of it is a link."""

import re
from typing import Annotated, Any, NamedTuple

from deniable.errors import DeniableError
from deniable.message import Message, why_not
from deniable.programme.names import check_name
from deniable.programme.transcript.fields import or_null

LONGEST_CONTACT = 300
LONGEST_HOTLINE = 300

_HOST = r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z0-9]"
_REST = r"(?::[0-9]{1,5})?(?:[/?#][!#-;=?-\[\]_a-z~]*)?"
_LINK = re.compile(rf"https://{_HOST}{_REST}|http://(?:[a-z0-9-]+\.)*[a-z2-7]{{56}}\.onion{_REST}", re.IGNORECASE)
_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|.*://", re.IGNORECASE)


class OfficeDetails(NamedTuple):
    """The newest that the public was told."""

    contact: str | None
    hotline: str | None
    day: str
    """On which the office recorded it, YYYY-MM-DD."""

    @property
    def link(self) -> str | None:
        """The hotline's address, where it is a link."""
        return self.hotline if self.hotline is not None and _LINK.fullmatch(self.hotline) else None


def check_contact(name: str | Message, value: Any) -> str:
    """Any words on one line."""
    return check_name(name, value, LONGEST_CONTACT)


def check_hotline(name: str | Message, value: Any) -> str:
    """A link that a browser may follow without harm, or words that are no address of any other kind."""
    text = check_name(name, value, LONGEST_HOTLINE)
    if _ANY_SCHEME.match(text) and not _LINK.fullmatch(text):
        raise DeniableError(
            "{name} must be a link that begins with https://, an onion link that begins with "
            "http://, or a phone number or other words that do not look like a link",
            name=name,
        )
    return text


Contact = Annotated[str | None, or_null(check_contact)]
Hotline = Annotated[str | None, or_null(check_hotline)]


def typed(contact: str, hotline: str) -> tuple[str | None, str | None]:
    """Both as a person typed them; what is empty is not given."""
    return (
        check_contact(why_not("the contact"), contact.strip()) if contact.strip() else None,
        check_hotline(why_not("the hotline"), hotline.strip()) if hotline.strip() else None,
    )
