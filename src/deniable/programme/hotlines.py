"""The hotlines of a programme: what each of them brings, and what is kept of it from one import to the next."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from deniable.arrays import BoolArray
from deniable.errors import DeniableError
from deniable.programme import counting
from deniable.programme.access import Access
from deniable.programme.buffer import Slots
from deniable.programme.counting import Reports
from deniable.programme.imports import ClassField, Mapping
from deniable.programme.imports.hotline_settings import Kept
from deniable.programme.imports.imported_reports import ENTERED, check_source
from deniable.programme.intake import Intake
from deniable.programme.transaction import Transaction


class PauseEndedError(DeniableError):
    """Reports that were to become known without counting would count by now."""


class Hotlines:
    """Those of one programme, by their names."""

    def __init__(self, access: Access, intake: Intake) -> None:
        self._access = access
        self._intake = intake

    def add(self, source: str) -> None:
        """Make room for a hotline before its first import, so that the stored length does not tell when that is."""
        with self._access.writing() as transaction:
            transaction.add_source(check_source(source))

    def names(self) -> tuple[str, ...]:
        """Of all that it knows, in the order of the alphabet."""
        with self._access.looking() as transaction:
            return tuple(sorted(name for name in transaction.sources() if name != ENTERED))

    def bring(
        self,
        source: str,
        reports: Reports,
        *,
        count: bool = True,
        only_paused: bool = False,
        name: str | None = None,
        owner: str = "",
    ) -> "tuple[bool, Future[None]]":
        """Take in those reports of a hotline that are new. Returns whether imports are paused, so that none of these
        counts, and a future that is done when they are on the disk. Under its `name` the import can be taken back until
        it is counted. Refused while another one of the same owner is not on the disk, and with `only_paused` where
        imports are not paused.
        """
        self._make_room(source)

        def made(transaction: Transaction) -> tuple[Slots, bool]:
            if only_paused and not transaction.state.is_paused:
                raise PauseEndedError(
                    "imports are not paused any more, and this file would count now; read this page again before you "
                    "import it"
                )
            return counting.imported(transaction, source, reports, count=count, name=name)

        return self._intake.bring(made, owner)

    def bring_and_tell(self, source: str, reports: Reports, *, count: bool = True) -> int:
        """The same, when they are on the disk, and how many of them count. Confidential."""
        self._make_room(source)
        made = partial(counting.imported_and_told, source=source, reports=reports, count=count)
        counted, written = self._intake.bring(made)
        written.result()
        return counted

    def is_importing(self, owner: str) -> bool:
        """Whether an import of this owner is not on the disk yet."""
        return self._intake.is_importing(owner)

    def look(self, source: str, reports: Reports) -> BoolArray:
        """Which of these reports, in their order, would count if they were imported now. Confidential."""
        with self._access.looking() as transaction:
            return counting.looked_at(transaction, check_source(source), reports)

    def take_back(self, source: str, name: str) -> "Future[None]":
        """Let the import of this name count for nothing, if it is not counted by the time this is on the disk
        (`is_final`). Its reports can be imported again.
        """
        return self._intake.bring(partial(counting.taken_back, source=source, name=name))[1]

    def is_final(self, source: str, name: str) -> bool:
        """Whether the import of this name is counted, and cannot be taken back any more. Public: it follows from the
        clock, and from when entries of the transcript were made.
        """
        with self._access.looking() as transaction:
            return counting.is_final(transaction, source, name)

    def kept(self, source: str) -> Kept:
        """What is kept of a hotline. Not public: a channel is assigned because a report came through it."""
        with self._access.looking() as transaction:
            return transaction.kept(source) if source in transaction.sources() else Kept()

    def keep(self, source: str, change: Callable[[Kept], Kept]) -> Kept:
        """Change what is kept of a hotline."""
        self._make_room(source)
        with self._access.writing() as transaction:
            changed = change(transaction.kept(source))
            transaction.write_kept(source, changed)
        return changed

    def mappings(self, kept: Kept) -> tuple[Mapping, ClassField | None]:
        """What an import follows of it, with the targets that take part now."""
        with self._access.looking() as transaction:
            state = transaction.state
        classes = state.parameters.classes
        return kept.mapping(state.targets, state.present, classes), kept.class_field(classes)

    def _make_room(self, source: str) -> None:
        if check_source(source) not in self.names():
            self.add(source)
