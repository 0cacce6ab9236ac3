"""What an adversary or a referee says of a mechanism that it cannot judge."""

from deniable.errors import DeniableError


class UnsuitableError(DeniableError):
    """An adversary, or the referee, does not serve this mechanism; another may."""


# What somebody's own code may raise when it is run on noise or reports that it did not expect.
FOREIGN_ERRORS = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
