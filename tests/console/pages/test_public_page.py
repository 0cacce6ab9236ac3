"""The public page in the console: the published bytes, safely, and nothing is published by looking."""

import base64
import hashlib
import re
from urllib.parse import urljoin

import pytest
from tests.console.offices import Office
from tests.console.test_security import everything

from deniable.console.pages import published
from deniable.console.pages.public_page import kinds_of, policy_for
from deniable.programme.programme import Programme
from deniable.programme.public.folder import PAGE
from deniable.programme.transcript_copies import KeyCopy, NotKeptError

PUBLIC = f"/public/{PAGE}"


@pytest.mark.parametrize("name", ["Otto", "Anna"])
def test_it_is_what_the_public_sees(office: Office, name: str) -> None:
    programme = office.begin()
    programme.publish(office.public)
    browser = office.browser(name)
    assert f'href="{PUBLIC}"' in browser.get("/transcript").text
    for file, kind in kinds_of(programme.parameters).items():
        answer = browser.get(f"/public/{file}")
        assert answer.content == (office.public / file).read_bytes()
        assert answer.headers["content-type"] == kind
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_link_on_it_leads_somewhere(office: Office) -> None:
    office.begin().publish(office.public)
    otto = office.browser("Otto")
    links = re.findall('href="([^"#]+)"', otto.get(PUBLIC).text)
    ours = {urljoin(PUBLIC, link) for link in links if not link.startswith(("https://", "data:"))}
    assert len(ours) >= 4
    assert {otto.get(link).status_code for link in ours} == {200}


def test_it_may_show_its_own_style_and_do_nothing_else(office: Office) -> None:
    office.begin().publish(office.public)
    answer = office.browser("Otto").get(PUBLIC)
    policy = answer.headers.get_list("content-security-policy")
    style = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(policy) == len(style) == 1
    assert policy[0].startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy[0]
    assert "script" not in policy[0]  # what is not named falls under default-src
    assert policy_for(b"<p>No style.</p>").count("sha256") == 0
    others = {office.browser("Otto").get(path).headers["content-security-policy"] for path in ("/transcript", "/round")}
    assert others == {office.browser().get("/login").headers["content-security-policy"]}


def test_before_it_is_published_it_is_what_would_be(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    assert "as the console would publish it now" in otto.get("/transcript").text
    foreseen = otto.get(PUBLIC).content
    assert not office.public.exists()
    programme.publish(office.public)
    assert foreseen == (office.public / PAGE).read_bytes()
    assert "as the public sees it" in otto.get("/transcript").text


def test_what_is_recorded_and_not_published_is_not_on_it(office: Office) -> None:
    programme, otto = office.begin(), office.browser("Otto")
    programme.publish(office.public)
    before = otto.get(PUBLIC).content
    programme.override(["Ash Mill"], "A fire.", independent=True)
    assert otto.get(PUBLIC).content == before == (office.public / PAGE).read_bytes()
    assert "lacks what is not published yet" in otto.get("/transcript").text


def test_a_changed_page_is_not_served_and_not_mended_by_looking(office: Office) -> None:
    office.begin().publish(office.public)
    page, otto = office.public / PAGE, office.browser("Otto")
    right = page.read_bytes()
    changed = right.replace(b"<style>", b"<style>p { display: none }</style><style>")
    page.write_bytes(changed)
    answer = otto.get(PUBLIC)
    assert answer.content == right
    assert answer.headers["content-security-policy"].count("sha256") == 1
    assert page.read_bytes() == changed
    assert "the public may see something else" in otto.get("/transcript").text


def test_only_the_bytes_that_were_checked_are_served(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is exchanged after the check is not served, unless it has the fingerprint that was checked."""
    office.begin().publish(office.public)
    page, otto = office.public / PAGE, office.browser("Otto")
    right, original = page.read_bytes(), published._looked_at
    other = right + b"<p>Something else</p>"

    def exchanged(*args: object) -> object:
        page.write_bytes(right)
        found = original(*args)  # type: ignore[arg-type]
        page.write_bytes(other)
        return found

    monkeypatch.setattr(published, "_looked_at", exchanged)
    assert otto.get(PUBLIC).content == right
    forged = (published._hash(other),) * 10, published.Verified(True, ())
    monkeypatch.setattr(published, "_looked_at", lambda *_: forged)
    assert otto.get(PUBLIC).content == other


@pytest.mark.parametrize(
    "name", ["notes.txt", "INDEX.HTML", "public.zip", "..%2fprogramme.key", "%2e%2e/programme.key", "index.html%00", ""]
)
def test_no_other_file_is_served(office: Office, name: str) -> None:
    office.begin().publish(office.public)
    (office.public / "notes.txt").write_text("secret")
    answer = office.browser("Otto").get(f"/public/{name}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_link_in_its_place_is_not_followed(office: Office) -> None:
    office.begin().publish(office.public)
    page, elsewhere = office.public / PAGE, office.public.parent / "elsewhere"
    right = page.read_bytes()
    elsewhere.write_text("secret")
    page.unlink()
    page.symlink_to(elsewhere)
    assert office.browser("Otto").get(PUBLIC).content == right


def test_a_draw_that_no_copy_has_is_not_shown_and_no_copy_is_made(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    programme = office.begin()
    office.console.programme()  # which is opened with a copy
    office.clock.tomorrow()
    otto, works = office.browser("Otto"), iter([True])
    with monkeypatch.context() as patched:
        patched.setattr(KeyCopy, "write", lambda *_: next(works, False))
        with pytest.raises(NotKeptError):
            programme.close_round(1)
    kept: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(Programme, "keep_copy", lambda _: kept.append("copy"))
        before = everything(office)
        answer = otto.get(PUBLIC)
    assert answer.status_code == 503
    assert kept == []
    assert everything(office) == before
    assert otto.get("/transcript").status_code == 200  # which makes the copy
    assert otto.get(PUBLIC).status_code == 200
