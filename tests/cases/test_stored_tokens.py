"""A chat goes on with the tokens that were fed, after a restart of the app as well, and the engine finds its own text."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.chat.models import ChatMessage, Message, Role
from app.chat.turns import ChatService
from app.sampling import Sampling
from app.settings import Settings
from app.store.conversations import database_path, open_store
from tests.cases.whole import RealModel, pieces, until, user
from tests.tiny_models import talker as write_talker
from tests.tiny_text import CHATML

QUESTION = "Tell me a long tale of the river, the lamp and the garden. " * 2
HOT = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=3)
"""With random weights and few letters this writes tokens that nobody would read in such a text."""
KEEPS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
STRIPS = CHATML.replace("message['content']", "message['content'].split('</think>')[-1]")


@asynccontextmanager
async def app_run(model: Path, states: Path):
    """One life of the app, without its window: the store, the service, the model."""
    general = Settings(sampling=HOT, max_answer_tokens=24)
    store = await open_store(database_path())
    generator = RealModel(model, states_folder=str(states), threads=1, pool_tokens=2048)
    service = ChatService(store, generator, lambda: general)
    try:
        await generator.open()
        yield service, store, generator
    finally:
        await service.close()
        await generator.close()
        await store.close()


async def ask(service: ChatService, store, chat: int, text: str) -> Message:
    assert await service.send(chat, text)
    await until(lambda: not service.turn(chat).busy, "the end of the turn")
    return (await store.messages(chat))[-1]


def test_after_a_restart_only_what_is_new_is_read(tmp_path: Path) -> None:
    states = tmp_path / "states"
    talker = write_talker(tmp_path / "talker.gguf", letters="hel")

    async def first() -> tuple[int, tuple[int, ...], Message]:
        async with app_run(talker, states) as (service, store, generator):
            chat = (await service.create()).id
            answer = await ask(service, store, chat, QUESTION)
            prompt = generator.prompts.asked[0].tokens
            assert answer.text
            assert pieces(generator).join(answer.ids).decode(errors="replace") == answer.text
            return chat, prompt, answer

    async def second(chat: int, prompt: tuple[int, ...], answer: Message) -> None:
        async with app_run(talker, states) as (service, store, generator):
            goes_on = await ask(service, store, chat, "And then?")
            asked = generator.prompts.asked[0].tokens
            fed = prompt + answer.ids
            assert asked[: len(fed)] == fed
            # The answer's last token was never read by anybody; that one and the new message are all that is.
            assert goes_on.usage.cached_tokens >= len(fed) - 1
            canonical = await generator.count_tokens(answer.text)
            assert canonical != len(answer.ids), "the test needs an answer that reads otherwise"

    asyncio.run(second(*asyncio.run(first())))


def test_a_client_of_the_api_goes_on_with_them_when_its_model_was_loaded_again(
    talker: Path,
) -> None:
    async def scenario() -> None:
        async with RealModel(talker, threads=1, pool_tokens=2048) as model:
            told = await model.ask(user(QUESTION), tokens=24, sampling=HOT)
            fed = model.fed(told.text)
            assert fed
            await model.unload()
            await model.open()
            await model.ask(
                user(QUESTION), ChatMessage(Role.ASSISTANT, told.text), user("And then?")
            )
            before, after = model.prompts.asked
            assert after.tokens[: len(before.tokens) + len(fed)] == before.tokens + fed

    asyncio.run(scenario())


def test_what_a_deleted_chat_wrote_is_forgotten(talker: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with app_run(talker, tmp_path / "states") as (service, store, generator):
            chat = (await service.create()).id
            answer = await ask(service, store, chat, QUESTION)
            assert generator.fed(answer.text)
            await service.delete(chat)
            assert not generator.fed(answer.text)

    asyncio.run(scenario())


@pytest.mark.parametrize("template", [STRIPS, KEEPS])
def test_case_10_templates_that_strip_reasoning_keep_their_prefix_where_they_allow_it(
    tmp_path: Path, template: str
) -> None:
    """Ten turns whose answers hold a thought; of each prompt all is reused that the one before has."""
    path = write_talker(tmp_path / "talker.gguf", template=template)

    async def scenario() -> None:
        async with RealModel(path, threads=1, pool_tokens=8192, batch=64) as model:
            lines: list[ChatMessage] = []
            before: tuple[int, ...] = ()
            for turn in range(10):
                lines.append(user(f"question {turn}"))
                told = await model.ask(*lines, tokens=12, sampling=HOT)
                prompt = model.prompts.asked[-1].tokens
                common = next(
                    (place for place, pair in enumerate(zip(before, prompt, strict=False))
                     if pair[0] != pair[1]),
                    min(len(before), len(prompt)),
                )  # fmt: skip
                if turn:
                    assert told.end.usage.cached_tokens >= common - 1
                before = prompt + model.fed(told.text)
                thought = "of many words " * 5
                lines.append(ChatMessage(Role.ASSISTANT, told.text, reasoning=thought))

    asyncio.run(scenario())
