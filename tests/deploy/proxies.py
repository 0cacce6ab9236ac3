"""A real nginx with the shipped configuration, on a port of its own."""

import datetime
import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.packaging.building import ROOT

DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:{sys.prefix}/nginx/usr/sbin")

MAIN = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/unwritable;
    proxy_temp_path {folder}/unwritable;
    fastcgi_temp_path {folder}/unwritable;
    uwsgi_temp_path {folder}/unwritable;
    scgi_temp_path {folder}/unwritable;
    include {folder}/site.conf;
}}
"""
"""Its worker can write no file of its own: a body that went to the disk would be an error."""


@dataclass(frozen=True)
class Proxy:
    port: int
    plain_port: int
    folder: Path

    def connect(self, timeout: float = 10) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def tls(self, name: str = "localhost") -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=self.folder / "certificate.pem")
        return context.wrap_socket(self.connect(), server_hostname=name)

    def browser(self) -> httpx.Client:
        context = ssl.create_default_context(cafile=self.folder / "certificate.pem")
        return httpx.Client(base_url=f"https://localhost:{self.port}", verify=context, timeout=30)

    def answers(self) -> bool:
        with self.browser() as browser:
            return browser.get("/login").status_code == 200

    def logged(self) -> str:
        return "".join((self.folder / name).read_text() for name in ("access.log", "error.log"))


@contextmanager
def proxied(folder: Path, console: int, changes: Mapping[str, str]) -> Iterator[Proxy]:
    """An nginx in front of the console at this port, with these changes to what is shipped."""
    if NGINX is None:
        pytest.skip("there is no nginx; Debian: apt install nginx")
    write_certificate(folder)
    (folder / "unwritable").mkdir(mode=0o500)
    with socket.create_server(("127.0.0.1", 0)) as secure, socket.create_server(("127.0.0.1", 0)) as plain:
        port, plain_port = (one.getsockname()[1] for one in (secure, plain))
        site = substituted(
            (DEPLOY / "nginx.conf").read_text(),
            {
                "    listen [::]:443 ssl default_server;\n": "",
                "    listen [::]:443 ssl;\n": "",
                "    listen [::]:80;\n": "",
                "listen 443 ": f"listen 127.0.0.1:{port} ",
                "listen 80;": f"listen 127.0.0.1:{plain_port};",
                "server_name console.example.org;": "server_name localhost;",
                "/etc/ssl/console": f"{folder}/certificate",
                "127.0.0.1:8470": f"127.0.0.1:{console}",
                **changes,
            },
        )
        (folder / "site.conf").write_text(site)
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
        handed_over = [secure.fileno(), plain.fileno()]  # as nginx does for a newer nginx: no port is ever free between
        process = subprocess.Popen(
            [NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "start.log"],
            env={**os.environ, "NGINX": "".join(f"{fd};" for fd in handed_over)},
            pass_fds=handed_over,
            stderr=subprocess.DEVNULL,
        )
    try:
        yield Proxy(port, plain_port, folder)
    finally:
        process.terminate()
        process.wait(timeout=30)


def substituted(text: str, changes: Mapping[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = serialization.PrivateFormat.PKCS8
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "certificate.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption())
    )
