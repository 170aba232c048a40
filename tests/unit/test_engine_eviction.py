"""What goes when memory runs short: what costs least to have again for each byte, and what was not used for long."""

from dataclasses import replace

import numpy as np
import pytest

from app.engine.backend import MemoryKind, TokenArray
from app.engine.fake import FakeBackend
from app.engine.pool import Pool, Slot, Source
from app.engine.states import StateTree
from tests.engine_run import finish, make_run, request


def text(value: int, count: int) -> TokenArray:
    return np.full(count, value, np.int32)


def squared(start: int, end: int) -> float:
    """A token costs as much as there is before it."""
    return float(end * end - start * start)


def put(tree: StateTree, tokens: TokenArray, size: int) -> None:
    tree.put(tokens, lambda _start, _end: bytes(size))


def kept(tree: StateTree, *texts: TokenArray) -> list[bool]:
    return [tree.holds(tokens) for tokens in texts]


def test_of_states_of_one_size_that_of_the_longest_text_stays() -> None:
    """A recurrent state has one size, however long the text is that it stands for."""
    tree = StateTree(300, exact=True)
    long, short, middle = text(1, 100), text(2, 10), text(3, 50)
    for tokens in (long, short, middle, text(4, 60)):
        put(tree, tokens, 100)
    assert kept(tree, long, short, middle) == [True, False, True]


def test_what_is_never_used_again_goes_at_last_however_costly() -> None:
    tree = StateTree(300, exact=True)
    put(tree, text(1, 100), 100)
    for value in range(2, 40):
        put(tree, text(value, 10), 100)
    assert kept(tree, text(1, 100), text(39, 10), text(38, 10)) == [False, True, True]


def test_what_is_used_stays() -> None:
    tree = StateTree(300, exact=True)
    put(tree, text(1, 10), 100)
    for value in range(2, 40):
        put(tree, text(value, 10), 100)
        tree.match(text(1, 11), 10)
    assert kept(tree, text(1, 10)) == [True]


def test_the_end_of_a_long_text_costs_more_to_read_than_its_beginning() -> None:
    tree = StateTree(200, exact=False, effort=squared)
    put(tree, text(1, 100), 100)
    put(tree, np.concatenate([text(1, 100), text(5, 50)]), 50)
    put(tree, text(2, 50), 50)
    put(tree, text(3, 50), 50)
    assert kept(tree, np.concatenate([text(1, 100), text(5, 50)]), text(2, 50)) == [True, False]


class Held:
    """A pool in which chats are put to rest."""

    def __init__(self, cells: int = 100, sequences: int = 9) -> None:
        backend = FakeBackend(cells=cells, sequences=sequences, kind=MemoryKind.ATTENTION)
        self.pool = Pool(backend, effort=squared)

    def rest(self, tokens: TokenArray, source: Source | None = None) -> Slot:
        slot = self.pool.acquire(source or Source(), tokens)
        assert slot is not None
        self.pool.append([(slot, tokens[slot.length :])])
        self.pool.idle(slot, 0.0)
        return slot

    @property
    def held(self) -> set[int]:
        return {int(slot.tokens.view[0]) for slot in self.pool.slots}


def test_the_cheap_chat_leaves_the_pool_before_the_costly_one() -> None:
    made = Held()
    made.rest(text(1, 50))
    made.rest(text(2, 10))
    made.rest(text(3, 20))
    assert made.pool.make_free(30)
    assert made.held == {1, 3}
    assert made.pool.make_free(50)
    assert made.held == {1}


def test_a_chat_whose_cells_others_hold_too_is_not_evicted_for_cells_but_for_its_id() -> None:
    for for_id in (False, True):
        made = Held(sequences=4)
        first = made.rest(text(1, 40))
        fork = np.concatenate([text(1, 30), text(2, 10)])
        made.rest(fork, Source(first, 30))
        inside = Source(made.pool.slots[1], 35)
        third = made.pool.acquire(inside, np.concatenate([fork[:35], text(9, 5)]))
        assert third is not None
        made.pool.idle(third, 0.0)
        assert made.pool.ids_used == made.pool.ids_total == 3
        if for_id:
            assert made.pool.acquire(Source(), text(7, 5)) is not None
            assert third not in made.pool.slots, "all that it holds is held by another"
        else:
            assert made.pool.make_free(55)
            assert third in made.pool.slots
            assert first not in made.pool.slots


@pytest.mark.parametrize("idle", [10, 100, 1000])
def test_the_states_of_idle_chats_stay_within_their_budget(idle: int) -> None:
    run = make_run(FakeBackend(cells=200, sequences=12, batch=32), spill_bytes=20_000)
    for number in range(idle):
        run.engine.submit(request(number, (number % 60 + 1, number // 60 + 1, 5, 6, 7), limit=2))
        if number % 4 == 3:
            finish(run)
    finish(run)
    assert max(step.counters.spill_bytes for step in run.steps) <= 20_000
    assert len(run.ends) == idle


@pytest.mark.parametrize("kind", list(MemoryKind))
@pytest.mark.parametrize("spill_bytes", [0, 100, 1000, 100_000])
def test_an_idle_chat_that_fits_no_budget_stays_while_there_is_room_for_it(
    kind: MemoryKind, spill_bytes: int
) -> None:
    """Beside a running chat idle ones leave the pool, but not for nowhere."""
    backend = FakeBackend(cells=600, batch=32, kind=kind)
    run = make_run(backend, spill_bytes=spill_bytes, tick=0.05)
    first = request(1, (1, 2, 3) * 20, limit=5)
    run.engine.submit(first)
    finish(run)
    run.engine.submit(request(2, (9, 8), limit=150))
    for _ in range(60):
        run.step()
    run.engine.submit(replace(first, request_id=3, tokens=(*first.tokens, *run.tokens[1], 4)))
    while 3 not in run.ends:
        run.step()
    assert run.ends[3].usage.cached_tokens == len(first.tokens) + 4
