"""The names of a draw, sealed for the office: they come back, under their own round and key alone, in one length."""

import pytest

from deniable.errors import DeniableError
from deniable.programme.secrets.capsules import Selected
from deniable.programme.transcript.hidden import capsule_digits

KEY, PROGRAMME, SALT = bytes(range(32)), "ab" * 16, bytes(range(100, 132))


def test_names_come_back_under_their_own_round_key_and_programme() -> None:
    selected = Selected(7, (3, 1_000_000), SALT)
    capsule = selected.sealed(KEY, PROGRAMME)
    assert Selected.opened(KEY, PROGRAMME, 7, capsule) == selected
    for key, programme, round_ in ((bytes(32), PROGRAMME, 7), (KEY, "cd" * 16, 7), (KEY, PROGRAMME, 8)):
        with pytest.raises(DeniableError, match="cannot be read"):
            Selected.opened(key, programme, round_, capsule)


def test_the_length_depends_on_the_number_of_audits_alone() -> None:
    for audits in (1, 2, 7):
        some = [tuple(range(audits)), tuple(range(2**32 - audits, 2**32))]
        lengths = {len(Selected(1, one, SALT).sealed(KEY, PROGRAMME)) for one in some}
        assert lengths == {capsule_digits(audits)}


def test_with_another_salt_the_commitment_is_another_and_every_capsule_is() -> None:
    drawn = [Selected(1, (0,), bytes([number]) * 32) for number in range(100)]
    assert len({one.committed(PROGRAMME) for one in drawn}) == 100
    assert len({drawn[0].sealed(KEY, PROGRAMME) for _ in range(100)}) == 100


def test_what_was_selected_is_not_shown() -> None:
    assert repr(Selected(1, (0,), SALT)) == "Selected(secret)"
