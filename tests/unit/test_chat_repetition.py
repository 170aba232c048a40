"""What counts as a loop, and what only looks like one."""

import pytest

from app.chat.repetition import LOOK, Repetition

PROSE = (
    "The harbour was quiet that morning. Two boats lay at the pier, and a man in a grey coat counted the crates "
    "that had come with the tide. He wrote each number down, looked at the sky, and began anew with the next row. "
)
PARAGRAPH = (
    " ".join(f"{word} {number}" for number, word in enumerate(PROSE.split() * 4))[:990] + "\n"
)


def after(text: str) -> Repetition:
    watcher = Repetition()
    for letter in text:
        watcher.feed(letter)
    return watcher


@pytest.mark.parametrize(
    ("piece", "times"),
    [
        ("the ", 140),
        ("ha", 300),
        ("I am sorry, I cannot say that. ", 20),
        ("我不知道该怎么办。", 70),
        ("- item\n", 90),
        (PARAGRAPH, 5),
        ("0, ", 700),
        ("\n", 1_800),
        ("😀", 1_800),
    ],
)
def test_loops(piece: str, times: int) -> None:
    assert after(PROSE + piece * times).found


@pytest.mark.parametrize(
    "text",
    [
        PROSE * 3,
        PROSE + PARAGRAPH * 3,
        "| --- " * 40 + "|\n",
        "-" * 300 + "\n",
        "=" * 1_000,
        "x = [\n" + "    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],\n" * 16 + "]\n",
        ". . . . . . . .\n" * 64,
        "def f():\n" + " " * 1_200 + "return 1\n",
        "No, " * 20 + "she said. " + "ha" * 60,
        "".join(f"{number}. Wash the dishes.\n" for number in range(1, 200)),
        "".join(f"{number}, " for number in range(1, 900)),
    ],
)
def test_what_is_meant_to_be_alike(text: str) -> None:
    watcher = Repetition()
    for letter in text:
        watcher.feed(letter)
        assert not watcher.found


def test_a_loop_that_ends_is_one_no_more() -> None:
    watcher = after("the " * 200)
    assert watcher.found
    for letter in PROSE[:LOOK]:
        watcher.feed(letter)
    assert not watcher.found
    watcher.feed("the " * 200)
    assert watcher.found, "and may begin again"


def test_of_much_at_once_the_end_counts() -> None:
    watcher = Repetition()
    watcher.feed("the " * 25_000)
    assert watcher.found
    watcher.feed("the " * 25_000 + PROSE)
    assert not watcher.found
