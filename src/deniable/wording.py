"""Numbers and their nouns, for all that people read."""


def plural(number: float, thing: str, things: str | None = None) -> str:
    """The noun that goes with this number.

    >>> plural(1, "entry", "entries"), plural(0, "day")
    ('entry', 'days')
    """
    return thing if number == 1 else things or f"{thing}s"


def count(number: int, thing: str, things: str | None = None) -> str:
    """The number and its noun.

    >>> count(1, "day"), count(1200, "day"), count(2, "entry", "entries")
    ('1 day', '1,200 days', '2 entries')
    """
    return f"{number:,} {plural(number, thing, things)}"
