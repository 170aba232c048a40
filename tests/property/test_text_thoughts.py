"""Reasoning and answer, apart, however the text is cut into pieces."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialogue import ThoughtTags
from app.text.thoughts import Part, ThoughtSplit, symbols

THINK = ThoughtTags("<think>", "</think>")
CHANNEL = ThoughtTags("<|c|>a<|m|>", "<|e|><|c|>f<|m|>", answer="<|c|>f<|m|>")
TAGS = (THINK, CHANNEL, ThoughtTags("[THINK]", "[/THINK]"))


def split(pieces: Iterable[str], opened: ThoughtTags | None = None) -> tuple[str, str]:
    """What was thought and what was answered."""
    made = ThoughtSplit(TAGS, opened)
    parts = [part for piece in pieces for part in made.feed(piece)] + made.flush()
    thoughts = [part.thought for part in parts]
    assert thoughts == sorted(thoughts, reverse=True), "the answer comes after the reasoning"
    return (
        "".join(part.text for part in parts if part.thought),
        "".join(part.text for part in parts if not part.thought),
    )


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("Hello <think>.</think>", "", "Hello <think>.</think>"),
        ("<think>\nAh.\n</think>\n\nHello", "Ah.", "Hello"),
        ("\n <think>a\n\nb </think>c</think>", "a\n\nb", "c</think>"),
        ("<think></think>x", "", "x"),
        ("<think>\n\n</think>\n\nx", "", "x"),
        ("<think>never closed", "never closed", ""),
        ("<think>half </thin", "half </thin", ""),
        ("<think>a</think>", "a", ""),
        ("<think>a</think>\n\n", "a", ""),
        ("<thin", "", "<thin"),
        ("<thinker> yes", "", "<thinker> yes"),
        ("\n\n", "", "\n\n"),
        ("", "", ""),
        ("[THINK]a</think>b[/THINK]c", "a</think>b", "c"),
        ("<|c|>a<|m|>thought<|e|><|c|>f<|m|>answer", "thought", "answer"),
        ("<|c|>f<|m|>answer", "", "answer"),
    ],
)
def test_what_is_thought_and_what_is_answered(text: str, thought: str, answer: str) -> None:
    assert split([text]) == (thought, answer)
    assert split(text) == (thought, answer)


def test_reasoning_that_the_prompt_has_opened() -> None:
    assert split(["Ah.\n</think>\n\nHello"], THINK) == ("Ah.", "Hello")
    assert split(["no end"], THINK) == ("no end", "")
    assert split(["Ah.[/THINK]Hello"], TAGS[2]) == ("Ah.", "Hello")


PARTS = ["<think>", "</think>", "<th", "ink>", "</", "think", ">", " ", "\n", "a", "é", "<", "[THINK]",
         "[/THINK]", "<|c|>", "a<|m|>", "<|e|>", "f<|m|>"]  # fmt: skip


@given(
    st.lists(st.sampled_from(PARTS), max_size=14).map("".join),
    st.lists(st.integers(1, 5), max_size=40),
    st.sampled_from([None, *TAGS]),
)
def test_any_cut_gives_the_same_parts(
    text: str, cuts: list[int], opened: ThoughtTags | None
) -> None:
    pieces, rest = [], text
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    thought, answer = split([*pieces, rest], opened)
    assert (thought, answer) == split([text], opened) == split(text, opened)
    assert text.endswith(answer), "of the answer nothing is lost or changed"
    assert thought in text


@given(st.lists(st.sampled_from(PARTS), max_size=10).map("".join))
def test_what_cannot_become_a_tag_is_told_at_once(text: str) -> None:
    made = ThoughtSplit(TAGS)
    told = "".join(part.text for character in text for part in made.feed(character))
    held = text[len(text) - len(made._held) :]
    thoughtful = any(text.lstrip().startswith(tags.opening) for tags in TAGS)
    if not thoughtful and not text.lstrip().startswith(CHANNEL.answer):
        assert told + held == text
        openings = [opening for tags in TAGS for opening in (tags.opening, tags.answer)]
        assert not held or any(opening.startswith(held.lstrip()) for opening in openings)


def test_without_tags_everything_is_answer() -> None:
    assert ThoughtSplit().feed("<think>") == [Part("<think>")]


def test_control_tokens_are_told_from_their_texts() -> None:
    tags, letters = symbols([THINK, CHANNEL], [(7, "<think>"), (8, "<|c|>"), (9, "<|m|>")])
    assert tags[0] == ThoughtTags(letters[7], "</think>")
    assert tags[1].opening == f"{letters[8]}a{letters[9]}"
    made = ThoughtSplit(tags)
    assert made.feed(f"{letters[7]}<think>a</think>b{letters[8]}c") == [
        Part("<think>a", thought=True),
        Part("bc"),
    ]
