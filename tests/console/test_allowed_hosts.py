"""Under which names the console answers."""

import pytest
from tests.console.offices import Office

from deniable.console.allowed_hosts import checked, is_loopback, is_ours
from deniable.console.app import create_app
from deniable.console.static_files import static_address
from deniable.errors import DeniableError


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://console.example.org", "https://console.example.org"),
        ("HTTPS://Console.Example.org/", "https://console.example.org"),
        ("https://console.example.org:443", "https://console.example.org"),
        ("https://console.example.org:8443", "https://console.example.org:8443"),
        ("https://192.0.2.7", "https://192.0.2.7"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ],
)
def test_an_origin_is_kept_as_browsers_write_it(given: str, origin: str) -> None:
    assert checked(given, secure=True) == origin


@pytest.mark.parametrize(
    "given",
    [
        "",
        "console.example.org",
        "http://console.example.org",
        "https://",
        "https://console.example.org/console",
        "https://console.example.org?a",
        "https://console.example.org#a",
        "https://ada@console.example.org",
        "https://console.example.org:99999",
        "https://console.example.org:port",
        "https://[::1",
        "https://cönsole.example.org",
        "https://console example.org",
        "https://-",
    ],
)
def test_what_is_no_origin(given: str) -> None:
    with pytest.raises(DeniableError, match="--origin must be what browsers show, such as https://"):
        checked(given, secure=True)


def test_without_tls_an_origin_is_http() -> None:
    assert checked("http://localhost:9000", secure=False) == "http://localhost:9000"
    with pytest.raises(DeniableError, match="such as http://"):
        checked("localhost:9000", secure=False)
    with pytest.raises(DeniableError, match="give --behind-proxy"):
        checked("https://localhost:9000", secure=False)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8470", "127.9.9.9", "[::1]", "[::1]:8470"])
def test_on_this_computer_alone_its_own_names_will_do(host: str) -> None:
    assert is_ours(host, None)


@pytest.mark.parametrize(
    "host",
    ["", "example.org", "localhost.example.org", "127.0.0.1.example.org", "192.0.2.7", "localhost@example.org", "[::1",
     "localhost:", "localhost:a", "x/localhost", "0.0.0.0", "localhost, example.org"],
)  # fmt: skip
def test_no_other_name_will(host: str) -> None:
    assert not is_ours(host, None)


def test_only_its_own_name_will_do_where_it_has_one() -> None:
    origin = "https://console.example.org"
    assert is_ours("Console.example.org", origin)
    assert is_ours("console.example.org:443", origin)
    assert is_ours("console.example.org:8443", f"{origin}:8443")
    for host in ("", "localhost", "127.0.0.1", "example.org", "console.example.org:80", "console.example.org.", "a.b"):
        assert not is_ours(host, origin)


@pytest.mark.parametrize(("host", "expected"), [("localhost", True), ("::1", True), ("127.0.0.2", True), ("a", False)])
def test_what_always_means_this_computer(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize("path", ["/login", static_address("style.css"), "/api/v1/status", "/nowhere", "/first-run/x"])
def test_a_request_under_another_name_is_refused_whatever_it_asks_for(office: Office, path: str) -> None:
    """A name that somebody made to point here: the page of that name would read what it gets."""
    ada = office.browser("Ada")
    answer = ada.get(path, headers={"Host": "rebound.example"})
    assert answer.status_code == 421
    assert "does not answer under this name" in answer.text
    assert "testserver" not in answer.text
    assert ada.client.post("/logout", headers={"Host": "rebound.example"}).status_code == 421
    assert ada.get("/people").status_code == 200


def test_the_check_of_names_can_fail(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.console.app.is_ours", lambda *_: True)
    assert office.browser("Ada").get("/people", headers={"Host": "rebound.example"}).status_code == 200


def test_links_carry_the_name_that_was_given(office: Office) -> None:
    """Not the one that the request came with, in which somebody in between may have put another."""
    office.app = create_app(office.console, "http://console.example.org:8470")
    ada = office.browser(base_url="http://console.example.org:8470")
    ada.sign_in("Ada")
    page = ada.post("/people/invite", {"name": "Berta", "role": "operator"}, headers={"X-Forwarded-Host": "evil"})
    assert "http://console.example.org:8470/invitation/" in page.text
    assert "evil" not in page.text


def test_on_this_computer_links_carry_the_name_it_was_asked_under(office: Office) -> None:
    office.app = create_app(office.console)
    ada = office.browser(base_url="http://localhost:8470")
    ada.sign_in("Ada")
    page = ada.post(
        "/people/invite", {"name": "Berta", "role": "operator"}, headers={"Origin": "http://localhost:8470"}
    )
    assert "http://localhost:8470/invitation/" in page.text
    assert ada.post("/logout", headers={"Origin": "http://localhost:9000"}).status_code == 403
