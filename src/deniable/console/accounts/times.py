"""How the database keeps moments: in minutes."""

from datetime import datetime


def minutes(now: datetime) -> int:
    """Since 1970."""
    return int(now.timestamp()) // 60
