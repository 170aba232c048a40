"""Case 14: three chats with samplings of their own, begun apart: each gets its own rows, seed and history."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from app.sampling import Sampling
from app.wire import Submit
from tests.engine.conftest import MakeRig, Rig
from tests.replaying import Replay, assert_same_bits, family, replay, swapped

pytestmark = pytest.mark.slow

SAMPLINGS = {
    1: Sampling(temperature=0),
    2: Sampling(temperature=1.5, top_k=40, presence_penalty=2.0, seed=7),
    3: Sampling(temperature=0.8, seed=42),
}
WRITTEN = 40
TIMES = 10


def submit(number: int) -> Submit:
    # Prompts of one length, in one chunk, so that alone and together the calls are cut alike.
    prompt = tuple(range(number * 10, number * 10 + 12))
    return Submit(number, prompt, SAMPLINGS[number], max_tokens=WRITTEN, ignore_eos=True)


def together(rig: Rig, delays: Iterable[int]) -> None:
    for number, delay in zip(SAMPLINGS, delays, strict=True):
        for _ in range(delay):
            rig.step()
        rig.engine.submit(submit(number))
    rig.run()


def check_rows(records: list[dict[str, Any]]) -> int:
    """Every row that was sampled from had its output flag set in the last call; how many were sampled."""
    outputs: list[int] = []
    sampled = 0
    for record in records:
        if "decode" in record:
            outputs = record["decode"]["outputs"]
        elif "sample" in record:
            assert outputs[record["row"]] == 1
            sampled += 1
        elif "argmax" in record:
            assert max(record["argmax"]) < sum(outputs)
            sampled += len(record["tokens"])
    return sampled


@pytest.mark.parametrize("round_number", range(TIMES))
def test_each_gets_its_own(
    round_number: int, tiny_files: dict[str, Path], make_rig: MakeRig
) -> None:
    path = tiny_files["attention"]
    rig = make_rig(path)
    delays = (0, round_number % 6, (round_number * 3 + 1) % 6)
    together(rig, delays)
    records = rig.records()
    assert check_rows(records) == len(SAMPLINGS) * WRITTEN
    # The same seeds give the same tokens, for all three.
    again = Replay(make_rig(path).backend).run(records)
    assert again.chosen == again.told
    # With the neighbours' tokens replaced, logits and tokens of each stay what they were.
    for sequence in range(len(SAMPLINGS)):
        rewrite = swapped(family(records, sequence), 256)
        other = replay(make_rig(path).backend, records, rewrite)
        assert assert_same_bits(again.outputs, other, sequence) == WRITTEN
    # History: a sampler that has seen nobody else's rows chooses the same from the same logits.
    for number in (2, 3):
        assert chosen_alone(make_rig(path), records, number - 1) == rig.tokens(number)


def chosen_alone(rig: Rig, records: list[dict[str, Any]], sampler: int) -> list[int]:
    """What the sampler of this number chooses where only its own draws are done."""
    own = [
        record
        for record in records
        if record.get("sampler", sampler) == sampler
        and record.get("sample", sampler) == sampler
        and "argmax" not in record
    ]
    alone = Replay(rig.backend).run(own)
    return alone.chosen
