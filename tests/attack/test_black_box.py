"""Features of transcripts, and the classifier that learns from them."""

import sys

import numpy as np
import pytest

import deniable as dn
from deniable.attack import EVERYTHING, OWN_TARGET, BlackBox, play, report_at
from deniable.attack import black_box as module
from deniable.attack.black_box import features

PAIR = report_at("rival", [[0, 1]] * 6, at_round=2)
AUDITS = np.array([[1, 0, 1, 0, 1, 0], [1, 1, 1, 1, 1, 1]])


def test_features_by_hand() -> None:
    """First audit of the target 1 round after the report, the next 2 later, one the round before, 1 before, 2 after."""
    found = features(PAIR, (AUDITS == 0).astype(np.int64), own_target=True)
    assert found.tolist() == [[1, 2, 0, 1, 2], [4, 0, 2, 0, 0]]
    every = features(PAIR, AUDITS, own_target=False)
    assert every[:, :5].tolist() == found.tolist()
    # Ahead in rounds 3 and 4: -2, because the rival was passed over once, and -1 right after the rival's audit.
    assert every[0, 5:10].tolist() == [-1, -2, -1, -1.5, 1]


def test_features_of_two_audits_a_round() -> None:
    """The target is audited one round after the report, beside its rival; both counts start again."""
    pair = report_at("rivals", [[0, 1, 1]] * 4, at_round=1)
    found = features(pair, np.array([[[1, 2], [1, 2], [0, 1], [2, 1]]]), own_target=False)
    assert found[0, :5].tolist() == [1, 2, 1, 0, 1]
    assert found[0, 5:8].tolist() == [-1, -1, -1]  # a report behind its rivals, which were audited in every round
    assert found[0, 10:].tolist() == [1, 2, 0, 1, 2, 1]


def test_features_do_not_depend_on_how_many_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    audits = np.random.default_rng(0).integers(0, 2, (50, 6))
    together = features(PAIR, audits, own_target=False)
    monkeypatch.setattr(module, "CELLS", 1)
    assert np.array_equal(features(PAIR, audits, own_target=False), together)


@pytest.mark.parametrize("view", [EVERYTHING, OWN_TARGET])
def test_greedy_is_learnt(view: object) -> None:
    """Only filing explains an audit of the quiet target; the best test has TPR - FPR = 15/16."""
    result = play(dn.Greedy(2), PAIR, 2000, adversary=BlackBox(view), view=view)  # type: ignore[arg-type]
    assert result.leak.value == pytest.approx(15 / 16, abs=0.05)
    assert (result.adversary, result.largest_ratio, result.exact) == ("black box", None, False)


def test_without_scikit_learn_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(dn.DeniableError, match=r"pip install -c constraints\.txt '\.\[research\]'"):
        play(dn.Greedy(2), PAIR, 40, adversary=BlackBox())
