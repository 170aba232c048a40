"""Case 20: with a template that insists on taking turns and takes no system prompt, every conversation is answered.

Which arrangement is found is in `tests/unit/test_text_formats.py`; what a stop leaves behind in `tests/unit/test_chat_turns.py`.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_models
from tests.cases.whole import RealModel, pieces, served

pytestmark = pytest.mark.slow

STRICT = (
    "{% for m in messages %}{% if m.role == 'system' or (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('take turns') }}{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
SHAPES = {
    "a system prompt": ("s:be kind", "u:aa"),
    "stopped before the first token": ("s:be kind", "u:aa", "u:bb"),
    "an answer deleted in the middle": ("s:be kind", "u:aa", "u:bb", "a:zz", "u:cc"),
    "two answers in a row": ("u:aa", "a:yy", "a:zz", "u:bb"),
    "the assistant speaks first": ("a:hello", "u:aa"),
    "two questions of a program": ("u:aa", "u:bb"),
    "a system prompt in the middle": ("u:aa", "a:zz", "s:be kind", "u:bb"),
}
ROLES = {"s": "system", "u": "user", "a": "assistant"}


def test_every_conversation_is_answered(tmp_path: Path) -> None:
    path = tiny_models.talker(tmp_path / "strict.gguf", template=STRICT)

    async def scenario() -> None:
        async with RealModel(path) as model, served(model) as api:
            for name, shape in SHAPES.items():
                lines: list[dict[str, Any]] = [
                    {"role": ROLES[line[0]], "content": line[2:]} for line in shape
                ]
                reply = await api.post({"messages": lines, "max_tokens": 2})
                assert reply.status == 200, (name, reply.body)
                assert reply.json["choices"][0]["message"]["content"]
                prompt = pieces(model).join(model.prompts.asked[-1].tokens).decode()
                places = [prompt.index(line["content"]) for line in lines]
                assert places == sorted(places), name

    asyncio.run(scenario())
