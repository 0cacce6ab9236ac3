"""The programme's checkpoint: the form that the specification asks for, and the office's signature on it."""

import base64

import pytest
from tests.programme.public.published import KEY, NAMES, chained, drawn, made

from deniable.errors import DeniableError
from deniable.programme.transcript.chain import parse_head, signed_head
from deniable.programme.transcript.merkle import root
from deniable.programme.witness.notes import Checkpoint, Note, office_key, signed_checkpoint

EXAMPLE = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
"""C2SP tlog-checkpoint."""


def test_the_example() -> None:
    found = Checkpoint.parse(EXAMPLE)
    assert (found.origin, found.size) == ("example.com/behind-the-sofa", 20852163)
    assert found.root.hex().startswith("0ac5186a9186")
    assert Checkpoint.parse(f"{EXAMPLE}an extension\nanother\n") == found


@pytest.mark.parametrize("size", [0, 1, 3])
def test_the_programmes_own(size: int) -> None:
    """Its first line is the programme, and the office's key is named like it."""
    parameters = made()
    lines = [entry.line() for entry in chained(parameters, [drawn(n, NAMES[n]) for n in range(1, 4)])][:size]
    note = signed_checkpoint(parameters, parse_head(signed_head(KEY, parameters.digest, size, root(lines))))
    encoded = base64.b64encode(root(lines)).decode()
    assert note.text == f"deniable/programme/{parameters.digest}\n{size}\n{encoded}\n"
    assert Checkpoint.parse(note.text) == Checkpoint(f"deniable/programme/{parameters.digest}", size, root(lines))
    assert Note.parse(note.to_bytes()).signed_by(office_key(parameters))
    assert note.signed_by(office_key(made(name="Harbours"))) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        EXAMPLE[:-1],
        EXAMPLE.replace("20852163", "020852163"),
        EXAMPLE.replace("20852163", "-1"),
        EXAMPLE.replace("20852163", "1e3"),
        EXAMPLE.replace("20852163", "²"),
        EXAMPLE.replace("20852163", "9" * 20),
        EXAMPLE.replace("20852163", " 20852163"),
        EXAMPLE.replace("q2I=", "q2J="),
        EXAMPLE.replace("q2I=", "q2I"),
        EXAMPLE.replace("CsUY", "AACsUY"),
        EXAMPLE.replace("example.com/behind-the-sofa", ""),
        EXAMPLE.replace("\n", "\n\n", 1),
        f"{EXAMPLE}\n",
        f"{EXAMPLE}extension without an end",
        "example.com\n3\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(DeniableError, match="no checkpoint"):
        Checkpoint.parse(text)
