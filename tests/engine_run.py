"""Drive an engine on the fake backend and keep everything that it tells."""

from dataclasses import dataclass, field, replace

from app.engine.core import Engine
from app.engine.fake import FakeBackend
from app.wire import Finished, Sampling, Step, Submit

GREEDY = Sampling(temperature=0)


class Clock:
    """Each look costs `tick` seconds, so that steps have a length that is always the same."""

    def __init__(self, tick: float = 0.001) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@dataclass
class Run:
    """An engine and all that its steps told; the mirrors are checked after every step."""

    engine: Engine
    steps: list[Step] = field(default_factory=list)
    tokens: dict[int, list[int]] = field(default_factory=dict)
    ends: dict[int, Finished] = field(default_factory=dict)

    def step(self) -> Step:
        step = self.engine.step()
        self.steps.append(step)
        for out in step.tokens:
            assert out.request_id not in self.ends
            self.tokens.setdefault(out.request_id, []).append(out.token)
        for end in step.finished:
            assert end.request_id not in self.ends, "a second terminal event"
            self.ends[end.request_id] = end
        self.engine.check()
        return step

    @property
    def finished(self) -> dict[int, str]:
        return {name: end.reason for name, end in self.ends.items()}


def make_run(
    backend: FakeBackend, most_running: int = 4, spill_bytes: int = 0, tick: float = 0.001
) -> Run:
    engine = Engine(
        backend,
        most_running=most_running,
        clock=Clock(tick),
        new_seed=lambda: 3,
        spill_bytes=spill_bytes,
    )
    return Run(engine)


def finish(run: Run, bound: int = 4000) -> None:
    for _ in range(bound):
        if not run.engine.has_work:
            return
        run.step()
    raise AssertionError(f"work is left after {bound} steps")


def with_id(submit: Submit, request_id: int) -> Submit:
    return replace(submit, request_id=request_id)


def request(request_id: int, tokens: tuple[int, ...], limit: int | None = 8) -> Submit:
    """A greedy request of exactly `limit` tokens."""
    return Submit(request_id, tokens, GREEDY, max_tokens=limit, ignore_eos=True)
