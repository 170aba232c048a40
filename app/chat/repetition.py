"""Whether a text goes round in circles: the same words, line or paragraph again and again.  Pure.

Small models fall into such loops, while they answer and while they think.  Only exact repetition counts: a list
whose numbers go up is not one.  What is found tells of the end of the text alone, so it goes away with the first
look after the text has gone on to something else.
"""

from typing import Final

LOOK: Final = 128
"""After how many more characters the text is looked at again."""
PERIOD: Final = 1_000
"""The longest piece that is known again, in characters: a long paragraph."""
TIMES: Final = 4
"""How often a piece stands there one after the other: refrains and lists of equal lines come three times."""
WORDS: Final = 400
"""The fewest characters that pieces with a letter in them fill: "the " a hundred times, a sentence some eight times."""
DRAWN: Final = 1_600
"""The fewest that pieces without a letter fill.

Rules of a table, rows of dashes, runs of blanks, boards and matrices of zeros are equal for long, and meant: this is
twenty rows of eighty.
"""
_TAIL: Final = max(TIMES * PERIOD, DRAWN)
_SUFFIX: Final = WORDS - WORDS // TIMES
"""Of a text with a period, so many last characters at least are those before them, one period back."""


class Repetition:
    """Fed with a text in pieces; `found` depends on the whole text alone, not on how it was cut.

    A look takes some 2 µs at prose and 4 µs at a loop; at the worst text that is known, 2 ms.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._fresh: list[str] = []
        self._count = 0
        self.found = False

    def feed(self, text: str) -> None:
        """Take in what follows."""
        self._fresh.append(text)
        self._count += len(text)
        if self._count >= LOOK:
            self._look()

    def _look(self) -> None:
        whole = "".join((self._tail, *self._fresh))
        self._count %= LOOK
        end = len(whole) - self._count
        self._tail = whole[max(0, end - _TAIL) : end]
        self._fresh = [whole[end:]]
        self.found = repeats(self._tail)


def repeats(text: str) -> bool:
    """Whether the end of the text is one piece of at most `PERIOD` characters, at least `TIMES` times, for long.

    A shift of the text onto itself that fails rules out many longer ones: if both held, their common divisor would
    hold as far (Fine and Wilf), and would have been tried before.
    """
    size, suffix = len(text), text[-_SUFFIX:]
    if size < WORDS:
        return False
    tried = 0
    while True:
        found = text.rfind(suffix, max(0, size - PERIOD - _SUFFIX), size - tried - 1)
        if found < 0:
            return False
        shift = size - _SUFFIX - found
        span = max(WORDS, TIMES * shift)
        if not _has_period(text, shift, span):
            tried = max(shift, _SUFFIX)
        elif _has_letter(text[-shift:]) or _has_period(text, shift, max(DRAWN, span)):
            return True
        else:
            tried = span - shift


def _has_period(text: str, shift: int, span: int) -> bool:
    """Whether each of the last `span` characters, but for the first `shift` of them, is the one `shift` before it."""
    start = len(text) - span
    return start >= 0 and text.startswith(text[start + shift :], start)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
