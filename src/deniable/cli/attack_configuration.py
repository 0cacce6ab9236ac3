"""What `deniable attack` attacks: mechanisms with all their settings, from options or from a public folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.cli.groups import imported
from deniable.cli.options import rules_in_words
from deniable.mechanisms import NEEDS, Mechanism, Race, calibrate
from deniable.mechanisms.forecasts import FORECASTS
from deniable.mechanisms.race import Weights
from deniable.rules import Rules
from deniable.wording import count

if TYPE_CHECKING:
    from deniable.programme.public.verify import VerificationResult

NAMES = {rule: name for name, rule in FORECASTS.items()}
LEARNT = {
    None: "equal weights",
    "forecast": "weights learnt from past audits",
    "steady-forecast": "weights learnt from past audits, for steady rates",
}


@dataclass(frozen=True)
class Configuration:
    """Mechanisms by id, each with the same targets, audits a round, rules and weights."""

    mechanisms: Mapping[str, Mechanism[Any]]
    audits: int
    delta: float | None
    targets: tuple[str, ...] | None = None
    """Their names, in a programme."""
    programme: Mapping[str, Any] | None = None
    """Which programme, and that it was verified."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms.values():
            mechanism.check_round(0, self.n_targets, self.audits)

    @property
    def _any(self) -> Mechanism[Any]:
        return next(iter(self.mechanisms.values()))

    @property
    def n_targets(self) -> int:
        return self._any.n_targets

    @property
    def rules(self) -> Rules:
        return self._any.rules

    @property
    def weights(self) -> tuple[float, ...] | str | None:
        weights = self._any.weights if isinstance(self._any, Race) else None
        return NAMES[weights] if callable(weights) else weights

    @property
    def extremes(self) -> dict[str, int]:
        """The lightest and the heaviest target, where weights differ."""
        if not isinstance(self.weights, tuple) or len(set(self.weights)) == 1:
            return {}
        return {"lightest": int(np.argmin(self.weights)), "heaviest": int(np.argmax(self.weights))}

    def described(self, mechanism_id: str) -> str:
        """One of the mechanisms with all that was attacked of it.

        >>> race = Race(5, 1.3, rules=Rules(max_gap=9))
        >>> Configuration({"race": race}, audits=2, delta=0.1).described("race")
        'race, 5 targets, 2 audits a round, every target at least once in 9 rounds, equal weights'
        """
        weighted = "fixed weights" if isinstance(self.weights, tuple) else LEARNT[self.weights]
        return ", ".join([
            mechanism_id,
            f"{self.n_targets:,} targets",
            f"{count(self.audits, 'audit')} a round",
            *(rules_in_words(self.rules) or ["no rules"]),
            *([weighted] if mechanism_id == "race" else []),
        ])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "programme": self.programme,
            "targets": self.n_targets,
            "delta": self.delta,
            "audits": self.audits,
            "rules": asdict(self.rules),
            "weights": self.weights,
        }


def chosen(
    mechanism_ids: Sequence[str],
    n_targets: int,
    rounds: int,
    *,
    delta: float | None,
    audits: int,
    rules: Rules,
    weights: Weights | None,
) -> Configuration:
    """What the options describe. Counters are calibrated for the max_gap where there is one, as in a programme."""
    built = {}
    for name in mechanism_ids:
        for_gap = rules.max_gap is not None and "horizon" in NEEDS.get(name, ())
        built[name] = calibrate(name, n_targets, delta, None if for_gap else rounds, rules=rules, weights=weights)
    return Configuration(built, audits, delta)


def published(folder: Path) -> Configuration:
    """What the programme in this public folder has been set up with; its folder is verified first."""
    report: VerificationResult = imported("deniable.programme.public.verify").verify(folder)
    parameters = report.parameters
    return Configuration(
        {parameters.mechanism: parameters.built()},
        parameters.audits,
        parameters.delta,
        targets=parameters.targets,
        programme={"name": report.name, "programme": report.programme, "entries": report.entries, "head": report.head},
        notes=tuple(_notes(report)),
    )


def _notes(report: "VerificationResult") -> list[str]:
    notes = []
    if (many := report.parameters.reports_per_person) > 1:
        notes.append(
            f"The programme's promise is about up to {many:,} reports of one person. One report was attacked, and "
            "'proven' is the limit for one."
        )
    if report.parameters.figures is not None:
        notes.append("The audits were attacked; 'proven' is their limit, without that of the yearly figures.")
    if any(entry.kind not in ("round", "selection", "end") for entry in report.remarkable):
        notes.append(
            "The programme was attacked as it was set up. What the office decided later (targets that joined or left, "
            "audits ordered by hand, skipped rounds, a recovery) was not attacked."
        )
    return notes
