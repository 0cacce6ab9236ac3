"""The channels of a hotline: edited by the person who brings it and by auditors, on a page and as a file."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.console.offices import CLASSES, Browser, Office, preview, replace_channels

from deniable.console.pages import channels
from deniable.programme.programme import Programme

ADDRESS = "/import/channels?hotline=hotline"


def save(browser: Browser, *rows: tuple[str, str], **data: str) -> Any:
    form = {"hotline": "hotline", **data}
    for place, (channel, choice) in enumerate(rows):
        form |= {f"channel-{place}": channel, f"channel-choice-{place}": choice}
    return browser.post("/import/channels", form)


def send(browser: Browser, file: str) -> Any:
    return replace_channels(browser, file.encode())


def mapped(programme: Programme) -> dict[str, str | None]:
    mapping, _ = programme.hotlines.mappings(programme.hotlines.kept("hotline"))
    return {channel: target for channel, target in mapping.target_of.items() if channel != target}


@pytest.mark.parametrize("name", ["Anna", "Ida"])
def test_channels_are_added_changed_and_removed(office: Office, name: str) -> None:
    programme = office.begin()
    browser = office.browser(name)
    answer = save(browser, ("north", "is:Ash Mill"), ("test", "out"), ("later", ""))
    assert answer.headers["location"] == f"{ADDRESS}&done=saved"
    assert mapped(programme) == {"north": "Ash Mill", "test": None}
    page = browser.get(answer.headers["location"]).text
    assert "are saved" in page
    assert re.findall(r'name="channel-\d" value="(\w+)"', page) == ["north", "test"]
    assert '<option value="is:Ash Mill" selected>' in page
    save(browser, ("north", "remove"), ("test", "is:Birch Works"))
    assert mapped(programme) == {"test": "Birch Works"}


def test_five_new_channels_are_saved_at_once(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    places = re.findall(r'<input name="channel-(\d+)" aria-label="New channel', ida.get(ADDRESS).text)
    assert len(places) == 5
    form = {"hotline": "hotline"}
    for place in places:
        form |= {f"channel-{place}": f"new {place}", f"channel-choice-{place}": "is:Ash Mill"}
    refused = ida.post("/import/channels", form | {f"channel-choice-{places[-1]}": "is:Nobody"})
    names = re.findall(r'name="(channel-\d+)"', refused.text)
    assert len(names) == len({*names}) == 10
    assert ida.post("/import/channels", form).status_code == 303
    assert mapped(programme) == {f"new {place}": "Ash Mill" for place in places}


def test_only_who_brings_the_hotline_and_auditors_see_its_channels(office: Office) -> None:
    programme = office.begin()
    office.add("Eve", "importer")
    save(office.browser("Ida"), ("north", "is:Ash Mill"))
    eve = office.browser("Eve")
    for answer in (
        eve.get(ADDRESS),
        eve.get("/import/channels/file.csv?hotline=hotline"),
        save(eve, ("north", "out")),
        eve.post("/import/channels/file", {"hotline": "hotline"}, files={"file": ("m.csv", b"channel,target\nx,\n")}),
        eve.get("/import/channels?hotline=nowhere"),
    ):
        assert answer.status_code == 404
        assert "north" not in answer.text
    assert mapped(programme) == {"north": "Ash Mill"}
    for name in ("Ada", "Otto"):
        assert office.browser(name).get(ADDRESS).status_code == 403


@pytest.mark.parametrize(
    ("channel", "choice", "told"),
    [("north", "is:Elm Yard", "For the channel north, choose a target"), ("x" * 201, "out", "1 to 200")],
)
def test_what_is_refused_stays_in_the_form(office: Office, channel: str, choice: str, told: str) -> None:
    programme = office.begin()
    answer = save(office.browser("Ida"), ("south", "out"), (channel, choice))
    assert answer.status_code == 422
    assert told in answer.text
    assert 'value="south"' in answer.text
    assert mapped(programme) == {}


def test_with_many_targets_a_name_is_typed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "FEW", 3)
    programme = office.begin()
    ida = office.browser("Ida")
    assert 'list="targets"' in ida.get(ADDRESS).text
    form = {"hotline": "hotline", "channel-0": "north", "channel-target-0": "ash mill", "channel-choice-0": ""}
    assert ida.post("/import/channels", form).status_code == 303
    assert mapped(programme) == {"north": "Ash Mill"}
    assert 'value="Ash Mill"' in ida.get(ADDRESS).text


def test_many_channels_are_on_several_pages(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "AT_ONCE", 2)
    office.begin()
    ida = office.browser("Ida")
    send(ida, "channel,target\na,\nb,\nc,\n")
    first = ida.get(ADDRESS).text
    assert re.findall(r'name="channel-\d" value="(\w+)"', first) == ["a", "b"]
    assert "start=2" in first
    second = ida.get(f"{ADDRESS}&start=2").text
    assert re.findall(r'name="channel-\d" value="(\w+)"', second) == ["c"]
    assert "start=0" in second


def with_entries(office: Office, number: int) -> tuple[Programme, dict[str, str | None]]:
    """A hotline whose class column has so many entries."""
    programme = office.begin(classes=CLASSES)
    values: dict[str, str | None] = {f"entry {place:03}": "minor" for place in range(number)}
    programme.hotlines.keep("hotline", lambda kept: replace(kept, class_column="severity", values=values))
    return programme, values


def form_of(page: str) -> list[tuple[str, str]]:
    """What a browser sends of the page's form if nothing is changed."""
    form = page[page.index('action="/import/channels"') : page.index("Save the channels")]
    sent = []
    for field in re.finditer(r'<input[^>]*name="([^"]+)"[^>]*>|<select name="([^"]+)".*?</select>', form, re.DOTALL):
        pattern = r' value="([^"]*)"' if field[1] else r'<option value="([^"]*)" selected'
        chosen = re.search(pattern, field[0])
        if 'type="radio"' not in field[0] or "checked" in field[0]:
            sent.append((field[1] or field[2], chosen[1] if chosen else ""))
    return sent


@pytest.mark.parametrize("number", [49, 50, 55, 56, 61, 120])
def test_no_entry_is_lost_or_shown_twice_however_many_there_are(office: Office, number: int) -> None:
    programme, values = with_entries(office, number)
    ida, start, seen = office.browser("Ida"), 0, []
    while True:
        page = ida.get(f"{ADDRESS}&start={start}").text
        sent = form_of(page)
        assert len(sent) == len(dict(sent))
        seen += [value for name, value in sent if re.fullmatch(r"value-\d+", name) and value]
        empty = [name for name, value in sent if re.fullmatch(r"value-\d+", name) and not value]
        assert len(empty) == 5
        place = empty[-1].removeprefix("value-")
        new = {f"value-{place}": f"new {start}", f"value-choice-{place}": "is:serious"}
        assert ida.post("/import/channels", dict(sent) | new).status_code == 303
        values[f"new {start}"] = "serious"
        assert programme.hotlines.kept("hotline").values == values
        later = re.search(r"start=(\d+)[^>]*>Next page", page)
        if later is None:
            break
        start = int(later[1])
    assert [name for name in seen if name.startswith("entry")] == [name for name in values if name.startswith("entry")]


def test_what_is_refused_again_and_again_stays_in_the_form(office: Office) -> None:
    """On the page of the list where it was typed."""
    programme, _ = with_entries(office, 60)
    ida = office.browser("Ida")
    page = ida.get(f"{ADDRESS}&start=50").text
    for turn in range(4):
        sent = form_of(page)
        assert len(sent) == len(dict(sent))
        assert dict(sent)["start"] == "50"
        typed = dict(sent) | {"class_column": ""}
        for what in ("channel", "value"):
            free = [name for name, value in sent if re.fullmatch(rf"{what}-\d+", name) and not value]
            typed |= {name: f"{turn} {name}" for name in free}
        answer = ida.post("/import/channels", typed | {"class_from": "column"})
        assert answer.status_code == 422
        page = answer.text
        named = {name: value for name, value in form_of(page) if value}
        for what in ("channel", "value"):
            new = [name for name in named.values() if re.fullmatch(rf"\d {what}-\d+", name)]
            assert len(new) == len({*new}) == 5 * (turn + 1)
    assert len(programme.hotlines.kept("hotline").values) == 60


def test_as_a_file_and_back(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    save(ida, ("north, old", "is:Ash Mill"), ("test", "out"))
    file = ida.get("/import/channels/file.csv?hotline=hotline")
    assert file.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in file.headers["content-disposition"]
    assert "channels.csv" in file.headers["content-disposition"]
    assert [*csv.reader(io.StringIO(file.content.decode("utf-8-sig")))] == [
        ["channel", "target"],
        ["north, old", "Ash Mill"],
        ["test", ""],
    ]
    answer = replace_channels(ida, file.content.replace(b"Ash Mill", b"Birch Works"))
    assert answer.headers["location"] == f"{ADDRESS}&done=filled"
    assert mapped(programme) == {"north, old": "Birch Works", "test": None}
    wrong = ida.post("/import/channels/file", {"hotline": "hotline"}, files={"file": ("m.csv", b"a\n")})
    assert wrong.status_code == 422
    assert "columns channel and target" in wrong.text


def test_what_a_file_changes_is_shown_before_it_does(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    programme = office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    send(ida, "channel,target,class\nold,Ash Mill,minor\nsame,Ash Mill,minor\nother,Ash Mill,minor\n")
    before, files = programme.hotlines.kept("hotline"), {}
    files["file"] = ("m.csv", b"channel,target,class\nsame,Ash Mill,minor\nother,Birch Works,minor\nnew,,\n")
    page = ida.post("/import/channels/file", {"hotline": "hotline"}, files=files)
    assert page.status_code == 200
    assert programme.hotlines.kept("hotline") == before
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page.text.partition("<tbody")[2])
    shown = [re.sub(r"<[^>]*>", "", cell) for cell in cells]
    assert shown == [
        *("new", "not in the list", "left out on purpose"),
        *("old", "Ash Mill (minor)", "not in the list"),
        *("other", "Ash Mill (minor)", "Birch Works (minor)"),
    ]
    monkeypatch.setattr(channels, "MOST_CHANGES", 1)
    assert "2 more channels change" in ida.post("/import/channels/file", {"hotline": "hotline"}, files=files).text
    form = {"hotline": "hotline", "content": "no base64"}
    assert ida.post("/import/channels/file", form).status_code == 422
    assert programme.hotlines.kept("hotline") == before


def test_what_changed_after_it_was_shown_is_shown_again_before_it_is_replaced(office: Office) -> None:
    programme = office.begin()
    ida, anna = office.browser("Ida"), office.browser("Anna")
    save(ida, ("old", "is:Ash Mill"))

    def confirmation(page: str) -> dict[str, str]:
        return {"hotline": "hotline", **dict(re.findall(r'name="(content|seen)" value="([^"]+)"', page))}

    file = {"file": ("m.csv", b"channel,target\nnew,Cedar Bank\n")}
    first = ida.post("/import/channels/file", {"hotline": "hotline"}, files=file).text
    assert "were changed after you saw" not in first
    save(anna, ("late", "is:Birch Works"))
    for form in (confirmation(first), {**confirmation(first), "seen": ""}):
        again = ida.post("/import/channels/file", form)
        assert again.status_code == 200
        assert "were changed after you saw" in again.text
        assert "<bdi>late</bdi>" in again.text
        assert mapped(programme) == {"old": "Ash Mill", "late": "Birch Works"}
    answer = ida.post("/import/channels/file", confirmation(again.text))
    assert answer.headers["location"] == f"{ADDRESS}&done=filled"
    assert mapped(programme) == {"new": "Cedar Bank"}


def test_a_file_that_is_too_large_is_refused_before_it_is_read(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.begin()
    monkeypatch.setattr(channels, "MOST_CONTENT", 10)
    monkeypatch.delattr(channels, "read_mapping")
    answer = send(office.browser("Ida"), "channel,target\n")
    assert answer.status_code == 422
    assert "The file is too large for the console" in answer.text


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''=1", "'t Veld"]


def test_no_channel_is_a_formula_in_the_file_and_it_comes_back_as_it_was(office: Office) -> None:
    programme = office.begin()
    programme.change_targets("opened", independent=True, add=["=Elm Yard"])
    ida = office.browser("Ida")
    save(ida, *((name, "is:=Elm Yard") for name in FORMULAS))
    before = mapped(programme)
    assert {*FORMULAS} <= {*before}
    file = ida.get("/import/channels/file.csv?hotline=hotline")
    cells = [cell for row in csv.reader(io.StringIO(file.content.decode("utf-8-sig"))) for cell in row]
    assert "'=1+1" in cells
    assert "'=Elm Yard" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert "It changes nothing" in replace_channels(ida, file.content).text
    save(ida, *((name, "out") for name in FORMULAS))
    replace_channels(ida, file.content)
    assert mapped(programme) == before


def test_a_channel_whose_target_left_waits_and_says_so(office: Office) -> None:
    programme = office.begin()
    ida = office.browser("Ida")
    save(ida, ("north", "is:Ash Mill"))
    programme.change_targets("closed down", independent=True, remove=["Ash Mill"])
    assert "<bdi>Ash Mill</bdi> left the programme." in ida.get(ADDRESS).text
    assert 'name="channel-0" value="north"' in preview(ida, b"id,channel\n1,north\n").text


def test_that_channels_were_assigned_is_not_in_the_log(office: Office) -> None:
    office.begin()
    save(office.browser("Ida"), ("north", "is:Ash Mill"))
    assert "Ida" not in office.log()


def test_a_file_that_is_refused_is_called_a_file_beside_its_field(office: Office) -> None:
    office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    answer = send(ida, "channel,target\nwest,Nowhere\n")
    assert answer.status_code == 422
    assert "The file, line 2: the target must be the name" in answer.text.partition('id="file-title"')[2]
    answer = ida.post("/import/channels/file", {"hotline": "hotline"})
    assert "Choose a file first" in answer.text


def test_channels_without_a_class_are_told(office: Office) -> None:
    office.begin(classes=CLASSES)
    ida = office.browser("Ida")
    assert send(ida, "channel,target\nwest,Ash Mill\neast,Ash Mill\nnone,\n").status_code == 303
    assert "2 channels have no class yet" in ida.get("/import/channels").text
    assert send(ida, "channel,target,class\nwest,Ash Mill,minor\n").status_code == 303
    assert "no class yet" not in ida.get("/import/channels").text


@pytest.mark.parametrize("classes", [CLASSES, CLASSES[:1]])
def test_a_channel_called_like_a_target_needs_a_line_where_channels_say_the_class(office: Office, classes: Any) -> None:
    office.begin(classes=classes)
    page = office.browser("Ida").get(ADDRESS).text
    assert ("needs no line here" in page) == (len(classes) == 1)
    assert ("and choose its class" in page) == (len(classes) > 1)
