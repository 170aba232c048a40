"""A chat of the window goes on after a restart without being read again, and leaves nothing when it is deleted."""

import asyncio
from pathlib import Path

from app.chat.models import ChatMessage, Role, Usage
from app.chat.ports import Ended, Request, Text
from app.client.local import LocalModel
from app.client.memories import Memories
from app.sampling import Sampling
from app.wire import LoadParams
from tests.scripted_children import begin

QUESTION = ChatMessage(Role.USER, "Tell me a long tale of the river, the lamp and the garden. " * 3)


async def ask(
    model: LocalModel, messages: tuple[ChatMessage, ...], owner: int
) -> tuple[str, Usage]:
    """The answer and its usage."""
    request = Request(messages, Sampling(temperature=0), 12, ignore_eos=True, owner=owner)
    text = ""
    async for event in model.generate(request):
        if isinstance(event, Text):
            text += event.text
        elif isinstance(event, Ended):
            return text, event.usage
    raise AssertionError("no end")


def params(path: str, folder: Path) -> LoadParams:
    return LoadParams(
        path, pool_tokens=1024, sequences=4, batch=128, threads=1, states_folder=str(folder)
    )


def test_the_next_start_reads_only_what_is_new(talker: Path, tmp_path: Path) -> None:
    folder = tmp_path / "states"

    async def first_start() -> str:
        model = LocalModel(lambda path: params(path, folder))
        await model.load(str(talker))
        text, _ = await ask(model, (QUESTION,), owner=5)
        await model.close()
        return text

    async def second_start() -> Usage:
        model = LocalModel(lambda path: params(path, folder))
        await model.load(str(talker))
        _, usage = await ask(model, (QUESTION, ChatMessage(Role.USER, "And then?")), owner=5)
        await model.close()
        return usage

    assert asyncio.run(first_start())
    assert [path.name.split("-")[0] for path in folder.glob("*/*.state")] == ["5"]
    usage = asyncio.run(second_start())
    # All of the first message, which is most of the prompt, came from the disk.
    assert usage.cached_tokens > 0.7 * usage.prompt_tokens


def test_a_deleted_chat_leaves_no_file_whether_its_model_is_loaded_or_not(
    talker: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "states"

    async def scenario() -> None:
        model = LocalModel(lambda path: params(path, folder), memories=Memories(str(folder)))
        await model.load(str(talker))
        for owner in (1, 2):
            message = ChatMessage(Role.USER, f"{owner} {QUESTION.content}")
            await ask(model, (message,), owner=owner)
        await model.forget(1)
        await model.unload()
        assert {path.name[0] for path in folder.glob("*/*.state")} == {"2"}
        await model.forget(2)
        await ask(model, (QUESTION,), owner=3)
        unloading = begin(model.unload())
        await asyncio.sleep(0)
        await model.forget(3)
        await unloading
        assert list(folder.glob("*/*.state")) == []
        await model.close()

    asyncio.run(scenario())
    assert list(folder.glob("*/*.state")) == []
