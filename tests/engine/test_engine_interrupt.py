"""A read that is interrupted from another thread, in the real library."""

import threading
from pathlib import Path

import numpy as np
import pytest

from app.counters import Counters
from app.engine.backend import Batch, DecodeResult
from app.sampling import Sampling
from app.wire import Submit
from tests.engine.conftest import MakeRig

TEXT = tuple(int(token) for token in np.random.default_rng(8).integers(1, 256, 1500))


@pytest.mark.parametrize("kind", ["attention", "sliding_window"])
def test_an_interrupted_prompt_gives_the_same_answer(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The flag is set before the decode and while it runs; the mirror agrees after every step."""
    rig = make_rig(tiny_files[kind], pool_tokens=2048, batch=512)
    rig.engine.submit(Submit(1, TEXT, Sampling(temperature=0), max_tokens=5, ignore_eos=True))
    for delay in (0.0, 0.0005, 0.002, 0.005):
        timer = threading.Timer(delay, rig.backend.interrupt)
        timer.start()
        before = rig.steps[-1].counters if rig.steps else Counters()
        step = rig.step()
        timer.join()
        rig.backend.rearm()
        if step.counters.interrupted > before.interrupted:
            # What was evaluated before stays: whole parts of the batch.
            kept = step.counters.read - before.read
            assert kept % rig.backend.info.ubatch in (0, rig.backend.info.ubatch - 1)
    rig.backend.interrupt()
    assert rig.step().counters.interrupted >= 1
    rig.backend.rearm()
    rig.run()
    alone = make_rig(tiny_files[kind], pool_tokens=2048, batch=512)
    alone.engine.submit(Submit(1, TEXT, Sampling(temperature=0), max_tokens=5, ignore_eos=True))
    alone.run()
    assert len(rig.tokens(1)) == 5
    assert rig.steps[-1].counters.read == alone.steps[-1].counters.read == len(TEXT)


def test_a_batch_is_evaluated_in_parts_where_it_may_be_interrupted(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    for kind, expected in (("attention", 128), ("sliding_window", 128), ("recurrent", 512)):
        info = make_rig(tiny_files[kind], pool_tokens=1024, batch=512).backend.info
        assert (info.batch, info.ubatch) == (512, expected)


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_a_memory_that_would_be_spoiled_is_never_interrupted(
    kind: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files[kind])
    rig.backend.interrupt()
    size = 64
    batch = Batch(
        np.array(TEXT[:size], np.int32),
        np.arange(size, dtype=np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int8),
    )
    assert rig.backend.decode(batch) is DecodeResult.DONE
