"""Signed notes: against the examples of the specifications, genuine notes of others, and everything that is none."""

import base64
import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from tests.programme.public.published import KEY, OTHER_KEY

from deniable.errors import DeniableError
from deniable.programme.transcript import signatures
from deniable.programme.transcript.signatures import public_key
from deniable.programme.witness.notes import COSIGNATURE, ED25519, LATEST, Note, Signature, VerifierKey

EXAMPLE_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
"""C2SP signed-note, section «Verifier keys»."""

GO_KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
GO = (
    "go.sum database tree\n35225469\nvt5T6GaLCXvyHFl9VUvvItR43XZxfLgftEcTyO3eJCQ=\n\n— sum.golang.org "
    "Az3grpukl5AXaVfYkLiDGORx/DN2nlcS5kZHR5uYOBV2KA2HgXpD+gu9HHONebHLAyaKbbTM75QTtPydhKCExixSfwQ=\n"
)
"""A genuine checkpoint of Go's checksum database."""

COSIGNED = (
    "developers.google.com/android/binary_transparency/google1p/0\n5\nxqaCEZhTGZUuKNA7MpSyxe1WXiiESB2p+crAyzM+Vxo=\n"
)
COSIGNER = "a533cf2b246ee90dcfa0c91e63efec3678b46e2178be75536111db54d037d666"
COSIGNATURE_OF_IT = base64.b64decode(
    "r0xBJQAAAABnkyoLuHgN5KlIUUpZV9hulwsFcgqV5v1CyeIhBZWdkfOJT0ims1LqbYygO5MEl91CGha5sP79K57P7lIGrz7Qtx8eBw=="
)
"""A genuine countersignature, with the key's ID before it; the witness's name was not kept with it."""

TEXT = "example.com/log\n7\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
TIME = 1679315147


def cosigned(text: str = TEXT, key: bytes = KEY, name: str = "union.example", time: int = TIME) -> Note:
    return Note(text, ()).cosigned(name, key, time)


def key_of(private: bytes = KEY, name: str = "union.example") -> VerifierKey:
    return VerifierKey(name, COSIGNATURE, public_key(private))


@pytest.mark.parametrize(("key", "note"), [(EXAMPLE_KEY, EXAMPLE), (GO_KEY, GO)])
def test_a_published_note(key: str, note: str) -> None:
    parsed, known = Note.parse(note.encode()), VerifierKey.parse(key)
    assert parsed.to_bytes() == note.encode()
    assert (len(parsed.signed_by(known)), str(known)) == (1, key)
    with pytest.raises(DeniableError, match="does not fit"):
        Note(parsed.text.replace("e", "E", 1), parsed.signatures).signed_by(known)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (EXAMPLE_KEY, ED25519),
        (GO_KEY, ED25519),
        ("remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2", COSIGNATURE),
        ("Wit2+112f0455+BCy8NYvyk7N1dkxNxgrI3YAJzQDc0FIfs0q7q8U/cwOF", COSIGNATURE),
    ],
)
def test_published_keys(text: str, type_: int) -> None:
    key = VerifierKey.parse(text)
    assert (str(key), key.type) == (text, type_)


def test_a_genuine_countersignature() -> None:
    key = VerifierKey("witness", COSIGNATURE, bytes.fromhex(COSIGNER))
    assert key.verifies(COSIGNED, COSIGNATURE_OF_IT[4:])
    assert Signature("witness", COSIGNATURE_OF_IT[:4], COSIGNATURE_OF_IT[4:]).time == 1737697803
    assert not key.verifies(COSIGNED.replace("5", "6", 1), COSIGNATURE_OF_IT[4:])
    earlier = (1737697802).to_bytes(8, "big") + COSIGNATURE_OF_IT[12:]
    assert not key.verifies(COSIGNED, earlier)


def test_a_countersignature_byte_for_byte() -> None:
    """Made here with nothing but SHA-256, Ed25519 and the words of the specification."""
    private = Ed25519PrivateKey.from_private_bytes(KEY)
    public = private.public_key().public_bytes_raw()
    signature = private.sign(f"cosignature/v1\ntime 1679315147\n{TEXT}".encode())
    key_id = hashlib.sha256(b"union.example\n\x04" + public).digest()[:4]
    line = base64.b64encode(key_id + bytes.fromhex("00000000641850cb") + signature).decode()
    assert cosigned().to_bytes() == f"{TEXT}\n\u2014 union.example {line}\n".encode()
    encoded = base64.b64encode(b"\x04" + public).decode()
    assert str(key_of()) == f"union.example+{key_id.hex()}+{encoded}"
    assert cosigned().signed_by(key_of())[0].time == TIME


def test_who_signed_what() -> None:
    note = cosigned().cosigned("paper.example", OTHER_KEY, TIME + 1)
    assert [one.time for one in note.signed_by(key_of())] == [TIME]
    assert [one.time for one in note.signed_by(key_of(OTHER_KEY, "paper.example"))] == [TIME + 1]
    for stranger in (key_of(OTHER_KEY), key_of(KEY, "paper.example"), VerifierKey.parse(EXAMPLE_KEY)):
        assert note.signed_by(stranger) == ()
    assert Note.parse(note.to_bytes()) == note


def forged(**changes: Any) -> Note:
    (signature,) = cosigned().signatures
    values = {"name": signature.name, "key_id": signature.key_id, "signature": signature.signature} | changes
    return Note(
        changes.pop("text", TEXT), (Signature(**{name: values[name] for name in ("name", "key_id", "signature")}),)
    )


SIGNATURE = cosigned().signatures[0].signature
FORGED: dict[str, dict[str, Any]] = {
    "another text": {"text": TEXT.replace("7", "8", 1)},
    "an earlier time": {"signature": (TIME - 1).to_bytes(8, "big") + SIGNATURE[8:]},
    "a flipped bit": {"signature": SIGNATURE[:-1] + bytes([SIGNATURE[-1] ^ 1])},
    "cut off": {"signature": SIGNATURE[:-1]},
    "one byte more": {"signature": SIGNATURE + b"\0"},
    "without a time": {"signature": SIGNATURE[8:]},
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_signature_spoils_the_note(what: str) -> None:
    with pytest.raises(DeniableError, match=r"union\.example does not fit"):
        forged(**FORGED[what]).signed_by(key_of())
    assert forged(**FORGED[what]).signed_by(key_of(OTHER_KEY)) == ()


@pytest.mark.parametrize("time", [0, LATEST + 1, 2**63, 2**64 - 1])
def test_a_time_that_no_witness_means(time: int) -> None:
    with pytest.raises(DeniableError, match="does not fit"):
        cosigned(time=time).signed_by(key_of())
    assert cosigned(time=LATEST).signed_by(key_of())


def test_a_signature_of_the_text_alone_is_no_countersignature() -> None:
    """Nor the other way round: the key's ID tells them apart, and so does what is signed."""
    private = Ed25519PrivateKey.from_private_bytes(KEY)
    plain = VerifierKey("union.example", ED25519, public_key(KEY))
    note = Note(TEXT, (Signature("union.example", plain.id, private.sign(TEXT.encode())),))
    assert (len(note.signed_by(plain)), note.signed_by(key_of())) == (1, ())
    assert not key_of().verifies(TEXT, TIME.to_bytes(8, "big") + private.sign(TEXT.encode()))
    assert not plain.verifies(TEXT, SIGNATURE[8:])


NO_NOTES = {
    "nothing": b"",
    "a text alone": b"text\n",
    "no empty line": "text\n— a AAAAAAA=\n".encode(),
    "no signature": b"text\n\n",
    "no last line feed": EXAMPLE.encode()[:-1],
    "a hyphen": EXAMPLE.replace("—", "-").encode(),
    "a carriage return": EXAMPLE.replace("\n", "\r\n").encode(),
    "a tab": EXAMPLE.replace("an ", "an\t").encode(),
    "a zero byte": EXAMPLE.replace("an ", "an\0").encode(),
    "not UTF-8": EXAMPLE.encode().replace(b"an ", b"an\xff"),
    "two spaces": EXAMPLE.replace("— ", "—  ").encode(),
    "a space at the end": EXAMPLE.replace("=\n", "= \n").encode(),
    "a + in the name": EXAMPLE.replace("foo ", "f+o ").encode(),
    "a wide space in the name": EXAMPLE.replace("foo ", "f\u2003o ").encode(),
    "no name": EXAMPLE.replace("example.com/foo ", " ").encode(),
    "no base64": EXAMPLE.replace("Uw2Q", "Uw2!").encode(),
    "base64 for addresses": EXAMPLE.replace("TgK7", "TgK_").encode(),
    "base64 in another form": EXAMPLE.replace("QM=", "QN=").encode(),
    "an ID alone": "text\n\n— a AAAAAA==\n".encode(),
    "a text after the signatures": EXAMPLE.encode() + b"more\n",
}


@pytest.mark.parametrize("what", NO_NOTES)
def test_what_is_no_note_is_refused(what: str) -> None:
    with pytest.raises(DeniableError, match="no signed note"):
        Note.parse(NO_NOTES[what])


def test_the_last_empty_line_ends_the_text() -> None:
    text = "Ognuno sta solo\n\ned è subito sera.\n"
    note = Note(text, cosigned(text).signatures)
    assert Note.parse(note.to_bytes()) == note
    assert note.signed_by(key_of())


@given(st.binary(max_size=200) | st.text("a\n— +=AQ", max_size=60).map(str.encode))
def test_whatever_is_read_as_a_note_is_written_the_same(content: bytes) -> None:
    try:
        note = Note.parse(content)
    except DeniableError:
        return
    assert note.to_bytes() == content


NO_KEYS = {
    "": "NAME",
    "union.example": "NAME",
    EXAMPLE_KEY.replace("530d903a", "530D903A"): "NAME",
    EXAMPLE_KEY.replace("530d903a", "530d903"): "NAME",
    EXAMPLE_KEY.replace("530d903a", "530d903b"): "copied wrong",
    EXAMPLE_KEY.replace("foo", "fo"): "copied wrong",
    EXAMPLE_KEY[:-1]: "NAME",
    f"{EXAMPLE_KEY[:-4]}AAAA": "copied wrong",
    EXAMPLE_KEY.replace("+Aeky", "+Beky"): "Ed25519",
    f"example.com/foo+530d903a+{base64.b64encode(bytes([6]) + bytes(1312)).decode()}": "Ed25519",
    EXAMPLE_KEY.replace("example.com", "example com"): "space",
    f" {EXAMPLE_KEY}": "space",
    f"{EXAMPLE_KEY}\n": "NAME",
}


@pytest.mark.parametrize("text", NO_KEYS)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(DeniableError, match=NO_KEYS[text]):
        VerifierKey.parse(text)


def test_a_key_for_which_anyone_can_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    neutral = (1).to_bytes(32, "little")
    with pytest.raises(DeniableError, match="small order"):
        VerifierKey("union.example", COSIGNATURE, neutral)
    monkeypatch.setattr(signatures, "_has_small_order", lambda _: False)  # the planted bug
    key = VerifierKey("union.example", COSIGNATURE, neutral)
    assert key.verifies(TEXT, TIME.to_bytes(8, "big") + neutral + bytes(32))
