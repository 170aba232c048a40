"""A cancel frees what a request holds within one step, whatever the request is doing, on every kind of memory."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import Finished, FinishReason, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig

GREEDY = Sampling(temperature=0)
VICTIM, OTHER = 1, 2


def text(seed: int, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


def ask(rig: Rig, number: int, tokens: tuple[int, ...], limit: int = 400) -> None:
    rig.engine.submit(Submit(number, tokens, GREEDY, max_tokens=limit, ignore_eos=True))


def until(rig: Rig, condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        rig.step()
    raise AssertionError("it never came to that")


def last(rig: Rig) -> Finished | None:
    return next((end for end in rig.steps[-1].finished if end.request_id == VICTIM), None)


def reading(rig: Rig) -> None:
    ask(rig, VICTIM, text(1, 400))
    rig.step()
    assert rig.steps[-1].counters.reading == 1


def reading_beside_a_writer(rig: Rig) -> None:
    ask(rig, OTHER, text(2, 20))
    until(rig, lambda: bool(rig.steps) and rig.steps[-1].counters.running == 1)
    reading(rig)


def writing(rig: Rig) -> None:
    ask(rig, VICTIM, text(1, 30))
    until(rig, lambda: len(rig.tokens(VICTIM)) > 4)


def just_submitted(rig: Rig) -> None:
    ask(rig, VICTIM, text(1, 30))


def waiting_for_a_prefix(rig: Rig) -> None:
    shared = text(3, 300)
    ask(rig, OTHER, (*shared, 5))
    ask(rig, VICTIM, (*shared, 6))
    rig.step()


def waiting_for_room(rig: Rig) -> None:
    ask(rig, OTHER, text(4, 450))
    rig.step()
    ask(rig, VICTIM, text(1, 400))
    rig.step()
    assert rig.steps[-1].counters.waiting == 1


def parked(rig: Rig) -> None:
    ask(rig, OTHER, text(4, 200))
    until(rig, lambda: bool(rig.tokens(OTHER)))
    ask(rig, VICTIM, text(1, 200))
    until(rig, lambda: rig.steps[-1].counters.parked == 1 and rig.steps[-1].counters.waiting == 1)
    assert rig.tokens(VICTIM), "the younger one is parked"


def warming_up(rig: Rig) -> None:
    ask(rig, VICTIM, text(1, 400), limit=0)
    rig.step()


PHASES = (
    just_submitted,
    reading,
    reading_beside_a_writer,
    writing,
    waiting_for_a_prefix,
    waiting_for_room,
    parked,
    warming_up,
)


@pytest.mark.parametrize("kind", tuple(tiny_models.KINDS))
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("spill_bytes", [0, 64 << 20], ids=["no spill", "spill"])
def test_a_cancel_frees_within_one_step(
    kind: str,
    phase: Callable[[Rig], None],
    spill_bytes: int,
    tiny_files: dict[str, Path],
    make_rig: MakeRig,
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=512, spill_bytes=spill_bytes)
    phase(rig)
    assert not any(last(rig) for _ in rig.steps[-1:])
    rig.engine.abort(VICTIM)
    rig.engine.abort(VICTIM)
    step = rig.step()
    end = last(rig)
    assert end is not None
    assert end.reason is FinishReason.CANCELLED
    # Only what the others hold is at work; the rest of what is in use is a cache, there for the taking.
    others = [s for s in rig.engine._sequences.values() if s.slot is not None]
    held = sum(sequence.evaluated for sequence in others)
    assert step.counters.cells_used - step.counters.cells_kept == held
    assert step.counters.waiting + len(others) == len(rig.engine._sequences)
    # A newcomer that needs the whole pool begins in the very next step.
    rig.engine.abort(OTHER)
    ask(rig, 9, text(9, 500), limit=5)
    step = rig.step()
    assert [told.request_id for told in step.reading][:1] == [9]
    rig.run()
    ends = [end for step in rig.steps for end in step.finished]
    assert sorted(end.request_id for end in ends) == sorted(
        {VICTIM, 9} | {e.request_id for e in ends}
    )
    assert len(ends) == len({end.request_id for end in ends})
