"""Publishing a programme: into which folder its public files go, and when that is refused."""

from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa

from deniable.errors import DeniableError
from deniable.programme.access import Access, move_to
from deniable.programme.old_databases import check_not_behind
from deniable.programme.public import publish as public_files
from deniable.programme.public.folder import check_apart
from deniable.programme.transcript_copies import StoredTranscript, beside
from deniable.storage import tables


def publish(access: Access, folder: Path | None, *, lost: bool, keys: Iterable[Path]) -> Path:
    """`Programme.publish`."""
    with access.store.writing() as connection:  # so that no older version can overwrite a newer one
        row = connection.execute(sa.select(tables.standing)).one()
        if row.folder is None and folder is None:
            raise DeniableError("name the folder to publish into the first time: --public FOLDER")
        out = Path(row.folder) if folder is None else folder.absolute()
        check_apart(out, access.store.file, keys)
        state, places = access.trusted(connection)
        for one in {places.copy, *(copy for copy in beside(keys) if copy.exists())}:
            check_not_behind(connection, state, one, folder_may_be_away=lost)
        if str(out) != row.folder:
            move_to(str(out), connection, None if state.ended else access.transaction(connection))
        lines = StoredTranscript.read(connection, access.parameters).lines
        public_files.publish(access.parameters, lines, row.head, out, state)
    return out
