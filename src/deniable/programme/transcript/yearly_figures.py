"""The entry with the yearly figures: how many reports came in, with noise, in all and by class."""

from dataclasses import dataclass, replace
from typing import Any

from deniable.errors import DeniableError
from deniable.languages.voice import Voice
from deniable.programme.calendar import Calendar
from deniable.programme.transcript.closings import check_sealed
from deniable.programme.transcript.entry import Entry
from deniable.programme.transcript.fields import ByClass, Figure, Flag, MaybeHash, Number
from deniable.programme.transcript.state import PublicState
from deniable.yearly_figures import YearlyFigures


@dataclass(frozen=True, kw_only=True)
class Figures(Entry):
    """Follows directly on the entry that closes the last round due in a calendar year, and on no other."""

    kind = "figures"
    publishes_figures = True

    year: Number
    reports: ByClass
    """With noise, in the order of the programme's classes."""
    in_all: Figure
    """Their sum."""
    deviation: Number
    """The standard deviation of the noise in each of them, rounded up."""
    complete: Flag
    """Whether no reports of the year may be missing after a recovery."""
    sealed: MaybeHash
    """Hash of the numbers without noise and of the seed, sealed for the oversight body."""

    @classmethod
    def due(cls, state: PublicState, numbers: tuple[int, ...], sealed: str | None) -> "Figures":
        """The entry with these numbers, for the year whose last round was just closed."""
        names = [one.name for one in state.parameters.classes]
        return cls.following(
            state,
            year=state.parameters.calendar.day(state.closed).year,
            reports=tuple(zip(names, numbers, strict=True)),
            in_all=sum(numbers),
            deviation=_noise(state).deviation(),
            complete=not state.misses_reports,
            sealed=sealed,
            reason=None,
        )

    def _check_figures(self, state: PublicState) -> None:
        if not state.owes_figures:
            raise DeniableError("no yearly figures are due here: they follow on the last round of a calendar year")

    def _change(self, state: PublicState) -> PublicState:
        numbers = tuple(number for _, number in self.reports)
        if len(numbers) != len(state.parameters.classes) or self != Figures.due(state, numbers, self.sealed):
            raise DeniableError(
                "its year, its classes, their sum, the noise or what it says of missing reports is not as the "
                "programme and its record have it"
            )
        check_sealed(state.parameters, self.sealed, "the figures")
        return replace(state, figures_after=state.closed, misses_reports=state.is_paused)

    @property
    def is_usual(self) -> bool:
        return self.complete

    def deed(self, say: Voice) -> str:
        facts = self._facts(say)
        if len(self.reports) == 1:
            return say.counted(
                "yearly numbers of {year}, {number} report ± {error}",
                "yearly numbers of {year}, {number} reports ± {error}",
                self.in_all,
                **facts,
            )
        return say.counted(
            "yearly numbers of {year}, {number} report ± {error} ({by_class}, each ± {deviation})",
            "yearly numbers of {year}, {number} reports ± {error} ({by_class}, each ± {deviation})",
            self.in_all,
            **facts,
        )

    def heading(self, say: Voice) -> str:
        return say("Yearly numbers of {year}", year=say.digits(str(self.year)))

    def _facts(self, say: Voice) -> dict[str, Any]:
        by_class = say.all_of([f"{name} {say.number(number)}" for name, number in self.reports])
        year = say.digits(str(self.year))
        return {"year": year, "error": self.error, "by_class": by_class, "deviation": self.deviation}

    @property
    def error(self) -> int:
        """The standard deviation of the noise in their sum: that of each is rounded up, and so is this."""
        return YearlyFigures(self.deviation**2).deviation(len(self.reports))

    def effect(self, calendar: Calendar, say: Voice) -> str:
        means = say(
            "Random noise is in every number: two in three are off by at most what stands after ±, nearly all by at "
            "most twice that, and a number below 0 means few or none. The promise includes these numbers."
        )
        if self.complete:
            return means
        missing = say(
            "The office went on from a backup, so that reports of the year may be missing from these numbers."
        )
        return f"{missing} {means}"


def _noise(state: PublicState) -> YearlyFigures:
    if state.parameters.figures is None:
        raise DeniableError("this programme publishes no yearly figures")
    return state.parameters.figures
