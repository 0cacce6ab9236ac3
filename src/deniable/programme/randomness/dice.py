"""Values thrown in public: dice or a lottery, from what a person typed to the one text that is published."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deniable.errors import DeniableError, check_whole
from deniable.languages.voice import Voice
from deniable.message import why_not

BITS = 100
"""What the throws must at least be worth: more than a computer can try out."""
MOST_CHARACTERS = 2000
"""Of the text that is published."""
_BETWEEN_DRAWINGS = " / "
_IN_A_LINE = 10


@dataclass(frozen=True)
class Throws:
    """One throw gives `numbers` different numbers from 1 to `of`: a die 1 of 6, a lottery 6 of 49.

    >>> from deniable.languages.voice import plain
    >>> Throws().in_words(plain())
    'a die with 6 sides, thrown 39 times'
    >>> Throws(6, 49).in_words(plain())
    '6 numbers of 49, drawn 5 times'
    """

    numbers: int = 1
    of: int = 6

    def __post_init__(self) -> None:
        if check_whole(why_not("the highest number of a throw"), self.of, least=2) > 1000:
            raise DeniableError("the highest number of a throw can be at most 1000")
        if check_whole(why_not("the numbers of a throw"), self.numbers, least=1) >= self.of:
            raise DeniableError("a throw must have fewer numbers than it chooses from; otherwise it is always the same")
        if self.times * self.numbers * (len(str(self.of)) + 3) > MOST_CHARACTERS:
            raise DeniableError("a throw has too many numbers to be published; take a smaller lottery, or dice")

    @property
    def times(self) -> int:
        """How many throws there are: the fewest that are worth 100 bits.

        Neither more nor fewer, or the office, which knows what each next throw would lead to, could stop at a throw
        that it likes.
        """
        outcomes = math.comb(self.of, self.numbers)
        throws = 1
        while outcomes**throws < 2**BITS:
            throws += 1
        return throws

    def in_words(self, say: Voice) -> str:
        """As a phrase of its own, in brackets or after a colon."""
        if self.numbers == 1:
            return say.counted(
                "a die with {sides} sides, thrown once",
                "a die with {sides} sides, thrown {number} times",
                self.times,
                sides=self.of,
            )
        return say.counted(
            "{numbers} numbers of {most}, drawn once",
            "{numbers} numbers of {most}, drawn {number} times",
            self.times,
            numbers=self.numbers,
            most=self.of,
        )

    def read(self, text: str) -> str:
        """The one text for what a person typed: numbers between spaces, commas, semicolons or line breaks.

        The digits of a die with up to 9 sides may be run together. Drawings follow one another, or have a slash between
        them.

        >>> Throws(2, 1000).read("7, 3; 999 12 / 3 4 / 5 6")
        Traceback (most recent call last):
        deniable.errors.DeniableError: each drawing must have 2 numbers, and one between slashes has 4
        >>> Throws(3, 1000).read("9 7 3, 5 6 4, 1 3 2, 10 30 20")
        '3 7 9 / 4 5 6 / 1 2 3 / 10 20 30'
        """
        thrown = self._drawings(text)
        for drawing in thrown:
            self._check_drawing(drawing)
        self._check_how_many(len(thrown))
        between = " " if self.numbers == 1 else _BETWEEN_DRAWINGS
        return between.join(" ".join(map(str, sorted(drawing))) for drawing in thrown)

    def check(self, text: str) -> str:
        """A text as `read` writes it."""
        if not isinstance(text, str) or self.read(text) != text:
            raise DeniableError("the numbers thrown must be in the form in which they are published")
        return text

    def grouped(self, text: str) -> list[str]:
        """What `read` wrote, in lines that two people can compare: ten throws of a die, or one drawing.

        >>> Throws(1, 1000).grouped("1 2 3 4 5 6 7 8 9 10 11")
        ['1 2 3 4 5 6 7 8 9 10', '11']
        """
        if self.numbers > 1:
            return text.split(_BETWEEN_DRAWINGS)
        numbers = text.split()
        return [" ".join(numbers[start : start + _IN_A_LINE]) for start in range(0, len(numbers), _IN_A_LINE)]

    def _drawings(self, text: str) -> list[list[int]]:
        if "/" in text:
            drawings = [self._numbers(part) for part in text.split("/")]
            for drawing in drawings:
                if len(drawing) != self.numbers:
                    raise DeniableError.of(
                        self.numbers,
                        "each drawing must have {number} number, and one between slashes has {has}",
                        "each drawing must have {number} numbers, and one between slashes has {has}",
                        has=len(drawing),
                    )
            return drawings
        numbers = self._numbers(text)
        if len(numbers) % self.numbers:
            raise DeniableError(
                "the last drawing is incomplete; each must have {numbers} numbers", numbers=self.numbers
            )
        return [numbers[start : start + self.numbers] for start in range(0, len(numbers), self.numbers)]

    def _numbers(self, text: str) -> list[int]:
        words = [word for word in re.split(r"[\s,;]+", text) if word]
        if self.numbers == 1 and self.of <= 9:
            words = [digit for word in words for digit in word]
        return [self._number(word) for word in words]

    def _number(self, word: str) -> int:
        if not re.fullmatch(r"[0-9]{1,4}", word) or not 1 <= int(word) <= self.of:
            raise DeniableError("write numbers from 1 to {of} and nothing else", of=self.of)
        return int(word)

    def _check_drawing(self, drawing: Sequence[int]) -> None:
        if len(set(drawing)) < len(drawing):
            repeated = next(number for number in drawing if drawing.count(number) > 1)
            raise DeniableError(
                "a drawing has the number {repeated} twice; compare it with the drawing", repeated=repeated
            )

    def _check_how_many(self, throws: int) -> None:
        if throws == self.times:
            return
        if self.numbers == 1:
            raise DeniableError.of(
                self.times,
                "there must be {number} throw, and there are {throws}: with fewer the result could be foreseen, and "
                "with more the office could stop when it likes the result",
                "there must be {number} throws, and there are {throws}: with fewer the result could be foreseen, and "
                "with more the office could stop when it likes the result",
                throws=throws,
            )
        raise DeniableError.of(
            self.times,
            "there must be {number} drawing, and there are {throws}: with fewer the result could be foreseen, and "
            "with more the office could stop when it likes the result",
            "there must be {number} drawings, and there are {throws}: with fewer the result could be foreseen, and "
            "with more the office could stop when it likes the result",
            throws=throws,
        )
