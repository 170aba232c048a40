"""Which checkpoints of a chat are kept."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.engine.checkpoints import MOST, thinned

places = st.lists(st.integers(1, 50_000), min_size=1, max_size=300, unique=True).map(sorted)


@given(places=places, most=st.integers(3, 40))
def test_so_many_at_most_and_always_the_first_and_the_last(places: list[int], most: int) -> None:
    kept = thinned(places, most)
    assert len(kept) <= max(most, 1)
    assert set(kept) <= set(places)
    assert kept == sorted(kept)
    assert {places[0], places[-1]} <= set(kept)
    if len(places) <= most:
        assert kept == places


def test_the_last_turns_are_kept_and_what_is_farther_back_is_sparser() -> None:
    kept = thinned([100 * turn for turn in range(1, 201)], MOST)
    gaps = [later - earlier for earlier, later in pairwise(kept)]
    assert gaps[-1] == gaps[-2] == gaps[-3] == 100
    assert gaps[1:] == sorted(gaps[1:], reverse=True)
    assert len(kept) > MOST // 2


def test_places_one_beside_the_other_are_thinned_too() -> None:
    assert len(thinned(list(range(1, 500)), 3)) <= 3
