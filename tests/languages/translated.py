"""Languages with complete catalogues, in accented English, for tests: a folder of files, like that which is shipped."""

import shutil
from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po
from tests.languages.pseudo import accented

from deniable.languages import language


def translated(monkeypatch: pytest.MonkeyPatch, folder: Path, *codes: str, reviewed: bool = False) -> Path:
    """From now on these languages are there, and no others but English. Gives their folder."""
    languages = folder / "languages"
    shutil.copytree(language.FOLDER, languages, ignore=shutil.ignore_patterns("*.py", "*.po", "__pycache__"))
    for code in language.PUBLIC[1:]:
        (languages / code / "terms.toml").unlink(missing_ok=True)
    for code in codes:
        translate(languages / code, reviewed=reviewed)
    monkeypatch.setattr(language, "FOLDER", languages)
    return languages


def translate(folder: Path, *, reviewed: bool = False, without: str = "") -> None:
    """Write the catalogue and the terms of one language; one sentence can be left without a translation."""
    terms = (folder.parent / "en" / "terms.toml").read_text(encoding="utf-8")
    (folder / "terms.toml").write_text(terms.replace("reviewed = true", f"reviewed = {str(reviewed).lower()}"))
    with (folder.parent / "public.pot").open("rb") as opened:
        sources = read_po(opened)
    catalogue = Catalog(locale=folder.name.replace("-", "_"))
    for message in sources:
        if not message.id:
            continue
        if isinstance(message.id, str):
            catalogue.add(message.id, "" if message.id == without else accented(message.id))
        else:
            one, many = map(accented, message.id)
            catalogue.add(message.id, (one, *[many] * (catalogue.num_plurals - 1)))
    with (folder / "public.po").open("wb") as file:
        write_po(file, catalogue)
