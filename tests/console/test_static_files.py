"""Files of the frame have their digest in their name, and browsers keep them for good."""

import hashlib
import re

import pytest
from tests.console.offices import Office

from deniable.console import static_files


def test_pages_name_the_files_by_their_content(office: Office) -> None:
    browser = office.browser()
    addresses = re.findall(r'href="(/static/[^"]+)"', browser.get("/login").text)
    assert len(addresses) == 2
    for address in addresses:
        answer = browser.get(address)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert hashlib.sha256(answer.content).hexdigest()[:16] in address
        assert answer.headers["content-type"].startswith(("text/css", "image/svg+xml"))
        assert browser.client.head(address).status_code == 200


@pytest.mark.parametrize("path", ["/static/style.css", "/static/", "/static/..%2Fapp.py", "/static/../console.key"])
def test_there_is_nothing_else(office: Office, path: str) -> None:
    assert office.browser().get(path).status_code == 404


def test_another_content_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = static_files.static_address("style.css")
    static_files._files.cache_clear()
    monkeypatch.setattr("deniable.console.static_files.hashlib.sha256", hashlib.sha512)
    try:
        assert static_files.static_address("style.css") != before
    finally:
        static_files._files.cache_clear()
