"""No text crosses from one sequence to another: the replay and neighbour-swap rules, bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.replaying import assert_same_bits, family, replay, swapped

KINDS = (*tiny_models.KINDS, "experts")


def tokens(seed: int, count: int) -> tuple[int, ...]:
    return tuple(int(token) for token in np.random.default_rng(seed).integers(1, 256, count))


def busy_schedule(rig: Rig) -> None:
    """Joins, leaves, cancels, shared prefixes and reuse of ids, with mixed reading and writing."""
    shared = tokens(1, 70)
    greedy, warm = Sampling(temperature=0), Sampling(temperature=0.9, seed=4)
    for number in range(8):
        prompt = (shared if number % 2 else ()) + tokens(10 + number, 12 + 5 * number)
        sampling = warm if number % 3 == 1 else greedy
        rig.engine.submit(Submit(number, prompt, sampling, max_tokens=9 + number, ignore_eos=True))
        for _ in range(3):
            if rig.engine.has_work:
                rig.step()
        if number in (2, 5):
            rig.engine.abort(number)
    rig.run()


@pytest.mark.parametrize("kind", KINDS)
def test_replay_gives_the_tokens_that_were_told(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The log is whole: done again, it yields the first request's greedy answer token by token."""
    rig = make_rig(tiny_files[kind])
    busy_schedule(rig)
    replayed = replay(make_rig(tiny_files[kind]).backend, rig.records())
    answer = rig.tokens(0)
    start = 12 - 1
    first = [
        (position, int(logits.argmax())) for sequence, position, logits in replayed if sequence == 0
    ]
    assert first[: len(answer)] == [(start + index, token) for index, token in enumerate(answer)]


@pytest.mark.parametrize("kind", KINDS)
def test_other_neighbours_change_no_bit(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The tokens of every other sequence are replaced; the watched one's logits stay the same."""
    rig = make_rig(tiny_files[kind])
    busy_schedule(rig)
    records = rig.records()
    calls = [record["decode"] for record in records if "decode" in record]
    assert any(len(set(call["sequences"])) > 1 for call in calls), "nothing ran together"
    original = replay(make_rig(tiny_files[kind]).backend, records)
    compared = 0
    for watched in sorted({sequence for call in calls for sequence in call["sequences"]}):
        rewrite = swapped(family(records, watched), tiny_models.VOCABULARY)
        other = replay(make_rig(tiny_files[kind]).backend, records, rewrite)
        compared += bool(assert_same_bits(original, other, watched))
    assert compared >= 5
