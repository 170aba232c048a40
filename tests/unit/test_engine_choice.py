"""Log-probabilities are told to those who ask, and cost nobody else a look at the logits."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.engine.fake import FakeBackend
from app.engine.likelihood import LogArray
from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests.engine_run import finish, make_run, request


class Watched(FakeBackend):
    """Counts who is chosen for together, and whose logits are looked at."""

    def __init__(self) -> None:
        super().__init__(cells=200)
        self.together: list[int] = []
        self.looked_at = 0

    def argmax(self, rows: Sequence[int], *, ban_ends: Sequence[bool]) -> list[int]:
        self.together.append(len(rows))
        return super().argmax(rows, ban_ends=ban_ends)

    def log_probabilities(self, output: int) -> LogArray:
        self.looked_at += 1
        return super().log_probabilities(output)


def test_plain_greedy_requests_are_chosen_for_at_once_and_nobody_looks() -> None:
    backend = Watched()
    run = make_run(backend)
    for number in (1, 2, 3):
        run.engine.submit(request(number, (number, 5), 6))
    finish(run)
    assert max(backend.together) == 3
    assert backend.looked_at == 0
    assert all(out.logprobs is None for step in run.steps for out in step.tokens)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_who_asks_is_told_of_every_token_and_its_neighbour_is_not(temperature: float) -> None:
    backend = Watched()
    run = make_run(backend)
    asking = replace(
        request(1, (1, 5), 6), sampling=Sampling(temperature=temperature, seed=1), top_logprobs=3
    )
    run.engine.submit(asking)
    run.engine.submit(request(2, (2, 5), 6))
    finish(run)
    told = [out for step in run.steps for out in step.tokens]
    assert backend.looked_at == 6
    assert all((out.logprobs is None) is (out.request_id == 2) for out in told)
    for out in told:
        if out.logprobs is not None:
            likely = max(out.logprobs.values)
            assert len(out.logprobs.tokens) == 3
            assert out.logprobs.own in (likely, pytest.approx(likely - 1))
            assert np.exp(likely) == pytest.approx(np.e / (np.e + backend.info.vocabulary - 1))


def test_asking_changes_nothing_of_the_answer() -> None:
    answers = []
    for most in (None, 0, 20):
        run = make_run(Watched())
        asked = replace(request(1, (1, 5), 9), sampling=Sampling(seed=4), top_logprobs=most)
        run.engine.submit(asked)
        finish(run)
        answers.append(run.tokens[1])
    assert answers[0] == answers[1] == answers[2]


def test_a_bias_for_a_token_outside_the_vocabulary_is_refused_in_words() -> None:
    run = make_run(FakeBackend())
    run.engine.submit(Submit(1, (1, 2), Sampling(logit_bias=((64, 1.0),))))
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
    assert run.ends[1].error == "'logit_bias' names token 64, but this model's tokens are 0 to 63."
