"""The cost model learns a machine from its steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.cost import LARGE, CostModel, Shape
from app.engine.scheduler import Pace, prefill_budget

machines = st.tuples(
    st.floats(1e-4, 2e-2), st.floats(1e-5, 2e-2), st.floats(1e-5, 2e-2), st.floats(0, 1e-3)
)


def some_shapes(seed: int) -> list[Shape]:
    """Steps as they come: most only decode, cells grow and shrink."""
    random = np.random.default_rng(seed)
    rows, cells = random.integers(1, 17, 120), random.integers(0, 8000, 120)
    chunks = np.where(random.random(120) < 0.5, 0, random.integers(1, 256, 120))
    return [Shape(int(r), int(k), int(c)) for r, k, c in zip(rows, chunks, cells, strict=True)]


def true_seconds(machine: tuple[float, float, float, float], shape: Shape) -> float:
    fixed, row, token, cell = machine
    if shape.chunk:
        return (
            fixed + row * shape.rows + token * shape.chunk + cell * shape.chunk * shape.cells / 1000
        )
    return fixed + row * shape.rows + cell * shape.cells / 1000


@settings(max_examples=50)
@given(machine=machines, seed=st.integers(0, 2**32 - 1))
def test_it_foresees_what_it_was_taught(
    machine: tuple[float, float, float, float], seed: int
) -> None:
    cost = CostModel()
    for shape in some_shapes(seed):
        cost.observe(shape, true_seconds(machine, shape))
    for probe in (Shape(4, 0, 2000), Shape(4, 64, 2000), Shape(0, 128, 500)):
        wanted = true_seconds(machine, probe)
        found = cost.seconds(probe)
        assert found is not None
        assert abs(found - wanted) <= 0.15 * wanted + 2e-4


@settings(max_examples=50)
@given(machine=machines, rows=st.integers(1, 16))
def test_chunks_keep_the_gap_from_the_first_steps_on(
    machine: tuple[float, float, float, float], rows: int
) -> None:
    """After a handful of steps a mixed step stays near the promised multiple of a decode step."""
    cost, pace = CostModel(), Pace()
    for step in range(12):
        chunk = 0 if step % 3 == 1 else min(512, prefill_budget(cost, pace, rows, 1000))
        shape = Shape(rows, chunk, 1000)
        cost.observe(shape, true_seconds(machine, shape))
    chunk = min(512, prefill_budget(cost, pace, rows, 1000))
    decode = true_seconds(machine, Shape(rows, 0, 1000))
    floor = true_seconds(machine, Shape(rows, pace.floor, 1000))
    assert true_seconds(machine, Shape(rows, chunk, 1000)) <= max(1.3 * pace.gap * decode, floor)


def test_nothing_is_assumed_before_the_first_step() -> None:
    cost = CostModel()
    assert cost.seconds(Shape(1, 0, 0)) is None
    assert cost.chunk_for(1.0, 0, 0) == 32


def test_one_slow_step_does_not_spoil_the_rest() -> None:
    cost = CostModel()
    for _ in range(30):
        cost.observe(Shape(4, 32, 1000), 0.2)
        cost.observe(Shape(4, 0, 1000), 0.04)
    cost.observe(Shape(4, 0, 1000), 5.0)
    found = cost.seconds(Shape(4, 0, 1000))
    assert found is not None
    assert found < 0.08


def test_a_machine_that_becomes_slower_is_followed() -> None:
    cost = CostModel()
    for _ in range(100):
        cost.observe(Shape(4, 0, 1000), 0.04)
    for _ in range(60):
        cost.observe(Shape(4, 0, 1000), 0.08)
    found = cost.seconds(Shape(4, 0, 1000))
    assert found is not None
    assert 0.06 < found < 0.1


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_the_longest_gaps_keep_the_promise_on_a_noisy_machine(noise: float) -> None:
    """Steps that are right on average would be over the promised gap every second time."""
    random = np.random.default_rng(7)
    machine = (2e-3, 8e-3, 5e-3, 1e-4)
    cost, pace, over = CostModel(), Pace(), 0
    for step in range(600):
        chunk = prefill_budget(cost, pace, 4, 1000) if step % 2 else 0
        shape = Shape(4, chunk, 1000)
        seconds = true_seconds(machine, shape) * float(np.exp(random.normal(0, noise)))
        cost.observe(shape, seconds)
        if step >= 200:
            over += seconds > pace.gap * true_seconds(machine, Shape(4, 0, 1000))
    assert over <= 8, f"{over} of 200 mixed steps"


def test_a_machine_without_noise_gives_nothing_away() -> None:
    cost = CostModel()
    for step in range(600):
        chunk = 16 + step % 7 if step % 8 else 0
        cost.observe(Shape(4, chunk, 1000), 0.02 + 0.005 * chunk)
    assert cost.margin < 1.06


@settings(max_examples=50)
@given(machine=machines, rows=st.integers(1, 16))
def test_an_urgent_prompt_may_take_more_of_a_step(
    machine: tuple[float, float, float, float], rows: int
) -> None:
    cost, pace = CostModel(), Pace()
    for step in range(40):
        shape = Shape(rows, 16 + step % 5 if step % 2 else 0, 1000)
        cost.observe(shape, true_seconds(machine, shape))
    usual = prefill_budget(cost, pace, rows, 1000)
    urgent = prefill_budget(cost, pace, rows, 1000, urgent=True)
    assert urgent >= usual >= pace.floor
    alone = cost.seconds(Shape(rows, 0, 1000))
    assert alone is not None
    most = cost.chunk_for(pace.gap * pace.urgent * alone, rows, 1000)
    # What is more than a small step can hold may not be enough for a large one.
    assert urgent > usual or most <= pace.floor or usual + rows in (LARGE - 1, LARGE)


def tiled_seconds(shape: Shape, each: float = 0.013) -> float:
    """As two cores did it: a step of few tokens costs more for each than one of many."""
    if not shape.chunk:
        return 0.03 + 0.003 * shape.rows
    if shape.rows + shape.chunk >= LARGE:
        each = 0.0035
    return 0.02 + 0.003 * shape.rows + each * shape.chunk


def chunks(
    cost: CostModel, rows: int, steps: int, *, urgent: bool = False, each: float = 0.013
) -> list[int]:
    """What is read in each step beside `rows` rows, and after each a step without."""
    read = []
    for _ in range(steps):
        read.append(min(512, prefill_budget(cost, Pace(), rows, 1000, urgent=urgent)))
        for chunk in (read[-1], 0) if rows else (read[-1],):
            shape = Shape(rows, chunk, 1000)
            cost.observe(shape, tiled_seconds(shape, each))
    return read


def test_alone_no_step_is_so_small_that_it_is_slow() -> None:
    read = chunks(CostModel(), 0, 30)
    assert min(read) >= LARGE
    assert tiled_seconds(Shape(0, read[-1], 1000)) == pytest.approx(0.5, rel=0.1)


def test_a_large_step_is_made_where_it_fits() -> None:
    cost = CostModel()
    chunks(cost, 0, 10)
    assert chunks(cost, 4, 40, urgent=True)[-1] >= LARGE - 4
    # The usual gap has no room for one: what is read keeps to it.
    usual = chunks(cost, 4, 40)[-1]
    longest = Pace().gap * tiled_seconds(Shape(4, 0, 1000))
    assert tiled_seconds(Shape(4, usual, 1000)) <= 1.1 * longest


@pytest.mark.parametrize(("each", "tried"), [(0.006, True), (0.013, False)])
def test_a_large_step_is_tried_where_it_cannot_be_very_long(each: float, tried: bool) -> None:
    """Where none was seen, it may cost as much for each token as a small one."""
    read = chunks(CostModel(), 4, 40, urgent=True, each=each)
    assert (max(read) >= LARGE - 4) is tried


@pytest.mark.parametrize(("each", "wanted"), [(0.002, LARGE - 1), (0.01, Pace().floor)])
def test_where_the_gap_cannot_be_kept_a_step_reads_what_costs_hardly_more(
    each: float, wanted: int
) -> None:
    """Behind thousands of cells four tokens may take as long as sixty: then only more of them bring a text to its end."""
    cost, pace = CostModel(), Pace()
    for step in range(60):
        few, many = 4 + step % 3, LARGE + step
        cost.observe(Shape(1, 0, 8000), 0.002)
        cost.observe(Shape(1, few, 8000), 0.033 * few)
        cost.observe(Shape(0, many, 8000), each * many)
    assert prefill_budget(cost, pace, 1, 8000) == wanted


def growing_seconds(shape: Shape) -> float:
    """As two cores did it: what a row and a prefill token take grows with the cells that they look at."""
    behind = 1.6e-3 * shape.cells / 1000
    return 3.5e-3 + (6.2e-3 + behind) * shape.rows + (4.3e-3 + behind) * shape.chunk


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_chunks_do_not_stay_as_small_as_they_began(seed: int) -> None:
    """Where all that were seen are of one size, what they take says little of the step and nothing of its parts."""
    noise = np.random.default_rng(seed)
    cost, cells = CostModel(), 300
    for step in range(120):
        shape = Shape(4, 0 if step < 40 else 4, cells)
        cost.observe(shape, growing_seconds(shape) * float(np.exp(noise.normal(0, 0.1))))
        cells += shape.rows + shape.chunk
    room = Pace().gap * growing_seconds(Shape(4, 0, cells)) / cost.margin
    chunk = cost.chunk_for(room, 4, cells)
    assert 0.6 * room <= growing_seconds(Shape(4, chunk, cells)) <= 1.4 * room


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 8))
def test_a_long_prompt_keeps_the_gap_behind_all_that_it_has_read(seed: int, rows: int) -> None:
    noise = np.random.default_rng(seed)
    cost, pace = CostModel(), Pace()
    cells, left, looks, over, steps = 100, 3000, 0, 0, 0
    while left > 0:
        chunk = min(left, prefill_budget(cost, pace, rows, cells))
        shape = Shape(rows, chunk, cells)
        seconds = growing_seconds(shape) * float(np.exp(noise.normal(0, 0.1)))
        cost.observe(shape, seconds)
        steps, looks = steps + 1, looks + (not chunk)
        longest = 1.25 * pace.gap * growing_seconds(Shape(rows, 0, cells))
        over += chunk > pace.floor and seconds > longest
        left, cells = left - chunk, cells + rows + chunk
        assert chunk or not cost.wants_decode(rows, cells)
    assert over <= 0.05 * steps
    assert looks <= 12 + steps // 32
