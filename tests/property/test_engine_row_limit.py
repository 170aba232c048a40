"""More rows are carried as long as they bring more; where they do not, the best number is found and tried again."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from app.engine.row_limit import RowLimit

CELLS = 1000
Seconds = Callable[[int], float]


def run(
    limit: RowLimit, seconds: Seconds, wanted: int, steps: int, cells: int = CELLS
) -> list[int]:
    """The rows of each of `steps` steps in which `wanted` sequences have something to write."""
    carried = []
    for _ in range(steps):
        rows = limit.limit(wanted, cells)
        limit.observe(rows, cells, seconds(rows))
        carried.append(rows)
    return carried


def crowded(best: int) -> Seconds:
    """A machine whose total falls by half beyond `best` rows."""
    return lambda rows: 0.01 + 0.001 * rows if rows <= best else (0.01 + 0.001 * rows) * 2


@given(
    st.floats(1e-4, 1.0),
    st.floats(1e-5, 1.0),
    st.lists(st.integers(1, 64), min_size=1, max_size=12),
    st.lists(st.floats(0.9, 1.1), min_size=7, max_size=7),
)
def test_where_the_total_rises_all_are_carried(
    fixed: float, each: float, waves: list[int], noise: list[float]
) -> None:
    limit = RowLimit()
    turn = 0

    def seconds(rows: int) -> float:
        nonlocal turn
        turn += 1
        return (fixed + each * rows) * noise[turn % len(noise)]

    for wanted in waves:
        assert run(limit, seconds, wanted, 100) == [wanted] * 100


@given(st.integers(1, 30), st.integers(1, 30))
def test_where_it_falls_the_best_number_that_was_seen_is_kept(best: int, more: int) -> None:
    limit = RowLimit()
    run(limit, crowded(best), best, 50)
    carried = run(limit, crowded(best), best + more, 200)
    fell = (best + more) / crowded(best)(best + more) < 0.8 * best / crowded(best)(best)
    assert carried[-1] == (best if fell else best + more)


def test_a_smaller_number_is_not_for_ever() -> None:
    limit = RowLimit()
    run(limit, crowded(8), 8, 50)
    assert run(limit, crowded(8), 12, 100)[-1] == 8
    carried = run(limit, crowded(64), 12, 3000)
    assert carried[-1] == 12, "the machine has become quick again"
    assert carried.count(8) < 2100


def test_what_a_retry_costs_is_bounded() -> None:
    limit = RowLimit()
    run(limit, crowded(8), 8, 50)
    carried = run(limit, crowded(8), 12, 20_000)
    assert carried.count(12) < 20_000 * 0.02


def test_speeds_are_compared_over_like_contexts_only() -> None:
    limit = RowLimit()
    run(limit, lambda rows: 0.001 * rows, 4, 50, cells=100)
    slow = run(limit, lambda rows: 0.01 * rows, 8, 200, cells=8000)
    assert slow == [8] * 200


def test_nothing_is_learnt_from_a_step_without_time() -> None:
    limit = RowLimit()
    assert run(limit, lambda _: 0.0, 5, 100) == [5] * 100
