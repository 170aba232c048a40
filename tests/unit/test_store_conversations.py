"""The chats on disk: what is put in comes out, and only clean text is in."""

import asyncio
import itertools
import sqlite3
import stat
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.chat.models import (
    ConversationSettings,
    FinishReason,
    Role,
    Sampling,
    Status,
    Summary,
    Usage,
)
from app.errors import StoreError
from app.store import rows
from app.store.conversations import SqliteStore, open_store
from app.store.database import Database
from app.store.migrations import STEPS

Scenario = Callable[[SqliteStore], Awaitable[None]]


def with_store(path: Path, scenario: Scenario) -> None:
    async def main() -> None:
        ticks = itertools.count(1)
        store = await open_store(path, clock=lambda: float(next(ticks)))
        try:
            await scenario(store)
        finally:
            await store.close()

    asyncio.run(main())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


def test_a_new_file_is_private_and_has_no_problems(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        assert store.problems == ()
        await store.create_conversation()
        if sys.platform != "win32":
            for file in path.parent.iterdir():
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name

    with_store(path, scenario)


def test_a_turn_comes_back_as_it_was_stored(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        question = await store.add_message(chat.id, "user", "why?", Status.DONE)
        answer = await store.add_message(chat.id, Role.ASSISTANT, "", Status.STREAMING)
        await store.checkpoint(answer.id, "Be", "Let me")
        halfway = (await store.messages(chat.id))[1]
        assert (halfway.text, halfway.reasoning, halfway.ids) == ("Be", "Let me", ())
        finished = await store.finish_message(
            answer.id,
            "Because.",
            Status.DONE,
            finish=FinishReason.LENGTH,
            usage=Usage(10, 2, 3),
            seconds=1.5,
            reasoning="Let me see.\x00",
            thought_seconds=0.5,
            ids=(3, 0, 2**31 - 1),
            reasoning_ids=range(100_000),
        )
        assert (finished.reasoning, finished.thought_seconds) == ("Let me see.\ufffd", 0.5)
        assert finished.ids == (3, 0, 2**31 - 1)
        assert finished.reasoning_ids == tuple(range(100_000))
        assert finished.usage == Usage(10, 2, 3)
        assert finished.finish is FinishReason.LENGTH
        assert list(await store.messages(chat.id)) == [question, finished]
        await store.checkpoint(answer.id, "too late")
        assert (await store.messages(chat.id))[1].text == "Because."

    with_store(path, scenario)


def test_chats_are_listed_by_their_newest_message(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        first = await store.create_conversation()
        second = await store.create_conversation()
        assert [chat.id for chat in await store.conversations()] == [second.id, first.id]
        await store.add_message(first.id, Role.USER, "hi", Status.DONE)
        await store.set_draft(second.id, "half a thought")
        assert [chat.id for chat in await store.conversations()] == [first.id, second.id]

    with_store(path, scenario)


def test_what_a_chat_has_of_its_own(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        sampling = Sampling(temperature=0.0, logit_bias=((5, -1.5),), dry_multiplier=0.8, seed=7)
        settings = ConversationSettings("Be brief.", sampling, 100)
        await store.rename(chat.id, "Title")
        await store.set_draft(chat.id, "draft")
        await store.set_unread(chat.id, True)
        await store.set_settings(chat.id, settings)
        kept = await store.conversation(chat.id)
        assert kept is not None
        assert (kept.title, kept.draft, kept.unread, kept.settings) == (
            "Title",
            "draft",
            True,
            settings,
        )
        await store.set_settings(chat.id, ConversationSettings(system_prompt=""))
        kept = await store.conversation(chat.id)
        assert kept is not None
        assert kept.settings == ConversationSettings(system_prompt="")

    with_store(path, scenario)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ConversationSettings()),
        ("[]", ConversationSettings()),
        ('{"a":', ConversationSettings()),
        ('{"system_prompt": 5, "max_answer_tokens": -1, "sampling": []}', ConversationSettings()),
        (
            '{"max_answer_tokens": 12, "sampling": {"temperature": "hot", "top_k": 3, "min_p": NaN}}',
            ConversationSettings(None, Sampling(top_k=3), 12),
        ),
        ('{"max_answer_tokens": true}', ConversationSettings()),
        (
            '{"sampling": {"temperature": 0.5, "top_k": 40, "repeat_penalty": 1.0, "seed": null}}',
            ConversationSettings(sampling=Sampling(temperature=0.5)),
        ),
        (
            '{"sampling": {"mirostat": 3, "logit_bias": [[5, 1e9]], "typical_p": 0.5}}',
            ConversationSettings(sampling=Sampling(typical_p=0.5)),
        ),
        ('{"system_prompt": "a\\ud83db"}', ConversationSettings("a\ufffdb")),
    ],
)
def test_wrong_settings_fall_back_one_by_one(
    path: Path, text: str, expected: ConversationSettings
) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE conversations SET settings = ?", (text,))
        kept = await store.conversation(chat.id)
        assert kept is not None
        assert kept.settings == expected

    with_store(path, scenario)


@pytest.mark.parametrize("bad", ["a\ud83db", "\udc81", "before\x00after", "\x00" * 1000, "\r\n"])
def test_text_is_made_clean_at_the_entrance(path: Path, bad: str) -> None:
    async def scenario(store: SqliteStore) -> None:
        good = bad.replace("\r\n", "\n")
        good = "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in good)
        chat = await store.create_conversation()
        await store.rename(chat.id, bad)
        await store.set_draft(chat.id, bad)
        await store.add_message(chat.id, Role.USER, bad, Status.DONE)
        answer = await store.add_message(chat.id, Role.ASSISTANT, "", Status.STREAMING)
        await store.checkpoint(answer.id, bad)
        assert (await store.messages(chat.id))[1].text == good
        await store.finish_message(answer.id, bad, Status.FAILED, error=bad)
        kept = await store.conversation(chat.id)
        assert kept is not None
        assert (kept.title, kept.draft) == (good, good)
        question, answer = await store.messages(chat.id)
        assert (question.text, answer.text, answer.error) == (good, good, good)

    with_store(path, scenario)


def test_messages_are_deleted_to_the_end_of_their_own_chat(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        one, other = await store.create_conversation(), await store.create_conversation()
        kept = await store.add_message(one.id, Role.USER, "a", Status.DONE)
        cut = await store.add_message(one.id, Role.ASSISTANT, "b", Status.DONE)
        await store.add_message(one.id, Role.USER, "c", Status.DONE)
        neighbour = await store.add_message(other.id, Role.USER, "d", Status.DONE)
        await store.delete_messages_from(one.id, cut.id)
        assert list(await store.messages(one.id)) == [kept]
        assert list(await store.messages(other.id)) == [neighbour]

    with_store(path, scenario)


def test_ids_are_never_given_twice(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        message = await store.add_message(chat.id, Role.USER, "a", Status.DONE)
        await store.delete_conversation(chat.id)
        following = await store.create_conversation()
        assert following.id > chat.id
        assert (await store.add_message(following.id, Role.USER, "b", Status.DONE)).id > message.id

    with_store(path, scenario)


def test_a_chat_that_is_gone(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        answer = await store.add_message(chat.id, Role.ASSISTANT, "", Status.STREAMING)
        await store.delete_conversation(chat.id)
        await store.set_draft(chat.id, "late")
        await store.checkpoint(answer.id, "late")
        assert await store.conversation(chat.id) is None
        assert list(await store.messages(chat.id)) == []
        with pytest.raises(StoreError, match="deleted"):
            await store.add_message(chat.id, Role.USER, "late", Status.DONE)
        with pytest.raises(StoreError, match="deleted"):
            await store.finish_message(answer.id, "late", Status.DONE)

    with_store(path, scenario)


def test_what_is_deleted_is_gone_from_every_file(path: Path) -> None:
    secret = "a secret that nobody may read again"

    async def write(store: SqliteStore) -> None:
        await store.add_message(
            (await store.create_conversation()).id, Role.USER, secret, Status.DONE
        )
        await store.add_message(
            (await store.create_conversation()).id, Role.USER, "kept", Status.DONE
        )

    async def delete(store: SqliteStore) -> None:
        backup = path.with_name("chats.backup.db")
        assert secret.encode() in backup.read_bytes()
        before = backup.stat().st_mtime_ns
        await store.delete_conversation(1)
        for file in path.parent.iterdir():
            assert secret.encode() not in file.read_bytes(), file.name
        assert b"kept" in backup.read_bytes()
        assert backup.stat().st_mtime_ns == before

    with_store(path, write)
    with_store(path, delete)


def test_an_interrupted_answer_is_kept_and_marked(path: Path) -> None:
    async def die(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        answer = await store.add_message(chat.id, Role.ASSISTANT, "", Status.STREAMING)
        await store.checkpoint(answer.id, "half an ans")

    async def look(store: SqliteStore) -> None:
        (answer,) = await store.messages(1)
        assert (answer.text, answer.status) == ("half an ans", Status.INTERRUPTED)

    with_store(path, die)
    with_store(path, look)


def test_tabs_and_values_of_the_window(path: Path) -> None:
    async def write(store: SqliteStore) -> None:
        assert await store.open_tabs() == ((), 0)
        assert await store.value("geometry") is None
        one, two, three = [(await store.create_conversation()).id for _ in range(3)]
        await store.set_open_tabs([three, 99, one, two], 3)
        await store.set_value("geometry", b"\x00\xff")
        await store.set_value("geometry", b"\x00\xfe")
        await store.delete_conversation(one)

    async def read(store: SqliteStore) -> None:
        assert await store.open_tabs() == ((3, 2), 1)
        assert await store.value("geometry") == b"\x00\xfe"
        await store.set_open_tabs([], -1)
        assert await store.open_tabs() == ((), 0)

    with_store(path, write)
    with_store(path, read)


def test_a_full_disk_is_told_and_the_next_write_works(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat = await store.create_conversation()
        await store._database.read(
            lambda db: db.execute("PRAGMA max_page_count = 1").fetchall()
        )  # SQLite then says SQLITE_FULL, as on a full disk
        with pytest.raises(StoreError, match="disk is full"):
            await store.add_message(chat.id, Role.USER, "x" * 100_000, Status.DONE)
        assert list(await store.messages(chat.id)) == []
        await store._database.read(lambda db: db.execute("PRAGMA max_page_count = 9999").fetchall())
        await store.add_message(chat.id, Role.USER, "x" * 100_000, Status.DONE)

    with_store(path, scenario)


def test_a_locked_database_is_told(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await store._database.read(lambda db: db.execute("PRAGMA busy_timeout = 1").fetchall())
            with pytest.raises(StoreError, match="Another program"):
                await store.create_conversation()
            other.execute("ROLLBACK")
        await store.create_conversation()

    with_store(path, scenario)


def test_a_cancelled_caller_does_not_undo_its_write(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(store.create_conversation()) for _ in range(3)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
        assert len(await store.conversations()) == 3

    with_store(path, scenario)


def test_after_close_a_call_is_refused_and_the_journal_is_gone(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        pending = asyncio.gather(*(store.create_conversation() for _ in range(10)))
        await asyncio.sleep(0)
        await store.close()
        await store.close()
        assert len(await pending) == 10
        assert [file.name for file in path.parent.iterdir()] == ["chats.db"]
        with pytest.raises(StoreError, match="closed"):
            await store.conversations()

    with_store(path, scenario)


def test_a_file_of_the_first_shape_gets_the_new_columns(path: Path) -> None:
    async def old() -> None:
        database = Database(path)
        await database.open(STEPS[:1])
        for statement in (
            "INSERT INTO conversations (created, updated) VALUES (1, 1)",
            (
                "INSERT INTO messages (conversation_id, role, text, status, created)"
                " VALUES (1, 'assistant', 'kept', 'done', 1)"
            ),
        ):
            await database.write(lambda db, statement=statement: db.execute(statement) and None)
        await database.close()

    asyncio.run(old())

    async def scenario(store: SqliteStore) -> None:
        (message,) = await store.messages(1)
        assert (message.text, message.reasoning, message.ids) == ("kept", "", ())
        assert await store.summaries(1) == []
        assert await store.add_summary(1, "short\x00") == Summary(1, 1, "short\ufffd")
        assert await store.summaries(1) == [Summary(1, 1, "short\ufffd")]

    with_store(path, scenario)


def test_chats_from_before_models_were_kept_go_on_with_any(path: Path) -> None:
    async def old() -> None:
        database = Database(path)
        await database.open(STEPS[:4])
        await database.write(
            lambda db: (
                db.execute(
                    "INSERT INTO conversations (title, created, updated) VALUES ('Old', 1, 1)"
                )
                and None
            )
        )
        await database.close()

    asyncio.run(old())

    async def scenario(store: SqliteStore) -> None:
        (old,) = await store.conversations()
        new = await store.create_conversation()
        assert (old.title, old.model, new.model) == ("Old", "", "")
        await store.set_model(old.id, "/models/a b.gguf")
        await store.set_model(new.id, "/models/\udcff.gguf")
        await store.set_model(99, "/models/of-nobody.gguf")
        found = {one.id: one for one in await store.conversations()}
        assert found[old.id].model == "/models/a b.gguf"
        assert found[old.id].updated == old.updated, "the chat itself did not change"
        assert found[new.id].model == "/models/\ufffd.gguf"

    with_store(path, scenario)

    async def after_a_restart(store: SqliteStore) -> None:
        found = await store.conversation(1)
        assert found is not None
        assert found.model == "/models/a b.gguf"

    with_store(path, after_a_restart)


def test_ids_that_were_damaged_are_none() -> None:
    assert rows.unpacked(rows.packed((1, 2, 3))) == (1, 2, 3)
    assert rows.unpacked(b"\x01\x00\x00") == ()


def test_a_summary_goes_with_the_last_message_that_it_covers(path: Path) -> None:
    async def scenario(store: SqliteStore) -> None:
        chat, other = await store.create_conversation(), await store.create_conversation()
        numbers = [
            (await store.add_message(chat.id, Role.USER, "x", Status.DONE)).id for _ in range(4)
        ]
        elsewhere = (await store.add_message(other.id, Role.USER, "x", Status.DONE)).id
        for number in (*numbers[1:3], elsewhere):
            await store.add_summary(number, f"up to {number}")
        first, second = (Summary(chat.id, number, f"up to {number}") for number in numbers[1:3])
        assert await store.summaries(chat.id) == [first, second]
        assert await store.add_summary(numbers[2], "another") is not None
        assert await store.summaries(chat.id) == [first, Summary(chat.id, numbers[2], "another")]
        await store.delete_messages_from(chat.id, numbers[3])
        assert len(await store.summaries(chat.id)) == 2
        await store.delete_messages_from(chat.id, numbers[2])
        assert await store.summaries(chat.id) == [first]
        assert await store.add_summary(numbers[2], "too late") is None
        await store.delete_conversation(chat.id)
        assert await store.summaries(chat.id) == []
        assert len(await store.summaries(other.id)) == 1

    with_store(path, scenario)
