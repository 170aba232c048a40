"""An answer that is cut and goes on in another engine is the one that was never cut; on the fake backend."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.fake import FakeBackend
from app.sampling import Sampling
from app.wire import FinishReason, Submit
from tests.engine_run import finish, make_run

LENGTH = 30


def written(submit: Submit) -> list[int]:
    run = make_run(FakeBackend(cells=200))
    run.engine.submit(submit)
    finish(run)
    assert run.ends[submit.request_id].reason is FinishReason.LENGTH
    return run.tokens[submit.request_id]


@given(
    prompt=st.lists(st.integers(1, 63), min_size=1, max_size=20).map(tuple),
    cuts=st.lists(st.integers(1, LENGTH - 1), max_size=4, unique=True).map(sorted),
    sampling=st.builds(
        Sampling,
        temperature=st.sampled_from([0.0, 0.8]),
        repeat_penalty=st.sampled_from([1.0, 1.3]),
        presence_penalty=st.sampled_from([0.0, 1.5]),
        frequency_penalty=st.sampled_from([0.0, 0.5]),
        dry_multiplier=st.sampled_from([0.0, 0.8]),
        seed=st.integers(0, 99),
    ),
)
def test_an_answer_goes_on_as_if_it_had_never_been_cut(
    prompt: tuple[int, ...], cuts: list[int], sampling: Sampling
) -> None:
    whole = Submit(1, prompt, sampling, max_tokens=LENGTH, ignore_eos=True)
    expected = written(whole)
    got: list[int] = []
    for cut in (*cuts, LENGTH):
        part = replace(whole, tokens=(*prompt, *got), written=len(got), max_tokens=cut - len(got))
        got += written(part)
    assert got == expected


@pytest.mark.parametrize("count", [-1, 3, 4])
def test_more_written_than_there_is_is_refused(count: int) -> None:
    run = make_run(FakeBackend())
    run.engine.submit(Submit(1, (1, 2, 3), Sampling(), written=count))
    finish(run)
    assert run.ends[1].reason is FinishReason.ERROR
