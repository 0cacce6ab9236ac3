"""How hard a text is to read: the Flesch-Kincaid grade, the school year whose pupils can read it."""

import re

TWELVE_YEARS_OLD = 6.5
"""The grade in which most pupils are twelve at some time: the sixth, or the seventh at its beginning."""
AVOIDED = ("whoever", "somebody", "nobody", "everybody", "such that", "which is that of")
"""Words that plain English does without."""


def grade(text: str) -> float:
    """0.39 words a sentence + 11.8 syllables a word - 15.59 (Kincaid and others, 1975)."""
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if re.search(r"\w", part)]
    words = re.findall(r"[\w’'%-]+", text)
    syllables = sum(map(_syllables, words))
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59


def avoided_words(text: str) -> list[str]:
    return [word for word in AVOIDED if re.search(rf"\b{word}\b", text, re.IGNORECASE)]


def _syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end; a number counts as one."""
    plain = word.lower().strip("’'-%")
    groups = len(re.findall(r"[aeiouy]+", plain))
    if re.search(r"[^aeiouyl]es?$|[^aeiouytd]ed$", plain) and not re.search(r"(s|x|z|ch|sh|c|g)es$", plain):
        groups -= 1
    return max(1, groups)
