"""What was fed comes back as it was, takes the room of the last prompt only, and goes with its message."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from app.chat.models import Role, Status
from app.errors import StoreError
from app.prompting import FedPrompt
from app.store.conversations import SqliteStore, open_store

Scenario = Callable[[SqliteStore, list[int]], Awaitable[None]]


@pytest.fixture
def with_answers(tmp_path: Path) -> Callable[[Scenario], Path]:
    """Run a scenario on a store with four answers in one chat."""
    path = tmp_path / "chats.db"

    def run(scenario: Scenario) -> Path:
        async def main() -> None:
            store = await open_store(path)
            try:
                chat = (await store.create_conversation()).id
                answers = [
                    (await store.add_message(chat, Role.ASSISTANT, "x", Status.DONE)).id
                    for _ in range(4)
                ]
                await scenario(store, answers)
            finally:
                await store.close()

        asyncio.run(main())
        return path

    return run


async def keep(store: SqliteStore, number: int, prompt: FedPrompt) -> None:
    """End the answer of this number, with what was fed for it."""
    await store.finish_message(number, "x", Status.DONE, prompt=prompt)


def fed(*tokens: int, model: str = "f00d") -> FedPrompt:
    return FedPrompt(model, tokens)


def test_every_prompt_comes_back_whatever_it_shares(
    with_answers: Callable[[Scenario], Path],
) -> None:
    prompts = [fed(1, 2, 3), fed(1, 2, 3, 4, 5), fed(1, 2, 9, 5), fed(7)]

    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        for number, prompt in zip(answers, prompts, strict=True):
            await keep(store, number, prompt)
        assert [await store.prompt(number) for number in answers] == prompts
        await keep(store, answers[3], prompts[1])
        assert await store.prompt(answers[3]) == prompts[1]

    with_answers(scenario)


def test_a_long_chat_takes_no_more_than_its_last_prompt(
    with_answers: Callable[[Scenario], Path],
) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        for length, number in enumerate(answers, start=1):
            await keep(store, number, fed(*range(10_000 * length)))

    path = with_answers(scenario)
    with closing(sqlite3.connect(path)) as db:
        (size,) = db.execute("SELECT sum(length(rest)) FROM prompts").fetchone()
    assert size == 4 * 40_000


def test_tokens_of_two_models_are_never_mixed(with_answers: Callable[[Scenario], Path]) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        prompts = [fed(1, 2), fed(1, 2, model="beef"), fed(1, 2, 3), fed(1, 5, model="beef")]
        for number, prompt in zip(answers, prompts, strict=True):
            await keep(store, number, prompt)
        assert [await store.prompt(number) for number in answers] == prompts

    with_answers(scenario)


def test_a_prompt_whose_beginning_was_lost_is_not_known(
    with_answers: Callable[[Scenario], Path],
) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        for number in answers[:3]:
            await keep(store, number, fed(1, 2, 3, number))
        await store._write("DELETE FROM prompts WHERE message_id = ?", answers[1])
        assert await store.prompt(answers[0]) is not None
        assert await store.prompt(answers[1]) is None
        assert await store.prompt(answers[2]) is None
        assert await store.prompt(999) is None

    with_answers(scenario)


def test_a_long_chain_is_read_whole_and_from_every_link(
    with_answers: Callable[[Scenario], Path],
) -> None:
    random = Random(7)

    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        (chat,) = await store.conversations()
        prompts: dict[int, FedPrompt] = {}
        tokens: list[int] = []
        for _ in range(60):
            tokens = tokens[: random.randint(0, len(tokens))] if random.random() < 0.3 else tokens
            tokens = tokens + random.choices(range(9), k=random.randint(0, 8))
            row = await store.add_message(chat.id, Role.ASSISTANT, "", Status.STREAMING)
            prompts[row.id] = fed(*tokens)
            await keep(store, row.id, prompts[row.id])
        for number, prompt in prompts.items():
            assert await store.prompt(number) == prompt

    with_answers(scenario)


@pytest.mark.parametrize("rest", [b"", b"\0\0\0\0", b"odd"])
def test_a_prompt_whose_beginning_became_shorter_is_not_known(
    with_answers: Callable[[Scenario], Path], rest: bytes
) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        for number in answers[:3]:
            await keep(store, number, fed(1, 2, 3, number))
        await store._write("UPDATE prompts SET rest = ? WHERE message_id = ?", rest, answers[0])
        assert await store.prompt(answers[1]) is None
        assert await store.prompt(answers[2]) is None

    with_answers(scenario)


def test_it_goes_with_its_message(with_answers: Callable[[Scenario], Path]) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        for number in answers:
            await keep(store, number, fed(1, number))
        (chat,) = await store.conversations()
        await store.delete_messages_from(chat.id, answers[2])
        assert await store.prompt(answers[1]) == fed(1, answers[1])
        with pytest.raises(StoreError):
            await keep(store, answers[2], fed(5))
        assert await store.prompt(answers[2]) is None
        await store.delete_conversation(chat.id)

    path = with_answers(scenario)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM prompts").fetchone() == (0,)


def test_an_answer_is_kept_where_its_prompt_cannot_be(
    with_answers: Callable[[Scenario], Path], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        await store._write("ALTER TABLE prompts RENAME TO others")
        await store.finish_message(answers[0], "the answer", Status.DONE, prompt=fed(1, 2))
        (chat,) = await store.conversations()
        assert (await store.messages(chat.id))[0].text == "the answer"
        await store._write("ALTER TABLE others RENAME TO prompts")
        assert await store.prompt(answers[0]) is None

    with_answers(scenario)
    assert "a prompt was not kept" in caplog.text


def test_it_is_kept_in_the_same_change_as_the_answer(
    with_answers: Callable[[Scenario], Path],
) -> None:
    async def changes(store: SqliteStore) -> int:
        (row,) = await store._rows("SELECT changes FROM meta")
        return int(row[0])

    async def scenario(store: SqliteStore, answers: list[int]) -> None:
        before = await changes(store)
        await keep(store, answers[0], fed(1, 2))
        assert await changes(store) == before + 1
        assert await store.prompt(answers[0]) == fed(1, 2)

    with_answers(scenario)
