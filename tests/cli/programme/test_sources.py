"""`deniable programme init --randomness`: the source of public values, and options that do not fit it."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.programmes import SETTINGS, Desk
from tests.cli.running import assert_refused
from tests.programme.randomness.own_chain import OwnChain
from tests.programme.randomness.own_mirror import write_chain

from deniable.cli.programme.init import init
from deniable.programme.randomness.drand import QUICKNET

INIT = ("init", "targets.txt", *SETTINGS)
DICE = ("--randomness", "dice", "--dice-place", "the town hall")


@pytest.fixture
def listed(desk: Desk) -> Desk:
    Path("targets.txt").write_text("Ash Mill\nBirch Works\n", encoding="utf-8")
    return desk


def public(desk: Desk) -> object:
    desk.done("publish", "--public", "public")
    return json.loads(Path("public/programme.json").read_text(encoding="ascii"))["randomness"]


def test_without_a_source_init_says_what_that_leaves_open(listed: Desk) -> None:
    out = " ".join(listed.done(*INIT).split())
    assert "The draws have no public value: the office could try random numbers" in out
    assert public(listed) is None


def test_drand(listed: Desk) -> None:
    document = listed.json(*INIT, "--randomness", "drand")
    assert document["randomness"] == public(listed) == {
        "source": "drand", "chain": QUICKNET.to_dict(), "minutes": 60, "days": 7,
    }  # fmt: skip


def test_drand_with_every_option(listed: Desk) -> None:
    own = OwnChain()
    chain = ("--drand-chain", write_chain(own, Path("info.json")))
    out = listed.done(*INIT, "--randomness", "drand", "--value-minutes", 30, "--wait-days", 2, *chain)
    assert f"the chain {own.chain.hash}, which is not drand's own, publishes 30 minutes later" in " ".join(out.split())
    assert public(listed) == {"source": "drand", "chain": own.chain.to_dict(), "minutes": 30, "days": 2}


@pytest.mark.parametrize(
    ("options", "numbers", "of", "words"),
    [
        ((), 1, 6, "a die with 6 sides, thrown 39 times"),
        (("--dice-sides", 20), 1, 20, "a die with 20 sides, thrown 24 times"),
        (("--lottery", "6/49"), 6, 49, "6 numbers of 49, drawn 5 times"),
    ],
)
def test_dice_and_lotteries(listed: Desk, options: tuple[object, ...], numbers: int, of: int, words: str) -> None:
    out = " ".join(listed.done(*INIT, *DICE, "--value-minutes", 90, *options).split())
    assert f"throw in public 90 minutes later (the town hall): {words}." in out
    assert public(listed) == {
        "source": "dice", "place": "the town hall", "numbers": numbers, "of": of, "minutes": 90, "days": 7,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--randomness coins", "must be drand, dice or none, got coins"),
        ("--value-minutes 5", "--value-minutes is for --randomness drand or dice, got --randomness none"),
        ("--wait-days 5", "--wait-days is for --randomness drand or dice, got --randomness none"),
        ("--dice-sides 6", "--dice-sides is for --randomness dice, got --randomness none"),
        ("--randomness drand --dice-place here", "--dice-place is for --randomness dice"),
        ("--randomness dice --drand-chain info.json", "--drand-chain is for --randomness drand"),
        ("--randomness drand --lottery 6/49", "--lottery is for --randomness dice"),
        ("--randomness dice", "say where people can watch the throw"),
        ("--randomness dice --dice-place here --lottery 6/49 --dice-sides 6", "either --dice-sides or --lottery"),
        ("--randomness dice --dice-place here --lottery 6", "written like 6/49"),
        ("--randomness dice --dice-place here --lottery 49/6", "fewer numbers"),
        ("--randomness dice --dice-place here --dice-sides 1", "at least 2"),
        ("--randomness drand --value-minutes 0", "to its public value must be a whole number of at least 5"),
        ("--randomness drand --value-minutes 4", "at least 5"),
        ("--randomness drand --value-minutes 1441", "at most 1,440"),
        ("--randomness drand --wait-days 366", "at most 365"),
        ("--randomness drand --drand-chain nowhere", "cannot read nowhere"),
        ("--randomness drand --drand-chain targets.txt", "describes no chain"),
        ("--randomness drand --start 2020-01-06", "had not started"),
    ],
)
def test_what_does_not_fit_is_refused(listed: Desk, options: str, words: str) -> None:
    assert_refused(listed(*INIT, *options.split()), words)
    assert not Path("programme.db").exists()
    assert not Path("programme.key").exists()


def test_a_chain_whose_key_is_none(listed: Desk) -> None:
    info = write_chain(OwnChain(), Path("info.json"))
    info.write_text(info.read_text().replace(OwnChain().chain.public_key, "f" * 192), encoding="ascii")
    assert_refused(listed(*INIT, "--randomness", "drand", "--drand-chain", info), "not a valid key")


@pytest.mark.usefixtures("listed")
def test_without_py_ecc_drand_is_refused() -> None:
    code = "import sys; sys.modules['py_ecc'] = None; from deniable.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "programme", *INIT, "--randomness"]
    done = subprocess.run([*command, "drand"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install -c constraints.txt '.[programme]' in a copy of the project" in done.stderr
    assert not Path("programme.db").exists()
    subprocess.run([*command, *DICE[1:]], check=True, capture_output=True)


def test_every_example_of_the_help_is_accepted(listed: Desk) -> None:
    text = (init.__doc__ or "").replace("\\\n", " ")
    examples = [
        shlex.split(line)[3:] for line in text.splitlines() if line.strip().startswith("deniable programme init")
    ]
    assert len(examples) >= 7
    shutil.copy("targets.txt", "employers.txt")
    for number, example in enumerate(examples):
        listed.done("init", *example, "--database", f"example-{number}.db")
