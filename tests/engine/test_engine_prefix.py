"""Prefix sharing on real models: what is reused, and that it is right (replay rule of the field cases)."""

from pathlib import Path

import numpy as np
import pytest

from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests.engine.conftest import MakeRig
from tests.replaying import read_with_cuts

GREEDY = Sampling(temperature=0)
SHARED = tuple(int(token) for token in np.random.default_rng(3).integers(1, 256, 200))
QUESTIONS = ((31, 32, 33), (41, 42, 43, 44), (51, 52))


def request(number: int, tokens: tuple[int, ...], limit: int = 6) -> Submit:
    return Submit(number, tokens, GREEDY, max_tokens=limit, ignore_eos=True)


def sequence_cuts(records: list[dict], sequence: int) -> list[int]:
    """Where the decode calls of this sequence ended."""
    cuts = []
    for record in records:
        if "decode" in record:
            call = record["decode"]
            own = [
                p
                for s, p in zip(call["sequences"], call["positions"], strict=True)
                if s == sequence
            ]
            if own:
                cuts.append(own[-1] + 1)
    return cuts


def test_a_fork_has_the_logits_of_a_fresh_context(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """Bit for bit, with the same cuts: the shared prefix read as one sequence, then the own tail."""
    rig = make_rig(tiny_files["attention"])
    rig.engine.submit(request(1, SHARED, limit=1))
    rig.run()
    rig.engine.submit(request(2, (*SHARED, *QUESTIONS[0]), limit=1))
    rig.run()
    assert rig.steps[-1].finished[0].usage.cached_tokens == len(SHARED)
    own = rig.backend.logits_of(0)
    first = sequence_cuts(rig.records(), 0)
    fresh = make_rig(tiny_files["attention"])
    cuts = [cut for cut in first if cut <= len(SHARED)] + [len(SHARED) + len(QUESTIONS[0])]
    assert np.array_equal(read_with_cuts(fresh.backend, (*SHARED, *QUESTIONS[0]), cuts), own)


@pytest.mark.parametrize("kind", ["attention", "sliding_window", "hybrid", "recurrent"])
def test_forks_read_only_their_own_tail(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=2048)
    for number, question in enumerate(QUESTIONS):
        rig.engine.submit(request(number, (*SHARED, *question)))
    rig.run()
    own = sum(map(len, QUESTIONS))
    assert rig.steps[-1].counters.read == len(SHARED) + own


@pytest.mark.parametrize("kind", ["attention", "sliding_window", "hybrid", "recurrent"])
def test_a_fork_at_a_mark_equals_a_fresh_context(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """On every kind of memory, from the middle of a longer chat, with the same cuts: bit for bit.

    A window's cells lie elsewhere in a fork than in a fresh context, which moves the borders of the sums: there
    the difference is that of rounding (a wrong window is off by whole units).
    """
    rig = make_rig(tiny_files[kind])
    first = Submit(
        1, (*SHARED, *QUESTIONS[0]), GREEDY, max_tokens=9, ignore_eos=True, marks=(len(SHARED),)
    )
    rig.engine.submit(first)
    rig.run()
    forked = (*SHARED, *QUESTIONS[1])
    rig.engine.submit(request(2, forked, limit=1))
    rig.run()
    usage = rig.steps[-1].finished[0].usage
    assert usage.cached_tokens == len(SHARED)
    own = rig.backend.logits_of(0)
    cuts = [cut for cut in sequence_cuts(rig.records(), 0) if cut <= len(SHARED)]
    cuts += [cut for cut in sequence_cuts(rig.records(), 1) if cut > len(SHARED)]
    fresh = make_rig(tiny_files[kind])
    difference = np.abs(read_with_cuts(fresh.backend, forked, cuts) - own).max()
    assert difference <= (0.05 if kind == "sliding_window" else 0)


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_partial_prefixes_are_read_again_where_sharing_is_not_safe(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=2048)
    rig.engine.submit(request(0, (*SHARED, *QUESTIONS[0])))
    rig.run()
    forked = (*SHARED, *QUESTIONS[1])
    rig.engine.submit(request(1, forked))
    rig.run()
    alone = make_rig(tiny_files[kind], pool_tokens=2048)
    alone.engine.submit(request(1, forked))
    alone.run()
    assert rig.tokens(1) == alone.tokens(1)
    assert rig.steps[-1].finished[0].usage.cached_tokens == 0


@pytest.mark.parametrize("kind", ["attention", "sliding_window", "hybrid", "recurrent"])
def test_a_chat_goes_on_from_its_tip(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind])
    rig.engine.submit(request(0, SHARED[:50]))
    rig.run()
    going_on = (*SHARED[:50], *rig.tokens(0), *QUESTIONS[0])
    rig.engine.submit(request(1, going_on))
    rig.run()
    usage = rig.steps[-1].finished[0].usage
    assert usage.cached_tokens == len(going_on) - len(QUESTIONS[0]) - 1


def test_regenerate_evaluates_one_token_each_time(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """Case 8: everything is cached already; one token is evaluated, and answers 2 to 5 are equal."""
    rig = make_rig(tiny_files["attention"])
    for number in range(6):
        rig.engine.submit(request(number, SHARED[:60]))
        rig.run()
    assert rig.steps[-1].counters.read == 60 + 5
    assert len({tuple(rig.tokens(number)) for number in range(1, 6)}) == 1


@pytest.mark.parametrize("kind", ["attention", "sliding_window", "hybrid", "recurrent"])
def test_a_pool_too_small_for_all_fails_nobody(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind], pool_tokens=256)
    for number in range(6):
        prompt = tuple(int(t) for t in np.random.default_rng(number).integers(1, 256, 40))
        rig.engine.submit(request(number, prompt, limit=60))
    rig.run()
    ends = [end for step in rig.steps for end in step.finished]
    assert [end.reason for end in ends] == [FinishReason.LENGTH] * 6
    assert all(len(rig.tokens(number)) == 60 for number in range(6))


def test_the_pool_is_read_back_from_the_library(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """n_ctx is padded to 256, and the model's own context bounds one chat."""
    rig = make_rig(tiny_files["attention"], pool_tokens=300)
    assert rig.backend.info.cells == 512
    larger = make_rig(tiny_files["attention"], pool_tokens=4096)
    assert (larger.backend.info.cells, larger.backend.info.context) == (4096, 2048)
