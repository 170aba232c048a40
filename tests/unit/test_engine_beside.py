"""An engine beside another one: what it wants of the device, what it tells meanwhile, and how long its steps may be."""

from dataclasses import replace

from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.engine.scheduler import Pace
from app.wire import FinishReason, Priority
from tests.engine_run import Clock, Run, finish, make_run, request


def test_it_wants_the_device_as_urgently_as_its_most_urgent_request() -> None:
    run = make_run(FakeBackend())
    assert run.engine.level is None
    run.engine.submit(replace(request(1, (1, 2, 3)), priority=Priority.BACKGROUND))
    assert run.engine.level == Priority.BACKGROUND
    run.engine.submit(request(2, (1, 2, 4)))
    assert run.engine.level == Priority.NORMAL
    run.engine.set_priority(2, Priority.FRONT)
    assert run.engine.level == Priority.FRONT
    finish(run)
    assert run.engine.level is None


def test_the_end_of_a_request_is_told_without_a_step() -> None:
    run = make_run(FakeBackend())
    run.engine.submit(request(1, (1, 2, 3)))
    run.engine.submit(request(2, (1, 2, 4)))
    run.step()
    while run.steps[-1].counters.running < 2:
        run.step()
    steps = run.steps[-1].counters.steps
    assert run.engine.news() is None
    run.engine.abort(1)
    told = run.engine.news()
    assert told is not None
    assert [(end.request_id, end.reason) for end in told.finished] == [(1, FinishReason.CANCELLED)]
    assert (told.counters.steps, told.counters.running, told.tokens) == (steps, 1, ())
    assert run.engine.news() is None
    finish(run)
    assert set(run.ends) == {2}


def longest_read(*, beside_others: bool) -> int:
    """Tokens of the longest step of one long prompt, where a token takes the same time whatever else there is."""
    clock = Clock(0.0)

    class Timed(FakeBackend):
        def decode(self, batch):  # type: ignore[no-untyped-def]
            clock.now += 0.001 * batch.size
            return super().decode(batch)

    pace = Pace(alone_seconds=0.4, shared_seconds=0.1)
    engine = Engine(
        Timed(cells=1024, batch=512),
        most_running=2,
        clock=clock,
        new_seed=lambda: 3,
        pace=pace.shared if beside_others else pace,
    )
    run = Run(engine)
    engine.submit(request(1, tuple(1 + number % 60 for number in range(900)), 1))
    finish(run)
    return max(step.counters.chunk for step in run.steps)


def test_a_long_prompt_is_read_in_shorter_steps_while_another_model_waits() -> None:
    assert longest_read(beside_others=False) > 250
    assert longest_read(beside_others=True) <= 130
