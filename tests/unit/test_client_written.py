"""The memory of what the engine wrote."""

from hypothesis import given
from hypothesis import strategies as st

from app.client.written import Written, with_calls
from app.dialogue import ToolCall


def test_text_gives_back_its_ids() -> None:
    written = Written()
    written.remember("Hello.", [1, 2, 3])
    assert written.ids("Hello.") == (1, 2, 3)
    assert written.ids("Hello") == ()
    written.remember("Hello.", [4, 5])
    assert written.ids("Hello.") == (4, 5)
    assert len(written) == 1


def test_text_is_found_as_chats_store_it() -> None:
    written = Written()
    written.remember("one\r\ntwo\x00\ud800", [1])
    assert written.ids("one\ntwo\ufffd\ufffd") == (1,)


def test_nothing_is_kept_of_nothing() -> None:
    written = Written()
    written.remember("", [1])
    written.remember("a", [])
    assert len(written) == 0


def test_what_was_not_asked_for_longest_goes_first() -> None:
    written = Written(budget=3 * 26)
    for text in ("a", "b", "c"):
        written.remember(text, range(10))
    assert written.ids("a")
    written.remember("d", range(10))
    assert not written.ids("b")
    assert written.ids("a")
    assert written.ids("c")
    assert written.ids("d")


def test_an_answer_over_the_budget_is_not_kept_and_drives_out_nothing() -> None:
    written = Written(budget=100)
    written.remember("a", range(10))
    written.remember("b", range(1000))
    assert written.ids("a")
    assert not written.ids("b")


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(st.integers(0, 2**31 - 1)))),
    st.integers(17, 200),
)
def test_the_budget_holds_and_the_last_that_fits_is_there(
    answers: list[tuple[str, list[int]]], budget: int
) -> None:
    written = Written(budget)
    for text, ids in answers:
        written.remember(text, ids)
        kept = {other: written.ids(other) for other in "abcdef"}
        assert sum(len(found) for found in kept.values()) <= budget
        fits = len(ids) + 16 <= budget
        assert kept[text] == (tuple(ids) if fits else ())


def test_an_answer_with_calls_is_found_by_its_text_and_its_calls() -> None:
    calls = [ToolCall("call_1", "look", '{"a": 1}')]
    written = Written()
    written.remember(with_calls("So.", calls), [1, 2])
    again = [ToolCall("other", "look", '{"a": 1}')]
    assert written.ids(with_calls("So.", again)) == (1, 2)
    assert written.ids("So.") == ()
    assert written.ids(with_calls("So.", [])) == ()
    assert written.ids(with_calls("", calls)) == ()
