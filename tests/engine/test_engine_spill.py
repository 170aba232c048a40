"""States outside the pool, on real models: they come back right, and nothing is read that was read before."""

from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig

KINDS = tuple(tiny_models.KINDS)
BUDGET = 64 << 20


def text(seed: int, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


def ask(rig: Rig, number: int, tokens: tuple[int, ...], limit: int = 8) -> None:
    rig.engine.submit(
        Submit(number, tokens, Sampling(temperature=0), max_tokens=limit, ignore_eos=True)
    )


def read(rig: Rig) -> int:
    return rig.steps[-1].counters.read if rig.steps else 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_chat_that_was_pushed_out_reads_only_its_new_tokens(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=256, spill_bytes=BUDGET)
    first = text(1, 120)
    ask(rig, 0, first)
    rig.run()
    for other in range(1, 4):
        ask(rig, other, text(10 + other, 150))
        rig.run()
    before = read(rig)
    going_on = (*first, *rig.tokens(0), 7, 8, 9)
    ask(rig, 9, going_on)
    rig.run()
    assert read(rig) - before == 4
    assert rig.steps[-1].counters.restored == len(going_on) - 4
    # The same with everything in the pool all the time: the same state, the same answer.
    roomy = make_rig(tiny_files[kind], pool_tokens=2048)
    ask(roomy, 0, first)
    roomy.run()
    ask(roomy, 9, going_on)
    roomy.run()
    assert rig.tokens(9) == roomy.tokens(9)


@pytest.mark.parametrize("kind", KINDS)
def test_parked_chats_go_on_without_reading_again(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=256, spill_bytes=BUDGET)
    prompts = [text(20 + number, 50) for number in range(4)]
    for number, prompt in enumerate(prompts):
        ask(rig, number, prompt, limit=80)
    rig.run()
    ends = [end for step in rig.steps for end in step.finished]
    assert [end.reason for end in ends] == [FinishReason.LENGTH] * 4
    assert rig.steps[-1].counters.parked > 0
    assert read(rig) == 4 * 50


def test_a_spilled_beginning_is_shared_by_new_chats(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files["attention"], pool_tokens=256, spill_bytes=BUDGET)
    shared = text(2, 100)
    ask(rig, 0, (*shared, 11, 12))
    rig.run()
    ask(rig, 1, text(3, 200))
    rig.run()
    before = read(rig)
    ask(rig, 2, (*shared, 21, 22, 23))
    rig.run()
    assert read(rig) - before == 3


@pytest.mark.parametrize("kind", ["sliding_window", "hybrid", "recurrent"])
def test_a_restored_state_is_never_cut(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """Where a saved state is good at its tip only, a fork from its middle reads instead of answering wrong."""
    rig = make_rig(tiny_files[kind], pool_tokens=256, spill_bytes=BUDGET)
    first = text(4, 120)
    ask(rig, 0, first)
    rig.run()
    ask(rig, 1, text(5, 200))
    rig.run()
    ask(rig, 2, (*first, *rig.tokens(0), 7))
    rig.run()
    forked = (*first[:100], 3, 4)
    ask(rig, 3, forked)
    rig.run()
    alone = make_rig(tiny_files[kind])
    ask(alone, 3, forked)
    alone.run()
    assert rig.tokens(3) == alone.tokens(3)


def test_a_damaged_state_is_read_again_silently(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files["attention"], pool_tokens=256, spill_bytes=BUDGET)
    first = text(6, 120)
    ask(rig, 0, first)
    rig.run()
    ask(rig, 1, text(7, 200))
    rig.run()
    tree = rig.engine._pool.states
    blob = tree.match(np.array(first, np.int32), 119)[0].blob
    blob.data = blob.data[: len(blob.data) // 2].ljust(len(blob.data), b"\0")
    before = read(rig)
    ask(rig, 2, (*first, 7, 8))
    rig.run()
    assert read(rig) - before == 122
    alone = make_rig(tiny_files["attention"])
    ask(alone, 2, (*first, 7, 8))
    alone.run()
    assert rig.tokens(2) == alone.tokens(2)
