"""Case 10: a template that rewrites old answers; what two prompts have in common is read once all the same."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.chat.models import ChatMessage, Role
from app.engine.prefix import common_prefix
from tests import tiny_models
from tests.cases.whole import RealModel, user
from tests.engine.conftest import MakeRig
from tests.gui.desk import Desk
from tests.replaying import Replay, moments, read_log, read_with_cuts

pytestmark = pytest.mark.slow

TURNS = 10
THOUGHT = 100
BATCH = 64
CLOSE = 0.75
"""Between logits whose best is 20 above the mean: in a pool with holes the same cells are added up in another order."""
FORGETFUL = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}{{ message['content'].split('</think>')[-1] }}"
    "{% else %}{{ message['content'] }}{% endif %}{{ '<|im_end|>' + '\n' }}{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)
"""Of an answer, only what comes after its thoughts is shown again."""


@pytest.mark.parametrize("kind", tiny_models.KINDS)
def test_what_two_prompts_begin_with_is_read_once(
    kind: str, at_work: Callable[..., None], tmp_path: Path, decode_log: Path, make_rig: MakeRig
) -> None:
    path = tiny_models.talker(tmp_path / "forgetful.gguf", kind, template=FORGETFUL)
    model = RealModel(path, batch=BATCH, pool_tokens=4096)

    async def scenario(_: Desk, model: RealModel) -> None:
        lines: list[ChatMessage] = []
        cached = []
        for turn in range(TURNS):
            lines.append(user(f"question {turn}"))
            told = await model.ask(*lines, tokens=THOUGHT, owner=1)
            assert len(told.text) == THOUGHT
            cached.append(told.end.usage.cached_tokens)
            lines.append(ChatMessage(Role.ASSISTANT, f"{told.text}</think>answer {turn}"))
        prompts = [np.array(submit.tokens) for submit in model.prompts.asked]
        for before, after, reused in zip(prompts, prompts[1:], cached[1:], strict=False):
            common = common_prefix(before, after)
            # The thoughts are gone, and all before them is there.
            assert common == len(before)
            assert len(after) < len(before) + 60
            assert reused >= common - BATCH
            assert reused >= common - 1, "one token at most is read twice"

    at_work(scenario, model)
    facts = {"pool_tokens": 4096, "batch": BATCH, "most_running": 8}
    records = read_log(decode_log)
    again = Replay(make_rig(path, **facts).backend).run(records)
    assert again.chosen == again.told
    firsts = {tuple(submit.tokens) for submit in model.prompts.asked}
    compared = 0
    for moment, output in zip(moments(records), again.outputs, strict=True):
        if moment.tokens in firsts:
            logits = read_with_cuts(make_rig(path, **facts).backend, moment.tokens, moment.cuts)
            assert np.abs(logits - output[2]).max() < CLOSE
            compared += 1
    assert compared == TURNS
