"""An answer that goes on in another engine keeps its penalties and its random draws, on real models."""

from pathlib import Path

import pytest

from app.wire import Sampling, Submit
from tests import tiny_models
from tests.engine.conftest import MakeRig, Rig

PROMPT = tuple(range(20, 60))
LENGTH = 60
CUTS = (1, 17, 59)

SAMPLINGS = {
    "seeded": Sampling(temperature=0.8, seed=42),
    "one candidate": Sampling(temperature=0.8, top_k=1, seed=42),
    "penalised": Sampling(temperature=0.8, repeat_penalty=1.4, presence_penalty=1.0, seed=7),
    "greedy, penalised": Sampling(temperature=0, repeat_penalty=1.4, presence_penalty=1.0),
    "hot": Sampling(temperature=1.5, top_k=0, top_p=1, min_p=0, seed=3),
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


@pytest.mark.parametrize("kind", tuple(tiny_models.KINDS))
@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_resumed_answer_is_the_undisturbed_one(
    kind: str, name: str, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    submit = Submit(1, PROMPT, SAMPLINGS[name], max_tokens=LENGTH, ignore_eos=True)
    whole = answer(make_rig(tiny_files[kind]), submit)
    assert len(set(whole)) > 5
    for cut in CUTS:
        again = make_rig(tiny_files[kind])
        assert answer(again, rest(submit, whole[:cut])) == whole[cut:]


def test_the_count_of_what_was_written_is_what_makes_it_so(
    tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    """The same prompt as a request of its own begins with the first random number, and penalises nothing."""
    for name in ("seeded", "penalised", "greedy, penalised", "hot"):
        submit = Submit(1, PROMPT, SAMPLINGS[name], max_tokens=LENGTH, ignore_eos=True)
        whole = answer(make_rig(tiny_files["attention"]), submit)
        anew = Submit(
            1, (*PROMPT, *whole[:17]), SAMPLINGS[name], max_tokens=LENGTH - 17, ignore_eos=True
        )
        assert answer(make_rig(tiny_files["attention"]), anew) != whole[17:]
