"""A mirror of a chain of our own key: a real server on this machine that signs what it is asked for."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.programme.randomness.own_chain import OwnChain

from deniable.programme.randomness.drand import SCHEME


class OwnMirror(ThreadingHTTPServer):
    """Answers as drand's mirrors do."""

    daemon_threads = True

    def __init__(self, own: OwnChain) -> None:
        self.asked: list[str] = []
        self.is_down = False
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.asked.append(self.path)
                chain, _, number = self.path.strip("/").split("/")
                if chain != own.chain.hash or mirror.is_down:
                    self.send_error(404)
                    return
                beacon = own.sign(int(number))
                body = json.dumps({"round": beacon.round, "signature": beacon.signature}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (http.server's name)
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def own_mirror(own: OwnChain) -> Iterator[OwnMirror]:
    with OwnMirror(own) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def write_chain(own: OwnChain, path: Path) -> Path:
    """What a mirror gives at /CHAIN/info."""
    chain = own.chain
    info = {"hash": chain.hash, "public_key": chain.public_key, "genesis_time": chain.genesis, "period": chain.period}
    path.write_text(json.dumps(info | {"schemeID": SCHEME}), encoding="ascii")
    return path
