"""What reaches the engine of the sampling that was asked for, once the model is known."""

from dataclasses import replace
from typing import Any

import pytest

from app.chat.model_state import ModelPhase
from app.chat.ports import Text
from app.sampling import FIELDS, LogProbs, Sampling
from app.wire import FinishReason, TokenOut
from tests.played_model import PATH, Made, ends
from tests.scripted_children import VOCABULARY, run, step, turns

ADVICE = (("temperature", 0.6), ("top_k", 20))


def advised() -> Made:
    """A model whose file advises."""
    return Made(vocabulary=replace(VOCABULARY, recommended=ADVICE))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Sampling()),
        ({"sampling_open": frozenset(FIELDS)}, Sampling(temperature=0.6, top_k=20)),
        (
            {
                "sampling": Sampling(temperature=0.0),
                "sampling_open": frozenset(FIELDS) - {"temperature"},
            },
            Sampling(temperature=0.0, top_k=20),
        ),
        ({"sampling": Sampling(seed=1), "sampling_open": frozenset({"seed"})}, Sampling(seed=1)),
    ],
)
def test_the_models_own_values_fill_what_was_left_open(
    options: dict[str, Any], expected: Sampling
) -> None:
    async def scenario() -> None:
        made = advised()
        await made.model.load(PATH)
        assert made.model.state.phase is ModelPhase.READY
        assert made.model.state.recommended == ADVICE
        await made.ask("hi", **options)
        submitted = made.submitted[0].sampling
        assert submitted == replace(expected, dry_sequence_breakers=()), "no text for the engine"
        await made.model.unload()
        assert made.model.state.recommended == ADVICE
        await made.model.close()

    run(scenario())


def test_a_bias_that_does_not_fit_the_model_is_refused_before_the_engine_hears_of_it() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi", sampling=Sampling(logit_bias=((257, 5.0),)))
        ended = ends(task)
        assert (ended.reason, ended.code) == (FinishReason.ERROR, "invalid_value")
        assert ended.error == "'logit_bias' names token 257, but this model's tokens are 0 to 256."
        assert made.submitted == []
        await made.ask("hi", sampling=Sampling(logit_bias=((256, 5.0),)))
        assert made.submitted[0].sampling.logit_bias == ((256, 5.0),)
        await made.model.close()

    run(scenario())


def test_breakers_go_to_the_engine_as_flags_and_only_for_dry() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        await made.ask("hi")
        on = Sampling(dry_multiplier=0.8, dry_sequence_breakers=("\x01", "ab"))
        await made.ask("hi", sampling=on)
        while len(made.submitted) < 2:
            await turns(1)
        assert made.submitted[0].breakers == b""
        assert made.submitted[1].breakers == b"\x40" + bytes(32)
        assert [one.breaker_texts for one in made.submitted] == [(), (b"ab",)]
        await made.model.close()

    run(scenario())


def test_log_probabilities_are_asked_of_the_engine_and_told_with_the_text() -> None:
    async def scenario() -> None:
        made = Made()
        await made.model.load(PATH)
        task = await made.ask("hi", top_logprobs=1)
        (submit,) = made.submitted
        assert submit.top_logprobs == 1
        made.engine.say(step(TokenOut(submit.request_id, 65, LogProbs(-1.0, (66,), (-0.5,)))))
        await turns()
        made.write("", end=FinishReason.STOP)
        text = next(event for event in await task if isinstance(event, Text))
        (likelihood,) = text.likelihoods
        assert (likelihood.own.piece, likelihood.own.logprob) == (b"A", -1.0)
        assert [(one.piece, one.logprob) for one in likelihood.best] == [(b"B", -0.5)]
        await made.model.close()

    run(scenario())
