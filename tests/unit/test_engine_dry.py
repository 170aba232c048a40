"""DRY against its definition, worked out the slow way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.dry import MOST, Dry
from app.sampling import WHOLE, Sampling

VOCABULARY = 8
BREAKER = 7
FLAGS = bytes([0b00000001])


def followed(sampling: Sampling, history: list[int], breakers: bytes = FLAGS) -> Dry:
    dry = Dry(sampling, breakers, VOCABULARY)
    for token in history:
        dry.accept(token)
    return dry


def penalties(sampling: Sampling, history: list[int], breakers: bytes = FLAGS) -> list[float]:
    logits = np.zeros(VOCABULARY, np.float32)
    followed(sampling, history, breakers).penalise(logits)
    return (-logits).tolist()


def expected(sampling: Sampling, history: list[int]) -> list[float]:
    """For each token: how many of the last tokens, unbroken, stand before an earlier place of it."""
    back = sampling.dry_penalty_last_n
    window = history if back == WHOLE else history[-back:]
    tail = window
    if BREAKER in window:
        tail = window[len(window) - window[::-1].index(BREAKER) :]
    allowed = sampling.dry_allowed_length
    longest = dict.fromkeys(range(VOCABULARY), -1)
    if len(window) > allowed and len(tail) >= allowed:
        for place in range(1, len(window)):
            before, length = window[:place], 0
            while length < min(len(tail), place) and before[-1 - length] == window[-1 - length]:
                length += 1
            longest[window[place]] = max(longest[window[place]], length)
    return [
        sampling.dry_multiplier * sampling.dry_base ** (length - allowed)
        if length >= allowed and token != BREAKER
        else 0.0
        for token, length in longest.items()
    ]


@given(
    history=st.lists(st.integers(0, VOCABULARY - 1), max_size=40)
    | st.lists(st.integers(0, 1) | st.just(BREAKER), max_size=40),
    back=st.sampled_from([WHOLE, 1, 3, 10, 30]),
    allowed=st.integers(0, 4),
)
def test_the_penalty_grows_with_the_repetition(history: list[int], back: int, allowed: int) -> None:
    sampling = Sampling(
        dry_multiplier=0.5, dry_base=1.5, dry_allowed_length=allowed, dry_penalty_last_n=back
    )
    assert penalties(sampling, history) == pytest.approx(expected(sampling, history), rel=1e-5)


def test_a_window_that_has_been_gone_through_many_times_is_as_good_as_new() -> None:
    sampling = Sampling(dry_multiplier=1.0, dry_penalty_last_n=20)
    history = [token for number in range(400) for token in (number % 3, 4, 5, number % 2)]
    for cut in (0, 1, 2, 3):
        shown = history[: len(history) - cut]
        assert penalties(sampling, shown) == pytest.approx(penalties(sampling, shown[-20:]))


def test_the_longest_repetition_costs_no_more_than_a_number_can_hold() -> None:
    for base in (1.0, 1.75, 10.0):
        sampling = Sampling(dry_multiplier=10.0, dry_base=base)
        assert np.isfinite(penalties(sampling, [3] * 2000)).all()
    assert penalties(Sampling(dry_multiplier=2.0, dry_base=1.0), [3] * 50)[3] == 2.0


def test_a_long_answer_is_looked_back_on_only_so_far() -> None:
    history = [1, 2, 3, 4, *[5, 6] * (MOST // 2), 1, 2, 3]
    assert penalties(Sampling(dry_multiplier=1.0), history)[4] == 0.0
    assert penalties(Sampling(dry_multiplier=1.0), history[:4] + history[-3:])[4] > 0.0


@pytest.mark.parametrize("breakers", [b"", b"\x01", b"\x01" + b"\xff" * 50])
def test_flags_for_fewer_or_more_tokens_do_no_harm(breakers: bytes) -> None:
    sampling = Sampling(dry_multiplier=1.0)
    history = [1, 2, 3, 4, BREAKER, 1, 2, 3]
    assert penalties(sampling, history, breakers)[4] > 0.0
