"""Arrangements of a conversation for templates that insist on something (case 20)."""

import pytest

from app.dialogue import ChatLine
from app.text.limits import TEMPLATE_SECONDS, limited_time
from app.text.roles import Turn, variants


def arranged(*roles: str) -> list[list[tuple[str, tuple[int, ...]]]]:
    lines = [ChatLine(role, "x") for role in roles]
    return [[(turn.role, turn.lines) for turn in turns] for turns in variants(lines)]


def test_an_ordinary_conversation_has_one_arrangement() -> None:
    assert arranged("user", "assistant", "user") == [
        [("user", (0,)), ("assistant", (1,)), ("user", (2,))]
    ]


def test_equal_roles_are_merged_and_system_messages_folded() -> None:
    assert arranged("system", "user", "user") == [
        [("system", (0,)), ("user", (1,)), ("user", (2,))],
        [("system", (0,)), ("user", (1, 2))],
        [("user", (0, 1, 2))],
    ]


def test_thousands_of_equal_roles_are_merged_in_the_time_of_one_request() -> None:
    count = 40_000
    with limited_time(TEMPLATE_SECONDS):
        plain, merged = arranged(*["user"] * count)
    assert len(plain) == count
    assert merged == [("user", tuple(range(count)))]


def test_an_assistant_that_speaks_first_is_preceded_by_the_user() -> None:
    assert arranged("assistant", "user")[1] == [("user", ()), ("assistant", (0,)), ("user", (1,))]
    assert [("user", (0,)), ("assistant", (1,))] in arranged("system", "assistant")


@pytest.mark.parametrize(
    "roles", [(), ("system",), ("system", "assistant", "system", "user", "user")]
)
def test_no_line_is_ever_left_out(roles: tuple[str, ...]) -> None:
    for turns in variants([ChatLine(role, "x") for role in roles]):
        assert [line for turn in turns for line in turn.lines] == list(range(len(roles)))
        assert all(isinstance(turn, Turn) for turn in turns)
