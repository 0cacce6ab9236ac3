"""What is said of an error of the database's driver, whose own words may quote a row."""

from sqlalchemy.exc import DBAPIError

PATIENCE = 60
"""Seconds to wait for another process that writes; every transaction takes milliseconds."""

FULL = "the disk is full; nothing was written, make room and try again"
SENTENCES = {
    "is full": FULL,
    "no space left": FULL,
    "readonly": "it cannot be written to; nothing was changed, check the permissions of the file and its folder",
    "read-only": "it cannot be written to; nothing was changed, check whether the server is a standby",
    "locked": f"another process has held it for {PATIENCE} seconds; nothing was written, try again",
    "lock timeout": f"another process has held it for {PATIENCE} seconds; nothing was written, try again",
    "unable to open": "it cannot be opened; check the path and its permissions",
    "not a database": "it is not a SQLite database, or it is damaged; check --database and, if it names the right "
    "file, restore the last backup",
    "malformed": "it is damaged; restore the last backup",
    "disk i/o error": "the disk does not answer as it should; nothing was acknowledged, check the disk",
    "permission denied": "its server denies this user a permission it needs",
    "password": "its server refused the user or the password",
    "connection": "its server cannot be reached, or the connection was lost; look at `status` before trying again",
}
OR_FULL = (SENTENCES["disk i/o error"], SENTENCES["unable to open"], SENTENCES["readonly"])
"""What SQLite says of a full disk, too, where it cannot make the files beside the database."""


def sentence_of(error: DBAPIError) -> str:
    """One of our own sentences: the driver's text may quote a row."""
    text = str(error.orig).lower()
    for sign, sentence in SENTENCES.items():
        if sign in text:
            return sentence
    return f"it refused ({type(error.orig).__name__}); nothing was written"
