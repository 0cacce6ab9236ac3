"""Containerfile and compose.yaml, read and held to what docs/howto/container.md says of them; no image is built."""

import copy
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from tests.packaging.building import ROOT

from deniable.cli.main import main

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text().replace("${CONSOLE_HOST}", "console.example.org"))
SECRET = re.compile(r"PASS|SECRET|KEY|TOKEN", re.IGNORECASE)
KEPT_APART = ("/run/secrets/", "/var/lib/deniable/key/")


def instructions(text: str) -> list[tuple[str, str]]:
    """A Containerfile's instructions, each with what follows it on one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (word.upper(), " ".join(rest.split())) for word, _, rest in (s.partition(" ") for s in joined.split("\n") if s)
    ]


CONTAINERFILE = instructions((ROOT / "Containerfile").read_text())


def is_pinned(image: str) -> bool:
    """A version; for other people's images also a release of Debian, and the digest of the very image, since the image
    behind a tag changes. No name of a host.
    """
    others = r"(python|postgres):\d+(\.\d+)*(-slim)?-bookworm@sha256:[0-9a-f]{64}"
    return re.fullmatch(rf"{others}|deniable:\d+\.\d+\.\d+", image) is not None


def image_faults(parts: list[tuple[str, str]]) -> Iterator[str]:
    for word, rest in parts:
        if word == "FROM" and not is_pinned(rest.split()[0]):
            yield f"{rest} is not pinned"
        if word in {"ENV", "ARG"} and SECRET.search(rest):
            yield "a secret in the image"
        if word in {"ADD"} or (word == "COPY" and rest.startswith(". ")):
            yield "copies more than it names"
    last = max(n for n, (word, _) in enumerate(parts) if word == "FROM")
    users = [rest for word, rest in parts[last:] if word == "USER"]
    if not users or re.match(r"(0|root)\b", users[-1]):
        yield "runs as root"


def service_faults(name: str, service: dict[str, Any]) -> Iterator[str]:
    if not is_pinned(service["image"]):
        yield f"{name}: image is not pinned"
    if re.match(r"(0|root)\b", service.get("user", "0")):
        yield f"{name}: runs as root"
    if not service.get("read_only"):
        yield f"{name}: its root can be written to"
    if service.get("cap_drop") != ["ALL"] or "cap_add" in service or service.get("privileged"):
        yield f"{name}: has capabilities"
    if "no-new-privileges:true" not in service.get("security_opt", []):
        yield f"{name}: may gain privileges"
    if service["image"].startswith("deniable:") and service.get("mem_limit") != "2g":
        yield f"{name}: may take other memory than the page says"


def exposure(name: str, service: dict[str, Any]) -> Iterator[str]:
    for port in service.get("ports", []):
        if not port.startswith("127.0.0.1:"):
            yield f"{name}: others can reach its port"
        if name == "database":
            yield "the database has a published port"
    for key, value in service.get("environment", {}).items():
        if "://" in value and urlsplit(value).password is not None:
            yield f"{name}: a password in {key}"
        elif SECRET.search(key) and not value.startswith(KEPT_APART):
            yield f"{name}: {key} in the clear"


def compose_faults(compose: dict[str, Any]) -> Iterator[str]:
    for name, service in compose["services"].items():
        yield from service_faults(name, service)
        yield from exposure(name, service)
    if not compose["networks"]["back"].get("internal") or compose["services"]["database"]["networks"] != ["back"]:
        yield "the database can reach the world"
    for name, secret in compose["secrets"].items():
        if set(secret) != {"file"}:
            yield f"the secret {name} is not a file"


def test_nothing_is_wrong_with_them() -> None:
    assert list(image_faults(CONTAINERFILE)) == []
    assert list(compose_faults(COMPOSE)) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda text: text.replace("USER 10001:10001", "USER 0:10001"), "root"),
        (lambda text: text.replace("USER 10001:10001\n", ""), "root"),
        (lambda text: text.replace("3.11-slim-bookworm", "latest"), "pinned"),
        (lambda text: re.sub("@sha256:[0-9a-f]+", "", text, count=1), "pinned"),
        (lambda text: text.replace("ENV PATH", "ENV DENIABLE_PASSPHRASE=hush PATH"), "secret"),
        (lambda text: text.replace("COPY src src", "COPY . ."), "more"),
    ],
)
def test_a_spoilt_containerfile_is_noticed(spoil: Callable[[str], str], fault: str) -> None:
    text = (ROOT / "Containerfile").read_text()
    assert spoil(text) != text
    assert any(fault in found for found in image_faults(instructions(spoil(text))))


@pytest.mark.parametrize(
    ("service", "change", "fault"),
    [
        ("console", {"ports": ["8470:8470"]}, "port"),
        ("console", {"user": "0:0"}, "root"),
        ("console", {"image": "deniable"}, "pinned"),
        ("console", {"read_only": False}, "written"),
        ("console", {"cap_add": ["NET_ADMIN"]}, "capabilities"),
        ("console", {"security_opt": []}, "privileges"),
        ("rounds", {"mem_limit": None}, "memory"),
        ("console", {"environment": {"DENIABLE_PASSPHRASE": "hush"}}, "in the clear"),
        ("console", {"environment": {"DENIABLE_DATABASE": "postgresql://deniable:hush@database/deniable"}}, "password"),
        ("database", {"ports": ["127.0.0.1:5432:5432"]}, "published"),
        ("database", {"image": "postgres:17-bookworm"}, "pinned"),
        ("database", {"networks": ["front", "back"]}, "world"),
    ],
)
def test_a_spoilt_composition_is_noticed(service: str, change: dict[str, Any], fault: str) -> None:
    spoilt = copy.deepcopy(COMPOSE)
    spoilt["services"][service] |= change
    assert any(fault in found for found in compose_faults(spoilt))


def test_both_stages_are_built_on_the_same_image() -> None:
    """What is compiled for one Python must run on it."""
    assert len({rest.split()[0] for word, rest in CONTAINERFILE if word == "FROM"}) == 1


@pytest.mark.parametrize("service", ["console", "rounds"])
def test_their_commands_exist(service: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --help the command line is read, and then nothing done."""
    command = [
        re.sub(r"\$\{CONSOLE_HOST:.*\}", "console.example.org", word)
        for word in COMPOSE["services"][service]["command"]
    ]
    assert main([*command, "--help"]) == 0, capsys.readouterr().err
    assert main([*command, "--nonsense", "--help"]) == 2


def test_the_documented_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "howto" / "container.md").read_text()
    commands = re.findall(
        r"^docker compose (?:exec|run --rm) (?:console|rounds) (?:deniable )?(.*)$", page, re.MULTILINE
    )
    assert len(commands) > 1
    for command in commands:
        assert main([*shlex.split(command), "--help"]) == 0, capsys.readouterr().err


def test_what_the_image_is_made_of_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (wanted,) = re.findall(r"\$1\[([a-z,]+)\]", " ".join(rest for _, rest in CONTAINERFILE))
    assert set(wanted.split(",")) == {"console", "postgres"} <= set(extras)
    copied = [rest.split()[:-1] for word, rest in CONTAINERFILE if word == "COPY" and "--from" not in rest]
    let_in = (ROOT / ".dockerignore").read_text()
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists()
        assert f"\n!{name}\n" in let_in


def test_what_is_kept_belongs_to_the_user_of_the_image() -> None:
    """A new volume takes over the owner of the folder in the image that it stands for."""
    (made,) = [rest for word, rest in CONTAINERFILE if word == "RUN" and "useradd" in rest]
    for volume in COMPOSE["services"]["console"]["volumes"]:
        assert volume.partition(":")[2] in made
    assert COMPOSE["services"]["console"]["environment"]["DENIABLE_KEY"].startswith("/var/lib/deniable/key/")
    assert all(Path(one["file"]).parts[0] == "secrets" for one in COMPOSE["secrets"].values())
    (_, _, _, script) = COMPOSE["services"]["console"]["healthcheck"]["test"]
    compile(script, "healthcheck", "exec")
