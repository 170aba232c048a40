"""The longest gap in a stream while prompts are read beside it, on a machine that takes few tokens one by one."""

import numpy as np
import pytest

from app.engine.backend import Batch, DecodeResult
from app.engine.core import Engine
from app.engine.cost import LARGE
from app.engine.scheduler import Pace
from tests.engine_run import Clock, Run, StrictBackend, request

FIXED, ROW, FEW, MANY = 0.02, 0.003, 0.013, 0.0035


class TiledBackend(StrictBackend):
    """Each decode takes its time: as two cores did it, a step of few tokens costs more for each than one of many."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(cells=4000, batch=512, sequences=12)
        self._clock = clock
        self.gap = 0.0
        """The longest decode of late that read beside a stream, as a multiple of one that only writes."""

    def decode(self, batch: Batch) -> DecodeResult:
        counts = np.unique(batch.sequences, return_counts=True)[1]
        rows = int(np.count_nonzero(counts == 1))
        chunk = batch.size - rows
        each = MANY if batch.size >= LARGE else FEW
        writes = FIXED + ROW * rows
        self._clock.now += writes + each * chunk
        if rows and chunk:
            self.gap = max(self.gap, (writes + each * chunk) / writes)
        return super().decode(batch)


@pytest.mark.parametrize("gap", [10.0, 14.0])
def test_the_end_of_a_prompt_makes_no_longer_gap_than_the_rest_of_it(gap: float) -> None:
    """What is left of it may be too little for a step of many, and then costs more than more tokens would."""
    clock = Clock(1e-6)
    backend = TiledBackend(clock)
    pace = Pace(gap=gap)
    engine = Engine(backend, most_running=8, clock=clock, new_seed=lambda: 3, pace=pace)
    run = Run(engine)
    for number in range(4):
        engine.submit(request(number, (number + 1,), limit=300))
    for number in range(4, 18):
        if number == 9:
            backend.gap = 0.0  # what it costs is known now
        length = 90 + 17 * number % 60
        engine.submit(request(number, (number,) * length, limit=1))
        while number not in run.ends:
            run.step()
        for _ in range(2):
            run.step()
    assert all(number not in run.ends for number in range(4)), "the streams are over"
    assert 1.5 < backend.gap <= 1.15 * gap
