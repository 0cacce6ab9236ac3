"""Extract every sentence of the public side from the sources, and bring the languages' catalogues up to date.

`python scripts/messages.py` writes src/deniable/languages/public.pot and merges it into every public.po: sentences that
are new have no translation yet, and those that are gone are dropped.
"""

from io import BytesIO
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ROOT / "src/deniable/languages"
KEYWORDS = {"say": None, "noted": None, "html": None, "counted": (1, 2)}


def main() -> None:
    sources = extracted()
    (LANGUAGES / "public.pot").write_bytes(written(sources))
    for file in sorted(LANGUAGES.glob("*/public.po")):
        file.write_bytes(merged(file, sources))


def extracted() -> Catalog:
    """All sentences, in their order in the sources."""
    with (ROOT / "babel.cfg").open(encoding="utf-8") as opened:
        methods, options = parse_mapping_cfg(opened)  # type: ignore[no-untyped-call]
    catalogue = Catalog(project="deniable", fuzzy=False)
    for source, _, text, comments, context in extract_from_dir(
        ROOT / "src/deniable", methods, options, keywords=KEYWORDS, comment_tags=("For translators:",),
        strip_comment_tags=True,
    ):  # fmt: skip
        catalogue.add(text, None, [(f"src/deniable/{source}", 0)], auto_comments=comments, context=context)
    return catalogue


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
