"""What is left out of a conversation that does not fit."""

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.chat.models import Role
from app.client import fitting

ROLES = st.lists(st.sampled_from(list(Role)), max_size=14)


def spans(roles: list[Role], lengths: list[int]) -> tuple[list[tuple[int, int]], int]:
    """A prompt in which each message has three tokens around its content."""
    ends = list(
        accumulate((lengths[index % len(lengths)] + 3 for index in range(len(roles))), initial=0)
    )
    return [(end + 2, after - 1) for end, after in pairwise(ends)], ends[-1]


@given(ROLES, st.lists(st.integers(0, 50), min_size=1, max_size=5), st.integers(0, 12))
def test_system_messages_and_the_last_question_always_stay(
    roles: list[Role], lengths: list[int], gone: int
) -> None:
    places, tokens = spans(roles, lengths)
    found = fitting.exchanges(roles, places, tokens)
    left = fitting.without(roles, found[:gone])
    assert left == sorted(left)
    assert [i for i in left if roles[i] is Role.SYSTEM] == [
        i for i, role in enumerate(roles) if role is Role.SYSTEM
    ]
    questions = [i for i, role in enumerate(roles) if role is Role.USER]
    if questions:
        assert set(range(questions[-1], len(roles))) <= set(left)
    talk = [i for i in left if roles[i] is not Role.SYSTEM]
    if gone and found and len(questions) > 1:
        assert len(left) < len(roles)
        assert roles[talk[0]] is Role.USER, "what is left begins with a question"
    else:
        assert left == list(range(len(roles)))


@given(ROLES, st.lists(st.integers(0, 50), min_size=1, max_size=5), st.integers(1, 400))
def test_as_many_go_as_it_takes_and_at_least_one(
    roles: list[Role], lengths: list[int], target: int
) -> None:
    places, tokens = spans(roles, lengths)
    found = fitting.exchanges(roles, places, tokens)
    count = fitting.leave_out(found, tokens, target)
    assert min(1, len(found)) <= count <= len(found)
    before = tokens - sum(exchange.tokens for exchange in found[: max(0, count - 1)])
    if count > 1:
        assert before > target, "one less would not have been enough"
    if count < len(found):
        assert tokens - sum(exchange.tokens for exchange in found[:count]) <= target


@given(st.integers(1, 100_000), st.one_of(st.none(), st.integers(1, 10_000)))
def test_there_is_room_for_an_answer(context: int, most: int | None) -> None:
    room = fitting.room(context, most)
    assert 1 <= room <= context
    if context >= 16:
        assert context - room == min(context // 8, most or context)


def test_an_old_exchange_costs_what_lies_between_the_questions() -> None:
    roles = [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER, Role.ASSISTANT, Role.USER]
    places = [(2, 10), (13, 20), (23, 40), (43, 50), (53, 60), (63, 70)]
    assert fitting.exchanges(roles, places, 75) == [
        fitting.Exchange(1, 3, 30),
        fitting.Exchange(3, 5, 20),
    ]
    assert fitting.without(roles, fitting.exchanges(roles, places, 75)[:1]) == [0, 3, 4, 5]


def test_an_answer_before_the_first_question_goes_with_it() -> None:
    roles = [Role.ASSISTANT, Role.USER, Role.ASSISTANT, Role.USER]
    (first,) = fitting.exchanges(roles, [(1, 2), (4, 5), (7, 8), (10, 11)], 12)
    assert (first.start, first.end) == (0, 3)
