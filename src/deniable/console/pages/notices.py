"""What stands above several pages as long as it is true: that the promise is lost at present, or that public files are.

Public facts alone: everyone who works with reports reads it.
"""

from dataclasses import dataclass

from deniable.console.console import Console
from deniable.console.pages.published import Damage, damage_of
from deniable.languages.voice import Voice
from deniable.programme.calendar import Day
from deniable.programme.programme import Programme
from deniable.programme.status import Status


@dataclass(frozen=True)
class Notices:
    lost_until: Day | None = None
    """Reports that are filed before are not covered; None where those filed now are."""
    damage: Damage = ""
    """Of the public folder, which people must put right before anything can be published."""


def notices_of(console: Console, programme: Programme, status: Status, say: Voice) -> Notices:
    """Of a programme that has not ended."""
    if status.ended:
        return Notices()
    return Notices(status.coverage.lost_until(console.clock(), say), damage_of(console, programme))
