"""The real engine, killed in the middle of answers: they go on, whole, and nothing in them twice."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.client.child import Child, Link, engine_child
from app.client.clock import LoopClock
from app.client.engine import EngineClient
from app.client.process import OnDeath, OnMessage
from app.client.recovery import Recovery
from app.client.stream import EngineStream, Interrupted
from app.sampling import Sampling
from app.wire import Finished, FinishReason, LoadParams, Submit, TokenOut, Usage
from tests import tiny_models
from tests.scripted_children import begin, run, threads, until

pytestmark = [pytest.mark.crash, pytest.mark.slow]

PROMPTS = ((1, 2, 3), (9, 8, 7, 6), tuple(range(40, 90)))
LENGTH = 400
GREEDY = Sampling(temperature=0)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert threads() == set()
    children = psutil.Process().children()
    assert not [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]


class Real:
    """Real engines on the tiny model; `children` are all that there were."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.client = EngineClient(
            self._spawn,
            clock=LoopClock(),
            on_change=lambda: None,
            recovery=Recovery((0.01,)),
        )

    def _spawn(self, on_message: OnMessage, on_death: OnDeath) -> Link:
        self.children.append(engine_child(on_message, on_death))
        return self.children[-1]

    async def load(self, folder: Path) -> None:
        path = folder / "tiny.gguf"
        tiny_models.attention(path)
        params = LoadParams(str(path), pool_tokens=2048, sequences=4, batch=64, threads=1)
        await self.client.load(params, lambda _: None)

    def submit(
        self, prompt: tuple[int, ...], length: int, sampling: Sampling = GREEDY
    ) -> EngineStream:
        return self.client.submit(Submit(0, prompt, sampling, max_tokens=length, ignore_eos=True))

    async def next_token(self, prompt: tuple[int, ...]) -> int:
        answer = Answer()
        await answer.listen(self.submit(prompt, 1))
        return answer.tokens[0]

    def kill(self) -> None:
        pid = self.children[-1].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)


class Answer:
    """What one request was told."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.seams: list[int] = []
        self.end: Finished | None = None

    async def listen(self, stream: EngineStream) -> None:
        while self.end is None:
            for event in await stream.events():
                match event:
                    case TokenOut():
                        self.tokens.append(event.token)
                    case Interrupted():
                        self.seams.append(len(self.tokens))
                    case Finished():
                        self.end = event


@pytest.mark.parametrize("kills", [1, 5])
def test_answers_go_on_over_kills_of_the_engine(tmp_path: Path, kills: int) -> None:
    async def scenario() -> None:
        real = Real()
        await real.load(tmp_path)
        answers = [Answer() for _ in PROMPTS]
        tasks = [
            begin(answer.listen(real.submit(prompt, LENGTH)))
            for answer, prompt in zip(answers, PROMPTS, strict=True)
        ]
        for kill in range(1, kills + 1):
            goals = [len(one.tokens) + 10 for one in answers]
            await until(
                lambda goals=goals: all(
                    len(one.tokens) >= goal for one, goal in zip(answers, goals, strict=True)
                )
            )
            real.kill()
            await until(lambda kill=kill: all(len(one.seams) == kill for one in answers))
        await asyncio.gather(*tasks)
        assert len(real.children) == kills + 1
        for answer, prompt in zip(answers, PROMPTS, strict=True):
            assert len(answer.tokens) == LENGTH
            assert answer.end is not None
            assert answer.end.reason is FinishReason.LENGTH
            assert answer.end.usage == Usage(len(prompt), LENGTH, answer.end.usage.cached_tokens)
            # Each token is the one that follows from those before it, at the seams too.
            for seam in answer.seams:
                for place in range(seam - 1, seam + 2):
                    before = (*prompt, *answer.tokens[:place])
                    assert await real.next_token(before) == answer.tokens[place]
        await real.client.stop()

    run(scenario())


def test_a_seeded_answer_is_the_same_over_kills_of_the_engine(tmp_path: Path) -> None:
    """Its random draws and its penalties go on where the dead engine left them."""
    sampling = Sampling(temperature=0.8, repeat_penalty=1.2, presence_penalty=0.5, seed=42)

    async def scenario() -> None:
        real = Real()
        await real.load(tmp_path)
        whole = Answer()
        await whole.listen(real.submit(PROMPTS[0], LENGTH, sampling))
        cut = Answer()
        task = begin(cut.listen(real.submit(PROMPTS[0], LENGTH, sampling)))
        for kill in range(1, 4):
            goal = len(cut.tokens) + 10
            await until(lambda goal=goal: len(cut.tokens) >= goal)
            real.kill()
            await until(lambda kill=kill: len(cut.seams) == kill)
        await task
        assert len(real.children) == 4
        assert cut.tokens == whole.tokens
        await real.client.stop()

    run(scenario())
