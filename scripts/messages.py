"""Extract every sentence that people read from the sources, and bring the languages' catalogues up to date.

`python scripts/messages.py` writes public.pot and console.pot in src/deniable/languages, and merges them into every
public.po and console.po: sentences that are new have no translation yet, and those that are gone are dropped. A
sentence of the public side that the console says as well stands in public.po alone.
"""

from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ROOT / "src/deniable/languages"
Keywords = dict[str, tuple[int, ...] | None]
"""Functions whose arguments are sentences, and which arguments; the first where it does not say."""
SAID: Keywords = {
    **dict.fromkeys(("say", "noted", "html")),
    **dict.fromkeys(("noted_count", "counted", "counted_html"), (1, 2)),
}
REFUSED: Keywords = {
    **dict.fromkeys(("why_not", "DeniableError", "PlaceError", "StoreError", "KeyChangedError", "NotKeptError")),
    **dict.fromkeys(("EndedError", "ExistsError", "NoBeaconError", "OtherColumnsError", "PauseEndedError")),
    "error": None,
    "of": (2, 3),
    "FieldError": (2,),
}
"""How errors are made. Only the console says them in other languages than English."""
PUBLIC = [
    ("programme/**.py", "python"),
    ("guarantee.py", "python"),
    ("guarantee_sentences.py", "python"),
    ("programme/public/templates/*.j2", "jinja2"),
]
CONSOLE = [
    ("console/**.py", "python"),
    ("promptness/deadline_words.py", "python"),
    ("console/templates/*.html", "jinja2"),
]
REACHED = [
    (f"{reached}.py", "python")
    for reached in (
        "console/**",
        "programme/*",
        "programme/imports/*",
        "programme/public/folder",
        "programme/public/publish",
        "programme/public/values",
        "programme/public/verify",
        "programme/public/warnings",
        "programme/randomness/*",
        "programme/secrets/lock",
        "programme/secrets/vault",
        "programme/transcript/*",
        "storage/store",
        "languages/language",
        "errors",
        "report_classes",
        "rules",
    )
]
"""What may refuse something that was asked for in the console. What the terminal alone says stays English."""


def main() -> None:
    for domain, sources in extracted().items():
        (LANGUAGES / f"{domain}.pot").write_bytes(written(sources))
        for file in sorted(LANGUAGES.glob(f"*/{domain}.po")):
            file.write_bytes(merged(file, sources))


def extracted() -> dict[str, Catalog]:
    """The sentences of the public side and of the console, in their order in the sources."""
    public, console = Catalog(project="deniable", fuzzy=False), Catalog(project="deniable", fuzzy=False)
    _add(public, PUBLIC, SAID)
    _add(console, CONSOLE, SAID, but=public)
    _add(console, REACHED, REFUSED, but=public)
    return {"public": public, "console": console}


def _add(
    catalogue: Catalog,
    sources: list[tuple[str, str]],
    keywords: Keywords,
    but: Catalog | None = None,
) -> None:
    options = {pattern: {"trim_blocks": "true", "lstrip_blocks": "true"} for pattern, how in sources if how == "jinja2"}
    for source, _, text, comments, context in extract_from_dir(
        ROOT / "src/deniable", sources, options, keywords=keywords, comment_tags=("For translators:",),
        strip_comment_tags=True,
    ):  # fmt: skip
        if but is None or (text if isinstance(text, str) else text[0]) not in but:
            catalogue.add(text, None, [(f"src/deniable/{source}", 0)], auto_comments=comments, context=context)


def merged(file: Path, sources: Catalog) -> bytes:
    """The catalogue of one language with the sentences of the sources."""
    with file.open("rb") as opened:
        catalogue = read_po(opened, locale=file.parent.name.replace("-", "_"))
    catalogue.update(sources, no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    return written(catalogue)


def written(catalogue: Catalog) -> bytes:
    """As a file, without what changes from day to day."""
    file = BytesIO()
    write_po(file, catalogue, width=120, omit_header=True, include_lineno=False)
    plural = f'"Plural-Forms: {catalogue.plural_forms}\\n"\n' if catalogue.locale else ""
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n{plural}\n'
    return head.encode() + file.getvalue()


if __name__ == "__main__":
    main()
