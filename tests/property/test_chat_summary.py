"""How far summaries reach, for chats of any shape: what stays, what fits, and that the border only moves on."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat import context, summary
from app.chat.models import Message, Role, Status, Summary

TALK = st.lists(st.integers(1, 120), min_size=1, max_size=40)
CONTEXT = st.integers(200, 4000)
LEAD = st.integers(0, 60)
ASKING = 40


def talk(count: int) -> list[Message]:
    """Questions and answers in turn, the last one a question."""
    roles = [Role.USER if (count - index) % 2 else Role.ASSISTANT for index in range(count)]
    return [
        Message(10 + 3 * index, 1, role, f"text {index}", Status.DONE, 0.0)
        for index, role in enumerate(roles)
    ]


def roles_of(messages: Sequence[Message]) -> list[Role]:
    return [message.role for message in messages]


@given(TALK, CONTEXT, LEAD)
def test_what_is_covered_and_what_stays(sizes: list[int], tokens: int, lead: int) -> None:
    messages = talk(len(sizes))
    told = summary.stride(roles_of(messages), sizes, lead, ASKING, tokens)
    most = summary.most_tokens(tokens)
    if lead + sum(sizes) <= summary.NEAR * tokens:
        assert not told, "nothing is covered before there is need"
    if not told:
        return
    left = messages[told.stop :]
    assert left[0].role is Role.USER
    assert roles_of(left).count(Role.USER) >= summary.KEPT_TURNS
    room = tokens - lead - ASKING - most
    assert sum(sizes[told.start : told.stop]) <= room, "the request fits"
    questions = [at for at in range(1, told.start + 1) if messages[at].role is Role.USER and at > 1]
    for start, end in pairwise([0, *questions]):
        assert sum(sizes[start:end]) > room, "only what is too long by itself is passed over"


@given(TALK, CONTEXT, LEAD)
def test_no_more_is_covered_than_it_takes(sizes: list[int], tokens: int, lead: int) -> None:
    messages = talk(len(sizes))
    told = summary.stride(roles_of(messages), sizes, lead, ASKING, tokens)
    earlier = [at for at in told[1:] if messages[at].role is Role.USER and at > 1]
    if earlier:
        assert lead + sum(sizes[earlier[-1] :]) > summary.KEPT * tokens


@given(st.lists(st.integers(1, 60), min_size=5, max_size=60), st.integers(400, 2000), LEAD)
def test_one_summary_after_the_other_moves_on_until_the_chat_fits(
    sizes: list[int], tokens: int, lead: int
) -> None:
    """As long as no single exchange is too large for it, a chat of any length comes to fit."""
    messages = talk(len(sizes))
    by_id = dict(zip((message.id for message in messages), sizes, strict=True))
    stands: Summary | None = None
    head = lead
    for _ in range(len(sizes) + 1):
        upto = 0 if stands is None else stands.message_id
        open_messages = context.sent(messages, upto + 1)
        left = [by_id[message.id] for message in open_messages]
        told = summary.stride(roles_of(open_messages), left, head, ASKING, tokens)
        if not told:
            break
        assert told.start == 0, "nothing is passed over"
        assert open_messages[told[-1]].id > upto, "the border moves on"
        stands = Summary(1, open_messages[told[-1]].id, "")
        assert summary.standing([stands], messages) == stands
        head = lead + summary.most_tokens(tokens)
    else:
        raise AssertionError("it goes on without end")
    kept = context.sent(messages, 0 if stands is None else stands.message_id + 1)
    assert messages[-1] in kept
    assert head + sum(by_id[message.id] for message in kept) <= max(
        summary.NEAR * tokens, head + sum(sizes[-4:])
    )


@given(st.integers(1, 12), st.lists(st.integers(0, 60), max_size=4), st.none() | st.integers(0, 60))
def test_a_summary_never_stands_for_the_last_question(
    count: int, places: list[int], before: int | None
) -> None:
    messages = talk(count)
    made = [Summary(1, place, str(place)) for place in sorted(places)]
    found = summary.standing(made, messages, before)
    limit = messages[-1].id if before is None else min(before, messages[-1].id)
    fitting = [one for one in made if one.message_id < limit]
    assert found == (fitting[-1] if fitting else None)


def test_without_a_question_nothing_stands() -> None:
    assert summary.standing([Summary(1, 5, "x")], []) is None


def test_the_words_that_are_asked_for_fit_the_tokens_that_there_are() -> None:
    for tokens in (256, 512, 4096, 131_072):
        most = summary.most_tokens(tokens)
        assert most <= tokens / 8
        words = max(10, int(most * 0.3))
        assert f"at most {words} words" in summary.instruction(tokens).content


@given(st.text("ab .!?\n\u3002\u201d", max_size=60))
def test_of_one_that_was_cut_off_whole_sentences_stay(text: str) -> None:
    kept = summary.whole_sentences(text)
    assert text.startswith(kept)
    assert not kept or 2 * len(kept) >= len(text)
    rest = text[len(kept) :]
    assert not kept or not re.search(r"[.!?](\s|$)|\u3002|\S\n", rest)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One whole thing. Another thi", "One whole thing."),
        ('He said "no." And the', 'He said "no."'),
        ("- one\n- two\n- th", "- one\n- two"),
        ("\u4f60\u597d\u3002\u518d", "\u4f60\u597d\u3002"),
        ("Version 3.11 of it", ""),
        ("Short. And then a sentence that goes on and on for most of it", ""),
        ("It is so. " * 100, ""),
    ],
)
def test_what_is_kept_of_one_that_was_cut_off(text: str, kept: str) -> None:
    assert summary.whole_sentences(text) == kept
