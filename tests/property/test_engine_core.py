"""Any schedule gives every request the answer it would have had alone, and leaks nothing."""

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.engine.backend import MemoryKind
from app.engine.fake import FakeBackend
from app.wire import FinishReason, Priority, Sampling, Submit
from tests.engine_run import StrictBackend, finish, make_run, with_id

PREFIXES = [(), (5, 6, 7) * 13, (5, 6, 7) * 13 + (9,) * 9, (8,) * 20]


requests = st.builds(
    lambda prefix, tail, limit, sampling, priority: Submit(
        request_id=0,
        tokens=(*PREFIXES[prefix], *tail),
        sampling=sampling,
        max_tokens=limit,
        priority=priority,
    ),
    st.integers(0, len(PREFIXES) - 1),
    st.lists(st.integers(1, 63), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(0, 40)),
    st.builds(
        Sampling,
        temperature=st.sampled_from([0.0, 0.8]),
        presence_penalty=st.sampled_from([0.0, 1.0]),
        seed=st.just(11),
    ),
    st.sampled_from(list(Priority)),
)


schedules = {
    "submits": st.lists(requests, min_size=1, max_size=9),
    "gaps": st.lists(st.integers(0, 6), min_size=9, max_size=9),
    "aborts": st.dictionaries(st.integers(0, 8), st.integers(0, 30), max_size=3),
    "kind": st.sampled_from(list(MemoryKind)),
    "cells": st.sampled_from([96, 160, 400]),
    "sequences": st.sampled_from([4, 7]),
    "spill_bytes": st.sampled_from([0, 3000, 100_000]),
    "interrupt_at": st.integers(0, 6),
    # Never two in a row: a request that finds no room twice although it is alone has none.
    "refusals": st.sets(st.integers(1, 60).map(lambda number: 2 * number), max_size=4),
}


def every_schedule_gives_the_lone_answer(
    submits: list[Submit],
    gaps: list[int],
    aborts: dict[int, int],
    kind: MemoryKind,
    cells: int,
    sequences: int,
    spill_bytes: int,
    interrupt_at: int,
    refusals: set[int],
) -> None:
    backend = StrictBackend(
        refusals=refusals, cells=cells, sequences=sequences, batch=24, kind=kind
    )
    run = make_run(backend, spill_bytes=spill_bytes)
    due = {request: steps for request, steps in aborts.items() if request < len(submits)}
    for index, submit in enumerate(submits):
        run.engine.submit(with_id(submit, index))
        for _ in range(gaps[index]):
            # As in the process: an interrupt is taken back when the next commands are read.
            backend.rearm()
            if run.engine.has_work and gaps[index] == interrupt_at and backend.can_interrupt:
                backend.interrupt()
            run.step()
            for request in [name for name, steps in due.items() if steps <= 0 and name <= index]:
                run.engine.abort(request)
                del due[request]
            due = {name: steps - 1 for name, steps in due.items()}
    backend.rearm()
    finish(run)

    assert set(run.finished) == set(range(len(submits)))
    assert backend.open_samplers == 0
    for index, submit in enumerate(submits):
        alone = make_run(FakeBackend(cells=cells, sequences=sequences, batch=24, kind=kind))
        alone.engine.submit(with_id(submit, index))
        finish(alone)
        got, wanted = run.tokens.get(index, []), alone.tokens.get(index, [])
        if run.finished[index] is FinishReason.CANCELLED:
            assert got == wanted[: len(got)]
        else:
            assert (got, run.finished[index]) == (wanted, alone.finished[index])


@settings(max_examples=60)
@given(**schedules)
def test_every_schedule_gives_the_lone_answer(**drawn: Any) -> None:
    every_schedule_gives_the_lone_answer(**drawn)


@pytest.mark.soak
@settings(max_examples=10_000, phases=[Phase.generate])
@given(**schedules)
def test_ten_thousand_schedules_give_the_lone_answer(**drawn: Any) -> None:
    every_schedule_gives_the_lone_answer(**drawn)
