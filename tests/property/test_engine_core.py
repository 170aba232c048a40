"""Any schedule gives every request the answer it would have had alone, and leaks nothing."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.backend import MemoryKind
from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.wire import FinishReason, Priority, Sampling, Submit

PREFIXES = [(), (5, 6, 7) * 13, (5, 6, 7) * 13 + (9,) * 9, (8,) * 20]


class Clock:
    """Each look costs a millisecond, so that steps have a length that is always the same."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


@dataclass
class Run:
    """Requests driven to their end, with everything that was told."""

    engine: Engine
    tokens: dict[int, list[int]]
    finished: dict[int, FinishReason]

    def step(self) -> None:
        step = self.engine.step()
        for out in step.tokens:
            assert out.request_id not in self.finished
            self.tokens.setdefault(out.request_id, []).append(out.token)
        for end in step.finished:
            assert end.request_id not in self.finished, "a second terminal event"
            self.finished[end.request_id] = end.reason
        self.engine.check()


def make_run(backend: FakeBackend, most_running: int = 4) -> Run:
    engine = Engine(backend, most_running=most_running, clock=Clock(), new_seed=lambda: 3)
    return Run(engine, {}, {})


def finish(run: Run, bound: int = 4000) -> None:
    for _ in range(bound):
        if not run.engine.has_work:
            return
        run.step()
    raise AssertionError(f"work is left after {bound} steps")


requests = st.builds(
    lambda prefix, tail, limit, temperature, priority: Submit(
        request_id=0,
        tokens=(*PREFIXES[prefix], *tail),
        sampling=Sampling(temperature=temperature, seed=11),
        max_tokens=limit,
        priority=priority,
    ),
    st.integers(0, len(PREFIXES) - 1),
    st.lists(st.integers(1, 63), min_size=1, max_size=20),
    st.one_of(st.none(), st.integers(1, 40)),
    st.sampled_from([0.0, 0.8]),
    st.sampled_from(list(Priority)),
)


def with_id(submit: Submit, request_id: int) -> Submit:
    fields = {name: getattr(submit, name) for name in Submit.__slots__}
    return Submit(**{**fields, "request_id": request_id})


@settings(max_examples=150)
@given(
    submits=st.lists(requests, min_size=1, max_size=9),
    gaps=st.lists(st.integers(0, 6), min_size=9, max_size=9),
    aborts=st.dictionaries(st.integers(0, 8), st.integers(0, 30), max_size=3),
    kind=st.sampled_from(list(MemoryKind)),
    cells=st.sampled_from([96, 160, 400]),
    sequences=st.sampled_from([3, 6]),
)
def test_every_schedule_gives_the_lone_answer(
    submits: list[Submit],
    gaps: list[int],
    aborts: dict[int, int],
    kind: MemoryKind,
    cells: int,
    sequences: int,
) -> None:
    backend = FakeBackend(cells=cells, sequences=sequences, batch=24, kind=kind)
    run = make_run(backend)
    due = {request: steps for request, steps in aborts.items() if request < len(submits)}
    for index, submit in enumerate(submits):
        run.engine.submit(with_id(submit, index))
        for _ in range(gaps[index]):
            run.step()
            for request in [name for name, steps in due.items() if steps <= 0 and name <= index]:
                run.engine.abort(request)
                del due[request]
            due = {name: steps - 1 for name, steps in due.items()}
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
