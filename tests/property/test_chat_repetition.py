"""A loop is found whatever its piece is and however the text is cut; what is none is not."""

import random
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from app.chat.repetition import DRAWN, LOOK, PERIOD, TIMES, WORDS, Repetition, repeats

FEW = st.sampled_from(["ab", "a-", "-|", "是不", "a😀", "-"])
PLACES = st.lists(st.integers(0, 10_000), max_size=30)


@st.composite
def pieces(draw: st.DrawFn, most: int = PERIOD) -> str:
    """Any text of 1 to `most` characters: of few letters, of runs of them, or of many."""
    if draw(st.booleans()):
        return draw(st.text(min_size=1, max_size=40))
    letters = draw(FEW)
    runs = st.tuples(st.sampled_from(letters), st.integers(1, 400))
    return "".join(
        letter * count for letter, count in draw(st.lists(runs, min_size=1, max_size=4))
    )[:most]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Something, then something else for as long as may or may not do, then perhaps an end."""
    piece = draw(pieces())
    length = draw(st.sampled_from([WORDS, DRAWN, TIMES * len(piece)])) + draw(st.integers(-2, 2))
    whole = piece * (length // len(piece) + 1)
    return draw(pieces(200)) + whole[: max(length, 0)] + draw(st.sampled_from(["", "", "a", "-"]))


def defined(text: str) -> bool:
    """The definition, word for word."""
    last_letter = next((at for at, sign in enumerate(reversed(text)) if sign.isalpha()), len(text))
    for period in range(1, min(PERIOD, len(text) // TIMES) + 1):
        span = max(WORDS if last_letter < period else DRAWN, TIMES * period)
        if span <= len(text) and text[-span:-period] == text[len(text) - span + period :]:
            return True
    return False


def cut(text: str, places: list[int]) -> list[str]:
    borders = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(borders)]


def watched(parts: list[str]) -> list[bool]:
    """What is found after each part."""
    watcher = Repetition()
    told: list[bool] = []
    for part in parts:
        watcher.feed(part)
        told.append(watcher.found)
    return told


@given(texts())
@example("-" * 399 + "a")
@example(("-" * 500 + "a") * 8 + "-" * 450)
@example(("-" * 300 + "a") * 4 + "-" * 200)
@example("a" + "-" * DRAWN)
def test_found_is_what_is_defined(text: str) -> None:
    assert repeats(text) is defined(text)


@given(pieces(), st.text(max_size=200), PLACES)
def test_every_piece_repeated_enough_is_found_however_it_is_cut(
    piece: str, before: str, places: list[int]
) -> None:
    enough = max(DRAWN, TIMES * len(piece)) + LOOK
    text = before + piece * (enough // len(piece) + 1)
    assert watched(cut(text, places))[-1]
    assert watched(list(text))[-1]


@given(texts(), PLACES)
def test_the_cut_makes_no_difference_at_any_moment(text: str, places: list[int]) -> None:
    letters = [False, *watched(list(text))]
    parts = cut(text, places)
    ends = [sum(map(len, parts[: index + 1])) for index in range(len(parts))]
    assert watched(parts) == [letters[end] for end in ends]


@given(st.integers(), st.integers(100, 800))
def test_random_words_are_no_loop(seed: int, count: int) -> None:
    words = ["the", "model", "reads", "a", "long", "and", "quiet", "text", "of", "it", "\n"]
    chosen = random.Random(seed).choices(words, k=count)
    assert not any(watched([f"{word} " for word in chosen]))
