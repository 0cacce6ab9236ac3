"""Everything public that was fixed when a programme was set up: the content of programme.json."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from json.encoder import encode_basestring_ascii
from numbers import Real
from typing import Any, Self

import numpy as np

from deniable.arrays import BoolArray, IntArray
from deniable.class_guarantees import guarantee_of_heaviest, guarantee_of_mix
from deniable.classed_streams import counted
from deniable.counters.toeplitz import ToeplitzCounter
from deniable.curves import TotalVariation
from deniable.errors import DeniableError, check_delta, check_hexadecimal, check_whole
from deniable.guarantee import Guarantee
from deniable.languages.language import DEFAULT_TERMS, Language, Sentences, Terms, check_languages, language
from deniable.languages.own_translation import check_translation
from deniable.languages.voice import Voice
from deniable.mechanisms.base import Mechanism
from deniable.mechanisms.counter_auditing import CounterAuditing
from deniable.mechanisms.forecasts import FORECASTS
from deniable.mechanisms.race import Race
from deniable.message import all_of, one_of, why_not
from deniable.programme.calendar import Calendar
from deniable.programme.names import check_name, check_registered, check_targets
from deniable.programme.programme_file import FORMAT, portable, read_fields
from deniable.programme.randomness.source import Source, source_from
from deniable.report_classes import ONE_CLASS, VISIT, ReportClass, check_classes
from deniable.rounding import float_above
from deniable.rules import Rules
from deniable.yearly_figures import YearlyFigures, check_figures_delta

MOST_BY_ONE_PERSON = 10_000
MOST_HIDDEN = 1000
"""Rounds whose names may be hidden at a time."""
_TOLERANCE = 1e-9
_HERE = "\0"
"""No name can be this."""


@dataclass(frozen=True)
class Parameters:
    """The public parameters of a programme, all of them checked; they never change."""

    programme: str
    """Its id: 32 random hex characters."""
    name: str
    """What the office calls it."""
    targets: tuple[str, ...]
    """The names of the targets it starts with, in the order of their numbers."""
    mechanism: str
    """`race` or `tca`."""
    delta: float
    """Of one report: what the mechanism is calibrated to."""
    calendar: Calendar
    public_key: str
    """Ed25519, 64 hex characters."""
    commitment: str
    """Of round 1's seed, 64 hex characters."""
    horizon: int | None = None
    """In rounds, for `tca` only, which needs either it or a max_gap."""
    reports_per_person: int = 1
    """The guarantee speaks of this many reports of one person."""
    audits: int = 1
    """A round."""
    max_gap: int | None = None
    cooldown: int = 0
    weights: tuple[float, ...] | str | None = None
    """For `race` only: one positive number a target, or the name of one of FORECASTS."""
    classes: tuple[ReportClass, ...] = ONE_CLASS
    """Of reports, in the order of their numbers."""
    most_counted: int | None = None
    """Reports of one class about one target in one round: further ones add nothing to the draw."""
    yearly_figures_delta: float | None = None
    """Of one report: what the yearly numbers of reports add to delta; None where none are published."""
    oversight: str | None = None
    """The age recipient of the oversight body."""
    reveal_after: int = 0
    """Rounds after which the public learns whom a draw selected; 0: at once."""
    randomness: Source | None = None
    """Where the public values come from that go into the draws; None: nothing public goes in."""
    registered: tuple[str, ...] | None = None
    """The numbers of these targets in a public register, in the same order; None where there is none."""
    terms: Terms = DEFAULT_TERMS
    """What the office calls its audits and its targets."""
    languages: tuple[str, ...] = ("en",)
    """Of the public page, the one of index.html first."""
    translations: Mapping[str, Sentences] = dataclasses.field(default_factory=dict, hash=False)
    """The office's own, by language, in the place of ours."""
    calibrated: float | int | None = None
    """What `delta` comes to: rho for `race`, the variance of the noise for `tca`. It is worked out once, since another
    computer may differ in the last bits, and all who replay a draw must use the same number.
    """

    def __post_init__(self) -> None:
        check_hexadecimal("programme", self.programme, 32)
        check_name(why_not("the programme's name"), self.name)
        object.__setattr__(self, "targets", check_targets(self.targets))
        if self.mechanism not in ("race", "tca"):
            raise DeniableError("mechanism must be race or tca, got {mechanism}", mechanism=self.mechanism)
        object.__setattr__(self, "delta", check_delta(self.delta))
        # Plain numbers: those of NumPy have no place in JSON.
        for field, least in (("reports_per_person", 1), ("audits", 1), ("cooldown", 0)):
            object.__setattr__(self, field, check_whole(field, getattr(self, field), least))
        for field in ("horizon", "max_gap", "most_counted"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, check_whole(field, getattr(self, field), least=1))
        self._check_horizon()
        self._check_reveal_after()
        if self.reports_per_person > MOST_BY_ONE_PERSON:
            most, got = MOST_BY_ONE_PERSON, self.reports_per_person
            raise DeniableError("reports_per_person must be at most {most}, got {got}", most=most, got=got)
        if self.audits > len(self.targets):
            raise DeniableError(
                "audits must be at most the number of targets, {name}, got {audits_number}",
                name=len(self.targets),
                audits_number=self.audits,
            )
        self.rules.check_reach(len(self.targets), self.audits)
        object.__setattr__(self, "weights", self._checked_weights())
        object.__setattr__(self, "classes", check_classes(self.classes))
        _check_type("calendar", self.calendar, Calendar)
        _check_type("terms", self.terms, Terms)
        object.__setattr__(self, "languages", check_languages(self.languages))
        object.__setattr__(self, "translations", self._checked_translations())
        check_hexadecimal("public_key", self.public_key, 64)
        check_hexadecimal("commitment", self.commitment, 64)
        if self.oversight is not None and not _is_recipient(self.oversight):
            raise DeniableError("oversight must be an age recipient, age1 and 58 more characters")
        object.__setattr__(self, "registered", check_registered(self.registered, len(self.targets)))
        own = self._worked_out()  # the mechanism has checks of its own
        if self.calibrated is None:
            object.__setattr__(self, "calibrated", own)
        elif type(self.calibrated) is not type(own) or not abs(self.calibrated - own) <= _TOLERANCE * own:
            raise DeniableError(
                "calibrated must be what delta comes to, {own}, got {calibrated}", own=own, calibrated=self.calibrated
            )
        if self.yearly_figures_delta is not None:
            object.__setattr__(self, "yearly_figures_delta", check_figures_delta(self.yearly_figures_delta))
            if self.guarantee().delta == 1:
                raise DeniableError(
                    "yearly_figures_delta leaves nothing for the audits: what both tell together must be less than all"
                )

    def _check_horizon(self) -> None:
        if self.horizon is not None and self.mechanism == "race":
            raise DeniableError("horizon is for tca; race holds however long the programme runs")
        if self.horizon is not None and self.max_gap is not None:
            raise DeniableError(
                "give either a horizon or a max_gap for tca, got both; with a max_gap the guarantee has no horizon"
            )

    def _check_reveal_after(self) -> None:
        object.__setattr__(self, "reveal_after", check_whole("reveal_after", self.reveal_after, least=0))
        if self.reveal_after > MOST_HIDDEN:
            raise DeniableError(
                "reveal_after must be at most {most_hidden} rounds, got {reveal_after}",
                most_hidden=MOST_HIDDEN,
                reveal_after=self.reveal_after,
            )
        if self.horizon is not None and self.reveal_after >= self.horizon:
            raise DeniableError(
                "reveal_after must be less than the horizon, {horizon}, or no names would be "
                "revealed before the last draw; got {reveal_after}",
                horizon=self.horizon,
                reveal_after=self.reveal_after,
            )

    def voice(self, code: str = "en") -> Voice:
        """How the programme speaks in this language."""
        return Voice(self._own_languages.get(code) or language(code), self.terms)

    @cached_property
    def _own_languages(self) -> Mapping[str, Language]:
        return {
            code: dataclasses.replace(ours, sentences={**ours.sentences, **own}, is_reviewed=True)
            for code, own in self.translations.items()
            for ours in (language(code),)
        }

    def _checked_translations(self) -> dict[str, Sentences]:
        for code in self.translations:
            if code not in self.languages:
                raise DeniableError(
                    "a translation must be of one of the languages of the public page, {languages}, got {code}",
                    languages=all_of(self.languages),
                    code=ascii(code),
                )
        return {code: check_translation(code, own) for code, own in self.translations.items()}

    @property
    def rules(self) -> Rules:
        return Rules(self.max_gap, self.cooldown)

    def built(self) -> Mechanism[Any]:
        """The mechanism, calibrated, with its rules and weights."""
        return self._mechanism

    @cached_property
    def in_draw(self) -> BoolArray:
        """(classes,) whether reports of the class count in the draw."""
        return np.array([not one.leads_to_visit for one in self.classes])

    @property
    def visit_classes(self) -> tuple[str, ...]:
        """The names of the classes whose reports lead to a visit at once."""
        return tuple(one.name for one in self.classes if one.leads_to_visit)

    def weighed(self, reports: IntArray) -> IntArray:
        """What the reports of a round, (classes in the draw, C), come to in the draw."""
        return counted(reports, [one for one in self.classes if not one.leads_to_visit], self.most_counted)

    @cached_property
    def figures(self) -> YearlyFigures | None:
        """The noise of the yearly figures, where there are any."""
        return None if self.yearly_figures_delta is None else YearlyFigures.calibrate(self.yearly_figures_delta)

    def guarantee(self) -> Guarantee:
        """What the programme promises a person who files up to `reports_per_person` reports, of the heaviest class.

        With yearly figures it is about both together. They have no likelihood cap, so both together have none.
        """
        return self._with_figures(self.guarantee_of_audits(), self.reports_per_person)

    def guarantee_of(self, one: ReportClass, reports: int = 1, *, audits_only: bool = False) -> Guarantee | None:
        """The same about so many reports of this class, or of the audits alone; None where they lead to a visit, which
        shows them.
        """
        audits = guarantee_of_mix(self._mechanism, self.classes, {one.name: reports})
        return audits if audits is None or audits_only else self._with_figures(audits, reports)

    def _with_figures(self, audits: Guarantee, reports: int) -> Guarantee:
        if self.figures is None:
            return audits
        together = Fraction(audits.delta) + self.figures.delta(reports)
        return dataclasses.replace(audits, curve=TotalVariation(min(1.0, float_above(together))))

    def guarantee_of_audits(self) -> Guarantee:
        """The same about the audits alone."""
        return guarantee_of_heaviest(self._mechanism, self.classes, self.reports_per_person)

    def _statement(self) -> dict[str, Any]:
        stated = self.guarantee().to_dict()
        if self.figures is not None:
            delta = float_above(self.figures.delta(self.reports_per_person))
            stated["yearly_figures"] = {"delta": delta, "variance": self.figures.variance}
            stated["audits"] = self.guarantee_of_audits().to_dict()
        return dict(portable(stated))

    def to_bytes(self) -> bytes:
        """programme.json, byte for byte."""
        return self._written

    @cached_property
    def _written(self) -> bytes:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        stored = fields | {
            "format": FORMAT,
            "calendar": self.calendar.to_dict(),
            "classes": [[one.name, one.weight or VISIT] for one in self.classes],
            "guarantee": self._statement(),
            "randomness": None if self.randomness is None else self.randomness.to_dict(),
            "registered": None if self.registered is None else _HERE,
            "targets": _HERE,
            "terms": self.terms.to_dict(),
        }
        text = json.dumps(stored, indent=2, sort_keys=True, ensure_ascii=True)
        # Apart: the encoder that can indent takes seconds for a million names.
        for names in (self.registered, self.targets):  # in the order of the alphabet
            if names is not None:
                listed = ",\n    ".join(map(encode_basestring_ascii, names))
                text = text.replace(json.dumps(_HERE), f"[\n    {listed}\n  ]", 1)
        return text.encode("ascii") + b"\n"

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """The parameters that `to_bytes` wrote; anything that it would not write is refused."""
        stored = read_fields(raw)
        try:
            parameters = cls(
                **{field.name: stored[field.name] for field in dataclasses.fields(cls)}
                | {
                    "calendar": Calendar.from_dict(stored["calendar"]),
                    "classes": _classes(stored["classes"]),
                    "randomness": source_from(stored["randomness"]),
                    "terms": Terms.from_dict(stored["terms"]),
                }
            )
        except DeniableError as error:
            raise DeniableError("programme.json cannot be used: {error}", error=error) from None
        if stored["guarantee"] != parameters._statement():
            raise DeniableError("programme.json states another guarantee than its parameters give")
        if parameters.to_bytes() != raw:
            raise DeniableError("programme.json is not written as deniable writes it; it was changed")
        return parameters

    @cached_property
    def digest(self) -> str:
        """SHA-256 of programme.json, in hex: what the transcript's chain starts from."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def verification_key(self) -> bytes:
        """The public key, as signatures are checked with it."""
        return bytes.fromhex(self.public_key)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of the targets it starts with, by name."""
        return {name: number for number, name in enumerate(self.targets)}

    @cached_property
    def by_registered(self) -> Mapping[str, int]:
        """The numbers of the targets it starts with, by those in the public register."""
        return {registered: number for number, registered in enumerate(self.registered or ())}

    @cached_property
    def _mechanism(self) -> Mechanism[Any]:
        if self.mechanism == "tca":
            horizon = self.max_gap if self.horizon is None else self.horizon
            assert horizon is not None
            counter = ToeplitzCounter(horizon, self.calibrated)  # type: ignore[arg-type]
            return CounterAuditing(len(self.targets), counter, rules=self.rules)
        weights = FORECASTS[self.weights] if isinstance(self.weights, str) else self.weights
        return Race(len(self.targets), self.calibrated, weights, rules=self.rules)  # type: ignore[arg-type]

    def _worked_out(self) -> float | int:
        if self.mechanism == "tca":
            built = CounterAuditing.calibrate(len(self.targets), self.delta, self.horizon, rules=self.rules)
            assert isinstance(built.counter, ToeplitzCounter)
            return built.counter.variance
        weights = FORECASTS[self.weights] if isinstance(self.weights, str) else self.weights
        return Race.calibrate(len(self.targets), self.delta, weights=weights, rules=self.rules).rho

    def _checked_weights(self) -> tuple[float, ...] | str | None:
        if self.weights is None:
            return None
        if self.mechanism != "race":
            raise DeniableError("weights are for race; tca has none")
        if isinstance(self.weights, str):
            if self.weights not in FORECASTS:
                raise DeniableError(
                    "weights must be numbers, {forecasts}, got {weights}",
                    forecasts=one_of(FORECASTS),
                    weights=self.weights,
                )
            return self.weights
        if not all(isinstance(weight, Real) and not isinstance(weight, bool) for weight in self.weights):
            raise DeniableError(
                "weights must be numbers, one for each target, or {forecasts}", forecasts=one_of(FORECASTS)
            )
        try:
            return tuple(float(weight) for weight in self.weights)
        except OverflowError:
            raise DeniableError("weights must be positive numbers, and at least one of them is too large") from None


def _classes(stored: list[Any]) -> tuple[ReportClass, ...]:
    if not all(isinstance(one, list) and len(one) == 2 for one in stored):
        raise DeniableError("classes must be pairs of a name and a weight")
    return tuple(ReportClass(name, None if weight == VISIT else weight) for name, weight in stored)


def _check_type(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise DeniableError(
            "{what} must be {name}, got {name_2}", what=what, name=kind.__name__, name_2=type(value).__name__
        )


def _is_recipient(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("age1[02-9ac-hj-np-z]{58}", value) is not None
