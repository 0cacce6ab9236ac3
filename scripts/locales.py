"""Write src/deniable/languages/*/locale.toml: how each language writes days, numbers and lists, by the Unicode CLDR.

They are kept, so that the bytes of a published page do not depend on the version of Babel that a reader has.
"""

import json
from pathlib import Path

from babel import Locale

FOLDER = Path(__file__).resolve().parent.parent / "src/deniable/languages"
TERRITORIES = {"en": "en_GB", "pt-BR": "pt_BR"}
"""Where a language alone is not what we write."""

COMMAS, SEMICOLONS = {"ar": "، "}, {"ar": "؛ ", "fr": "\u00a0; "}
"""Where they differ from those of English. The CLDR has them only within its lists."""

FIRST_DAYS = {"fr": "1er", "pt-BR": "1º"}
"""Where the first day of a month is written otherwise than as a number, which the CLDR does not say."""


def main() -> None:
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"):
        (folder / "locale.toml").write_text(locale_file(folder.name), encoding="utf-8")


def locale_file(code: str) -> str:
    locale = Locale.parse(TERRITORIES.get(code, code))
    digits = locale.default_numbering_system
    symbols = {**locale.number_symbols["latn"], **locale.number_symbols[digits]}
    grouping = locale.decimal_formats[None].grouping
    name = locale.get_display_name() if "-" in code else locale.get_language_name()
    facts = {
        "name": name[0].upper() + name[1:],
        "direction": locale.text_direction,
        "months": [locale.months["format"]["wide"][month] for month in range(1, 13)],
        "weekdays": [locale.days["format"]["wide"][day] for day in range(7)],
        "date": _pattern(code, locale.date_formats["long"].pattern),
        "first_day": FIRST_DAYS.get(code, "1"),
        "group": symbols["group"],
        "decimal": symbols["decimal"],
        "group_sizes": list(grouping),
        "digits": "".join(chr(0x09E6 + digit) for digit in range(10)) if digits == "beng" else "0123456789",
        "comma": COMMAS.get(code, ", "),
        "semicolon": SEMICOLONS.get(code, "; "),
        "and": _list(locale, "standard"),
        "or": _list(locale, "or"),
    }
    head = "# Made by scripts/locales.py from the Unicode CLDR.\n"
    return head + "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in facts.items())


def _pattern(code: str, pattern: str) -> str:
    """The CLDR's pattern as one for str.format. No line ends after the day; in English, tests and files compare plain
    text.
    """
    named = pattern.replace("MMMM", "{month}").replace("'de'", "de")
    words = [{"d": "{day}", "d.": "{day}.", "y": "{year}"}.get(word, word) for word in named.split(" ")]
    return words[0] + (" " if code == "en" else "\N{NO-BREAK SPACE}") + " ".join(words[1:])


def _list(locale: Locale, kind: str) -> list[str]:
    """How a list goes on, how its last two hang together, and how two alone do."""
    patterns = locale.list_patterns[kind]
    return [patterns["middle"], patterns["end"], patterns["2"]]


if __name__ == "__main__":
    main()
