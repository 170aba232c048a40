"""The order of the chain, and what each sampler beyond the common ones does on real models."""

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.client.breakers import flags
from app.engine.chain import Chain
from app.engine.dry import Dry
from app.engine.likelihood import log_softmax
from app.sampling import WHOLE, Sampling
from app.text.vocabulary import LlamaVocabulary
from app.wire import Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig
from tests.replaying import replay
from tests.tiny_text import tiny_vocabulary

PROMPT = tuple(range(20, 60))
LENGTH = 40
GREEDY = Sampling(temperature=0)
WARM = Sampling(temperature=4.0, top_k=0, top_p=1, min_p=0, seed=3)
FILTERED = replace(WARM, top_k=30, top_p=0.9, min_p=0.01)


@pytest.fixture
def rig(tiny_files: dict[str, Path], make_rig: MakeRig) -> Rig:
    made = make_rig(tiny_files["attention"])
    answer(made, GREEDY, limit=1)  # from now on every prompt is in the pool, and read alike
    return made


def answer(rig: Rig, sampling: Sampling, *, limit: int = LENGTH, **options: Any) -> list[int]:
    number = len(rig.steps) + 1
    submit = Submit(number, PROMPT, sampling, max_tokens=limit, ignore_eos=True, **options)
    rig.engine.submit(submit)
    rig.run()
    return rig.tokens(number)


# --- order ---------------------------------------------------------------------------------------------------


@pytest.fixture
def names(rig: Rig, api: Any) -> Iterator[Any]:
    chains: list[Chain] = []

    def of(sampling: Sampling, *, banned: tuple[int, ...] = (), excluding: bool = False) -> str:
        chain = Chain(api, rig.backend._context, sampling, 1, banned, excluding=excluding)
        chains.append(chain)
        count = api.llama_sampler_chain_n(chain._chain)
        links = (api.llama_sampler_chain_get(chain._chain, index) for index in range(count))
        return " ".join(api.llama_sampler_name(link).decode() for link in links)

    yield of
    for chain in chains:
        chain.close()


ALL = Sampling(
    temperature=0.7,
    typical_p=0.5,
    xtc_probability=0.5,
    repeat_penalty=1.1,
    logit_bias=((1, 1.0),),
)


def test_the_order_is_the_one_that_is_stated(names: Any) -> None:
    assert names(ALL, excluding=True) == (
        "logit-bias penalties top-k min-p typical top-p min-p xtc temp dist"
    )
    assert names(Sampling()) == "top-k top-p min-p temp dist"
    assert names(WARM) == "top-k temp dist"
    assert names(WARM, banned=(0,)) == "logit-bias top-k temp dist"
    assert names(replace(ALL, mirostat=1)) == "logit-bias penalties top-k temp mirostat"
    assert names(replace(ALL, mirostat=2)) == "logit-bias penalties top-k temp mirostat-v2"
    assert names(replace(ALL, temperature=0.0, mirostat=2)) == "logit-bias penalties greedy"


ON: dict[str, dict[str, Any]] = {
    "logit-bias": {"logit_bias": ((1, 1.0),)},
    "penalties": {"frequency_penalty": 0.5},
    "typical": {"typical_p": 0.5},
    "top-p": {"top_p": 0.9},
    "min-p": {"min_p": 0.1},
    "xtc": {"xtc_probability": 0.5},
}
STATED = ("logit-bias", "penalties", "top-k", "typical", "top-p", "min-p", "xtc", "temp", "dist")


def test_whatever_is_on_is_there_once_and_in_order(names: Any) -> None:
    for chosen in product((False, True), repeat=len(ON)):
        on = [name for name, wanted in zip(ON, chosen, strict=True) if wanted]
        sampling = replace(WARM, **{key: value for name in on for key, value in ON[name].items()})
        found = names(sampling, excluding=sampling.excludes).split()
        if "typical" in on:
            found.remove("min-p")  # the one that guards it
        assert found == [name for name in STATED if name in (*on, "top-k", "temp", "dist")]


# --- what each does ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", [GREEDY, WARM])
def test_a_bias_forces_a_token_or_forbids_it(rig: Rig, sampling: Sampling) -> None:
    before = answer(rig, sampling)
    gone = before[0]
    without = answer(rig, replace(sampling, logit_bias=((gone, -100.0),)))
    assert gone in before
    assert gone not in without
    assert answer(rig, replace(sampling, logit_bias=((7, 100.0),))) == [7] * LENGTH
    assert answer(rig, replace(sampling, logit_bias=((7, 0.0),))) == before


def test_dry_breaks_a_loop(rig: Rig) -> None:
    loop = replace(GREEDY, logit_bias=((7, 90.0), (8, 70.0), (9, 50.0)))
    assert set(answer(rig, loop)) == {7}
    dry = replace(loop, dry_multiplier=10.0, dry_base=4.0, dry_allowed_length=2)
    dried = answer(rig, dry)
    assert dried[:3] == [7, 7, 7]
    assert not any(dried[at : at + 7] == [7] * 7 for at in range(LENGTH))
    broken = answer(rig, dry, breakers=bytes([0b00000001]))
    assert set(broken) == {7}, "a breaker is never held against the answer"


def test_frequency_counts_how_often(rig: Rig) -> None:
    loop = replace(GREEDY, logit_bias=((7, 30.0), (8, 27.0)))
    assert set(answer(rig, replace(loop, presence_penalty=2.0))) <= {7, 8}
    frequent = answer(rig, replace(loop, frequency_penalty=2.0))
    assert frequent[0] == 7
    assert len(set(frequent)) > 2
    short = answer(rig, replace(loop, frequency_penalty=2.0, repeat_last_n=1))
    assert set(short) <= {7, 8}, "only the last token counts"


@pytest.mark.parametrize(
    "changes",
    [
        {"typical_p": 0.3},
        {"xtc_probability": 0.5, "xtc_threshold": 0.01},
        {"mirostat": 1, "mirostat_tau": 3.0},
        {"mirostat": 2, "mirostat_tau": 3.0},
        {"frequency_penalty": 2.0},
        {"dry_multiplier": 2.0, "dry_allowed_length": 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_seed_gives_the_same_again_and_the_sampler_changes_something(
    rig: Rig, changes: dict[str, Any]
) -> None:
    sampling = replace(WARM, **changes)
    first = answer(rig, sampling)
    assert answer(rig, sampling) == first
    assert answer(rig, replace(sampling, seed=4)) != first
    assert first != answer(rig, WARM)


def test_the_largest_seed_is_a_seed_like_any_other(rig: Rig) -> None:
    for changes in ({}, {"mirostat": 2}):
        largest = replace(WARM, seed=4_294_967_295, **changes)
        assert answer(rig, largest) == answer(rig, largest)


@pytest.mark.parametrize("mirostat", [0, 1, 2])
def test_the_coldest_is_greedy(rig: Rig, mirostat: int) -> None:
    """Also where a division by so little would be infinite."""
    expected = answer(rig, GREEDY)
    for temperature in (1e-4, 1e-30, 1e-42, 5e-324):
        cold = replace(WARM, temperature=temperature, mirostat=mirostat)
        assert answer(rig, cold) == expected


def test_xtc_leaves_out_the_likeliest(rig: Rig) -> None:
    """Of the tokens over the threshold the least likely one stays, every time or never."""
    always = replace(WARM, xtc_probability=1.0, xtc_threshold=0.001, temperature=0.01)
    best, chosen = answer(rig, GREEDY, limit=1), answer(rig, always, limit=1)
    chances = first_chances(rig)
    over = np.flatnonzero(chances >= 0.001)
    assert len(over) > 1
    assert chosen == [int(over[chances[over].argmin()])] != best
    assert answer(rig, replace(always, xtc_probability=0.0), limit=1) == best
    assert answer(rig, replace(always, xtc_threshold=0.51), limit=1) == best


def first_chances(rig: Rig) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """Of the token after the prompt."""
    number = len(rig.steps) + 1
    submit = Submit(number, PROMPT, GREEDY, max_tokens=1, ignore_eos=True, top_logprobs=256)
    rig.engine.submit(submit)
    rig.run()
    (found,) = [out.logprobs for step in rig.steps for out in step.tokens if out.logprobs]
    chances = np.zeros(256, np.float32)
    chances[list(found.tokens)] = np.exp(found.values)
    return chances


def test_typical_leaves_out_what_is_as_likely_as_nothing(rig: Rig) -> None:
    """Also where an ending is forbidden, whose chance of 0 would make all of them meaningless."""
    narrow = replace(WARM, typical_p=1e-6, logit_bias=((1, -100.0),))
    assert answer(rig, narrow) == answer(rig, replace(narrow, seed=99))


# --- neighbours and lives ------------------------------------------------------------------------------------

SAMPLINGS = {
    "bias": replace(WARM, logit_bias=((7, 5.0),)),
    "frequency": replace(WARM, frequency_penalty=1.5, repeat_last_n=8),
    "whole answer": replace(WARM, presence_penalty=1.5, repeat_last_n=WHOLE),
    "dry": replace(WARM, dry_multiplier=2.0, dry_allowed_length=1),
    "dry, greedy": replace(GREEDY, dry_multiplier=9.0, dry_allowed_length=1),
    "typical": replace(WARM, typical_p=0.5),
    "xtc": replace(WARM, xtc_probability=0.5, xtc_threshold=0.02),
    "xtc, often one candidate": replace(
        FILTERED, temperature=2.0, top_p=0.3, xtc_probability=0.5, xtc_threshold=0.02
    ),
    "all": replace(
        ALL, temperature=4.0, xtc_threshold=0.01, dry_multiplier=1.0, frequency_penalty=0.5, seed=5
    ),
}


@pytest.mark.parametrize("name", SAMPLINGS)
def test_an_answer_that_goes_on_in_another_engine_is_the_undisturbed_one(
    name: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    sampling = SAMPLINGS[name]
    # Token by token, both times: in other pieces the sums of what is read are other ones.
    whole = answer(make_rig(tiny_files["attention"], batch=1), sampling)
    assert len(set(whole)) > 2
    for cut in (1, 17, LENGTH - 1):
        again = make_rig(tiny_files["attention"], batch=1)
        tokens = (*PROMPT, *whole[:cut])
        again.engine.submit(
            Submit(1, tokens, sampling, max_tokens=LENGTH - cut, ignore_eos=True, written=cut)
        )
        again.run()
        assert again.tokens(1) == whole[cut:]


@pytest.mark.parametrize("mirostat", [1, 2])
def test_mirostat_goes_on_with_random_numbers_that_it_has_not_used(
    mirostat: int, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    sampling = replace(WARM, mirostat=mirostat)
    rests = []
    for written in (0, 1):
        rig = make_rig(tiny_files["attention"])
        rig.engine.submit(
            Submit(1, PROMPT, sampling, max_tokens=LENGTH, ignore_eos=True, written=written)
        )
        rig.run()
        rests.append(rig.tokens(1))
    assert rests[0] != rests[1]


def test_neighbours_of_every_kind_write_as_they_do_alone(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The logits of each row are replayed: what DRY takes from a row is taken from no other."""
    kinds = [*SAMPLINGS.values(), GREEDY, WARM, replace(WARM, mirostat=2)]
    rig = make_rig(tiny_files["attention"], most_running=len(kinds), pool_tokens=4096)
    for number, sampling in enumerate(kinds, start=1):
        prompt = (number, *PROMPT)
        rig.engine.submit(Submit(number, prompt, sampling, max_tokens=12, ignore_eos=True))
        rig.step()
    rig.run()
    outputs = replay(
        make_rig(tiny_files["attention"], most_running=len(kinds), pool_tokens=4096).backend,
        rig.records(),
    )
    greedy = len(SAMPLINGS) + 1
    own = [logits for sequence, _, logits in outputs if sequence == greedy - 1]
    assert rig.tokens(greedy) == [int(logits.argmax()) for logits in own]


# --- log-probabilities ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sampling", [GREEDY, replace(WARM, dry_multiplier=5.0, frequency_penalty=2.0)]
)
def test_log_probabilities_are_those_of_the_untouched_logits(
    sampling: Sampling, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    rig = make_rig(tiny_files["attention"])
    tokens = answer(rig, sampling, limit=20, top_logprobs=5)
    told = [out.logprobs for step in rig.steps for out in step.tokens]
    outputs = replay(make_rig(tiny_files["attention"]).backend, rig.records())
    assert len(told) == len(outputs) == len(tokens)
    for token, found, (_, _, logits) in zip(tokens, told, outputs, strict=True):
        assert found is not None
        chances = log_softmax(logits)
        assert found.own == chances[token]
        best = sorted(range(len(chances)), key=lambda one: (-chances[one], one))[:5]
        assert found.tokens == tuple(best)
        assert found.values == tuple(float(chances[one]) for one in best)


# --- DRY as llama.cpp has it ---------------------------------------------------------------------------------


def test_dry_costs_what_it_costs_in_llama_cpp(api: Any, tmp_path: Path) -> None:
    """With breakers of one letter; those of several are another matter, see `Sampling`."""
    made = LlamaVocabulary(tiny_vocabulary(tmp_path / "tiny.gguf"))
    breakers = ("\n", "h")
    random = np.random.default_rng(1)
    letters = made.tokenize("hello\nabcing.")
    for allowed, back in ((2, 64), (0, 64), (1, 12), (3, 5)):
        sampling = Sampling(
            dry_multiplier=0.7,
            dry_base=1.6,
            dry_allowed_length=allowed,
            dry_penalty_last_n=back,
            dry_sequence_breakers=breakers,
        )
        texts = (ctypes.c_char_p * 2)(*(text.encode() for text in breakers))
        native = api.llama_sampler_init_dry(made._vocab, 0.7, 1.6, allowed, back, texts, 2)
        ours = Dry(sampling, flags(made.vocabulary, breakers), made.size)
        for token in random.choice(letters, 80).tolist():
            api.llama_sampler_accept(native, token)
            ours.accept(token)
            expected = theirs(api, native, made.size)
            np.testing.assert_allclose(costs(ours, made.size), expected, rtol=1e-4)
        api.llama_sampler_free(native)
    made.close()


def theirs(api: Any, native: Any, size: int) -> "np.ndarray[Any, Any]":
    data = (api.llama_token_data * size)()
    table = np.ctypeslib.as_array(data)
    table["id"] = np.arange(size)
    candidates = api.llama_token_data_array(data, size, -1, False)
    api.llama_sampler_apply(native, ctypes.byref(candidates))
    return -table["logit"]


def costs(dry: Dry, size: int) -> "np.ndarray[Any, Any]":
    logits = np.zeros(size, np.float32)
    dry.penalise(logits)
    return -logits


def test_a_talker_writes_with_every_sampler(tmp_path: Path, make_rig: MakeRig) -> None:
    rig = make_rig(tiny_models.talker(tmp_path / "talker.gguf"))
    for sampling in SAMPLINGS.values():
        assert len(answer(rig, sampling, limit=5)) == 5
