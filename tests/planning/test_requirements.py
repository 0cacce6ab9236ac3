"""What an office must be: a programme that cannot be is refused."""

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.planning.options import OFFICE

import deniable as dn


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_targets": 1}, "targets must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": math.nan}, "delta must be"),
        ({"delta": None}, "either delta"),
        ({"advantage": 0.1}, "either delta"),
        ({"delta": None, "advantage": 0.5}, "advantage must be"),
        ({"horizon": 0}, "horizon must be"),
        ({"audits": 11}, "audits must be at most the number of targets, 10, got 11"),
        ({"audits": 0}, "audits must be"),
        (
            {"rules": dn.Rules(max_gap=9)},
            "max_gap must be at least 10 rounds for 10 targets with 1 audit a round, got 9",
        ),
        (
            {"rules": dn.Rules(max_gap=4), "audits": 2},
            "max_gap must be at least 5 rounds for 10 targets with 2",
        ),
        ({"reports_per_round": -1.0}, "reports_per_round must be"),
        ({"reports_per_round": math.inf}, "reports_per_round must be"),
        ({"reports_per_person": 0}, "reports_per_person must be"),
    ],
)
def test_a_programme_that_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words):
        replace(OFFICE, **change)
