"""What each sampling setting does on a real model, alone and beside others; and answers that may not end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.replaying import replay as replay_log

PROMPT = tuple(range(20, 40))
WRITTEN = 60
GREEDY = Sampling(temperature=0)
WARM = Sampling(temperature=1.5, top_k=0, top_p=1, min_p=0, seed=3)


def written(rig: Rig, sampling: Sampling, *, limit: int = WRITTEN) -> list[int]:
    number = len(rig.steps) + 1
    rig.engine.submit(Submit(number, PROMPT, sampling, max_tokens=limit, ignore_eos=True))
    rig.run()
    return rig.tokens(number)


@pytest.fixture
def rig(tiny_files: dict[str, Path], make_rig: MakeRig) -> Rig:
    rig = make_rig(tiny_files["attention"])
    written(rig, GREEDY, limit=1)  # from now on every prompt is in the pool, and read alike
    return rig


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}])
def test_the_narrowest_filter_is_greedy(rig: Rig, narrow: dict[str, object]) -> None:
    assert written(rig, replace(WARM, **narrow)) == written(rig, GREEDY)


def test_a_seed_gives_the_same_again_and_another_gives_another(rig: Rig) -> None:
    first = written(rig, WARM)
    assert written(rig, WARM) == first
    assert written(rig, replace(WARM, seed=4)) != first
    assert first != written(rig, GREEDY)


def test_temperature_widens(rig: Rig) -> None:
    """With the same random numbers, a hotter draw leaves the best token more often."""
    best = written(rig, GREEDY, limit=1)
    strays = []
    for temperature in (0.05, 1.0, 5.0):
        draws = [
            written(rig, replace(WARM, temperature=temperature, seed=seed), limit=1)
            for seed in range(30)
        ]
        strays.append(sum(draw != best for draw in draws))
    assert strays[0] < strays[1] < strays[2]


@pytest.mark.parametrize(
    "penalised",
    [
        Sampling(temperature=0, presence_penalty=2.0),
        Sampling(temperature=0, presence_penalty=-2.0),
        Sampling(temperature=0, repeat_penalty=3.0),
        Sampling(temperature=0, repeat_penalty=1.7, presence_penalty=1.5),
    ],
)
def test_penalties_count_the_prompt_and_the_own_answer(
    penalised: Sampling, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """Each choice is the best of the own logits, less the penalty for what the prompt and this answer hold already;
    neighbours write other and the same tokens meanwhile, penalised and not."""
    rig = make_rig(tiny_files["attention"])
    for number, sampling in enumerate((penalised, GREEDY, penalised), start=1):
        rig.engine.submit(Submit(number, PROMPT, sampling, max_tokens=WRITTEN, ignore_eos=True))
        rig.step()
    rig.run()
    outputs = replay_log(make_rig(tiny_files["attention"]).backend, rig.records())
    for number, sampling in ((1, penalised), (2, GREEDY), (3, penalised)):
        own = [logits for sequence, _, logits in outputs if sequence == number - 1]
        expected: list[int] = []
        for logits in own:
            seen = {*PROMPT, *expected}
            expected.append(int(less_penalties(logits, seen, sampling).argmax()))
        assert rig.tokens(number) == expected


def less_penalties(
    logits: npt.NDArray[np.float32], seen: set[int], sampling: Sampling
) -> npt.NDArray[np.float32]:
    """As llama.cpp's documentation has it: positive logits divided, negative ones multiplied, then the presence."""
    found = logits.copy()
    for token in seen:
        found[token] *= 1 / sampling.repeat_penalty if found[token] > 0 else sampling.repeat_penalty
        found[token] -= sampling.presence_penalty
    return found


@pytest.fixture(scope="session")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that soon ends its answers."""
    return tiny_models.talker(tmp_path_factory.mktemp("ending") / "ending.gguf", ends=True)


@pytest.mark.parametrize("sampling", [GREEDY, WARM], ids=["greedy", "sampled"])
def test_ignore_eos_gives_exactly_so_many(
    ending: Path, make_rig: MakeRig, sampling: Sampling
) -> None:
    rig = make_rig(ending)
    rig.engine.submit(Submit(1, PROMPT, sampling, max_tokens=300))
    rig.run()
    (end,) = [end for step in rig.steps for end in step.finished]
    assert end.reason is FinishReason.STOP
    assert len(rig.tokens(1)) < 300
    rig.engine.submit(Submit(2, PROMPT, sampling, max_tokens=300, ignore_eos=True))
    # Beside one that may end: each has its own ban.
    rig.engine.submit(Submit(3, PROMPT, sampling, max_tokens=300))
    rig.run()
    ends = {end.request_id: end for step in rig.steps for end in step.finished}
    assert (ends[2].reason, len(rig.tokens(2))) == (FinishReason.LENGTH, 300)
    assert ends[3].reason is FinishReason.STOP
    assert not set(rig.tokens(2)) & set(rig.backend.info.end_tokens)
