"""DRY against its definition, worked out the slow way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.dry import MOST, Dry, _common_ends
from app.sampling import WHOLE, Sampling

VOCABULARY = 8
PIECES = (b"", b"a", b"b", b"ab", b"c", b"bc", b"x", b"#")
"""What the tokens write; the first one is a control token, and only the last holds the breaker of one byte."""
TEXTS = (b"abc", b"bb")
"""No token holds one of these, but several may."""
BREAKER = 7
FLAGS = bytes([0b00000001])


def followed(sampling: Sampling, history: list[int], breakers: bytes = FLAGS) -> Dry:
    dry = Dry(sampling, breakers, VOCABULARY)
    for token in history:
        dry.accept(token)
    return dry


def broken_at(history: list[int], texts: tuple[bytes, ...]) -> int:
    """How many tokens there are up to the end of the last breaker."""
    ends = [index + 1 for index, token in enumerate(history) if token == BREAKER]
    for start in range(len(history)):
        for end in range(start + 1, len(history) + 1):
            pieces = [PIECES[token] for token in history[start:end]]
            whole = b"".join(pieces)
            if all(pieces) and any(text in whole for text in texts):
                ends.append(end)
                break
    return max(ends, default=0)


def penalties(sampling: Sampling, history: list[int], breakers: bytes = FLAGS) -> list[float]:
    logits = np.zeros(VOCABULARY, np.float32)
    followed(sampling, history, breakers).penalise(logits)
    return (-logits).tolist()


def expected(sampling: Sampling, history: list[int], texts: tuple[bytes, ...] = ()) -> list[float]:
    """For each token: how many of the last tokens, unbroken, stand before an earlier place of it."""
    back = sampling.dry_penalty_last_n
    window = history if back == WHOLE else history[-back:]
    tail = history[max(len(history) - len(window), broken_at(history, texts)) :]
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


@given(
    history=st.lists(st.integers(0, 5) | st.just(BREAKER), max_size=30)
    | st.lists(st.integers(1, 4), max_size=30),
    back=st.sampled_from([WHOLE, 3, 12]),
    allowed=st.integers(0, 3),
    cut=st.integers(0, 30),
)
def test_a_breaker_of_several_tokens_ends_a_repetition_too(
    history: list[int], back: int, allowed: int, cut: int
) -> None:
    """Also where part of it is in the prompt."""
    sampling = Sampling(
        dry_multiplier=0.5, dry_base=1.5, dry_allowed_length=allowed, dry_penalty_last_n=back
    )
    dry = Dry(sampling, FLAGS, VOCABULARY, TEXTS, PIECES.__getitem__)
    dry.begin(np.array(history[:cut], np.int32))
    for token in history[cut:]:
        dry.accept(token)
    logits = np.zeros(VOCABULARY, np.float32)
    dry.penalise(logits)
    assert (-logits).tolist() == pytest.approx(expected(sampling, history, TEXTS), rel=1e-5)


def test_a_long_prompt_is_taken_in_at_once() -> None:
    """As one token after the other, in time that grows with its length and not with its square."""
    sampling = Sampling(dry_multiplier=0.5, dry_penalty_last_n=500)
    random = np.random.default_rng(2)
    for history in (random.integers(0, 3, 700), np.full(600, 3)):
        slow, quick = (Dry(sampling, FLAGS, VOCABULARY) for _ in range(2))
        for token in history.tolist():
            slow.accept(token)
        quick.begin(history.astype(np.int32))
        for one, other in zip(slow.repeats(), quick.repeats(), strict=True):
            assert one.tolist() == other.tolist()
    assert _common_ends([Counted(3)] * 2_000)[0] == 1
    assert Counted.comparisons < 3 * 2_000


class Counted(int):
    """A token that counts how often one is compared with another."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return int(self) == other

    __hash__ = int.__hash__


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
