"""An answer that goes on in another engine keeps its penalties and its random draws, on real models."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.sampling import Sampling
from app.wire import Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig

PROMPT = tuple(range(20, 60))
LENGTH = 60
CUTS = (1, 17, 59)

# The tiny models are sure of themselves: it takes much heat, or much of a penalty, for other tokens than the best.
WIDE = Sampling(temperature=12.0, top_k=0, top_p=1, min_p=0, seed=42)
SAMPLINGS = {
    "seeded": WIDE,
    "few candidates": replace(WIDE, top_k=3),
    "sometimes one candidate": replace(WIDE, temperature=3.0, top_p=0.5),
    "penalised": replace(WIDE, repeat_penalty=1.4, presence_penalty=4.0, seed=7),
    "greedy, penalised": Sampling(temperature=0, repeat_penalty=3.0, presence_penalty=9.0),
}


def answer(rig: Rig, submit: Submit) -> list[int]:
    rig.engine.submit(submit)
    rig.run()
    return rig.tokens(submit.request_id)


def rest(submit: Submit, written: list[int]) -> Submit:
    """What the client asks of the next engine."""
    return Submit(
        submit.request_id,
        (*submit.tokens, *written),
        submit.sampling,
        max_tokens=LENGTH - len(written),
        ignore_eos=True,
        written=len(written),
    )


@pytest.mark.parametrize("kind", tiny_models.KINDS)
@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_resumed_answer_is_the_undisturbed_one(
    kind: str, name: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    submit = Submit(1, PROMPT, SAMPLINGS[name], max_tokens=LENGTH, ignore_eos=True)
    whole = answer(make_rig(tiny_files[kind], batch=1), submit)
    assert len(set(whole)) > 3 or name == "sometimes one candidate"
    for cut in CUTS:
        # Token by token, both times: in other pieces the sums are other ones, and with heat another token may be chosen
        # by rounding alone.
        again = make_rig(tiny_files[kind], batch=1)
        assert answer(again, rest(submit, whole[:cut])) == whole[cut:]


def test_the_count_of_what_was_written_is_what_makes_it_so(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The same prompt as a request of its own begins with the first random number; for the penalties it counts all the same."""
    for name in ("seeded", "few candidates", "penalised", "greedy, penalised"):
        submit = Submit(1, PROMPT, SAMPLINGS[name], max_tokens=LENGTH, ignore_eos=True)
        whole = answer(make_rig(tiny_files["attention"]), submit)
        anew = Submit(
            1, (*PROMPT, *whole[:17]), SAMPLINGS[name], max_tokens=LENGTH - 17, ignore_eos=True
        )
        again = answer(make_rig(tiny_files["attention"]), anew)
        assert (again == whole[17:]) is (name == "greedy, penalised")


@pytest.mark.model
@pytest.mark.slow
def test_a_resumed_answer_of_the_starter_model_is_the_undisturbed_one(
    starter: Path, make_rig: MakeRig
) -> None:
    sampling = Sampling(temperature=0.8, repeat_penalty=1.1, presence_penalty=0.5, seed=7)
    submit = Submit(1, PROMPT, sampling, max_tokens=LENGTH, ignore_eos=True)
    whole = answer(make_rig(starter, batch=1, threads=2), submit)
    again = make_rig(starter, batch=1, threads=2)
    assert answer(again, rest(submit, whole[:17])) == whole[17:]
