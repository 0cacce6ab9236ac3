"""Small pieces of English that all of deniable writes in the same way."""


def counted(number: int, thing: str, things: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "day"), counted(1200, "day"), counted(2, "entry", "entries")
    ('1 day', '1,200 days', '2 entries')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
