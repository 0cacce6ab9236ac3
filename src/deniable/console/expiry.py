"""For how long something that waits for a person is kept in memory."""

from datetime import datetime, timedelta


def is_kept(until: datetime, now: datetime, kept_for: timedelta) -> bool:
    """Whether its time is not over. It is over as well where the clock was set back since: it would be kept until the
    clock has caught up.
    """
    return now < until <= now + kept_for
