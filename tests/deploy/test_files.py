"""deploy/: the units and the proxies' configurations, as far as they can be checked without installing them."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.deploy.proxies import DEPLOY, substituted
from tests.packaging.building import ROOT

from deniable.cli.main import main
from deniable.cli.serve import DEFAULT_PORT, MOST_CONNECTIONS
from deniable.console.security import LARGE, MOST_UPLOADED

UNITS = sorted(DEPLOY.glob("*.service"))
NGINX, CADDY = (DEPLOY / "nginx.conf").read_text(), (DEPLOY / "Caddyfile").read_text()
MAY_DIFFER = {"Description", "ExecStart", "StandardOutput", "SuccessExitStatus", "RestartSec"}


def settings(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_exists(unit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = settings(unit)["ExecStart"]
    program, *words = shlex.split(command)
    assert program == "/opt/deniable/bin/deniable"
    assert main([*words, "--help"]) == 0, capsys.readouterr().err
    assert main([*words, "--nonsense", "--help"]) == 2


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_may_write_to_all_folders_that_it_needs(unit: Path) -> None:
    """A round is not closed where the folder of the key cannot be written to."""
    told = settings(unit)
    named = dict(variable.split("=", 1) for variable in told["Environment"])
    needed = {str(Path(named[name]).parent) for name in ("DENIABLE_DATABASE", "DENIABLE_KEY")} | {"/var/www/audits"}
    assert set(told["ReadWritePaths"][0].split()) == needed
    assert told["ProtectSystem"] == ["strict"]


def test_the_units_are_equally_hardened() -> None:
    first, *others = ({k: v for k, v in settings(unit).items() if k not in MAY_DIFFER} for unit in UNITS)
    assert len(UNITS) == 2
    assert all(other == first for other in others)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_cannot_take_the_memory_of_the_machine(unit: Path) -> None:
    told = settings(unit)
    assert (told["MemoryMax"], told["MemorySwapMax"]) == (["2G"], ["0"])
    assert "2 GB of memory (`MemoryMax`)" in (ROOT / "docs" / "howto" / "deploy.md").read_text()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_a_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    copy = tmp_path / unit.name
    copy.write_text(substituted(unit.read_text(), {"/opt/deniable/bin/deniable": sys.executable}))
    for check in (["verify", "--man=no"], ["security", "--offline=true", "--threshold=15"]):
        done = subprocess.run(["systemd-analyze", *check, copy], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:] + done.stderr


def test_the_proxies_fit_the_console() -> None:
    for text in (NGINX, CADDY):
        assert f"127.0.0.1:{DEFAULT_PORT}" in text
        assert not re.search(r"^[^#\n]*(Strict-Transport-Security|add_header|encode )", text, re.MULTILINE)
    (most,) = re.findall(r"max_conns=(\d+);", NGINX)
    assert int(most) < MOST_CONNECTIONS
    assert re.findall(r"client_max_body_size (\d+)m;", NGINX) == re.findall(r"max_size (\d+)MiB", CADDY)[::-1]
    assert max(LARGE.values()) == MOST_UPLOADED == 64 * 2**20
    assert "client_max_body_size 64m;" in NGINX


def test_every_server_of_nginx_is_silent_and_in_time() -> None:
    servers = NGINX.split("\nserver {")[1:]
    assert len(servers) == 3
    for server in servers:
        assert {"access_log off;", "error_log /dev/null;", "client_header_timeout 10s;"} <= set(
            map(str.strip, server.splitlines())
        )


def test_caddy_logs_no_requests() -> None:
    (site,) = re.findall(r"^console\.example\.org \{\n(.*?)^\}", CADDY, re.MULTILINE | re.DOTALL)
    assert not re.search(r"^\s*log\b", site, re.MULTILINE)
    assert "exclude http.log.error http.handlers" in CADDY


@pytest.mark.long
def test_caddy_accepts_its_file(tmp_path: Path) -> None:
    if (caddy := shutil.which("caddy")) is None:
        pytest.skip("there is no caddy")
    command = [caddy, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    done = subprocess.run(command, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_pages_name_these_files() -> None:
    page = (ROOT / "docs" / "howto" / "deploy.md").read_text()
    for path in DEPLOY.iterdir():
        assert f"`deploy/{path.name}`" in page
