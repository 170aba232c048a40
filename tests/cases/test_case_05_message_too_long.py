"""Case 5: a message, or a system prompt, longer than the context is refused with numbers, and nothing else suffers."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtTest import QTest

from app.chat.models import ConversationSettings, Status, TabState
from tests.cases.whole import (
    RealModel,
    answers,
    open_tabs,
    over,
    put,
    served,
    settings,
    until,
)
from tests.gui.desk import Desk
from tests.replaying import read_log

pytestmark = pytest.mark.slow

HUGE = " ".join(f"w{number}" for number in range(30_000))


def numbers_in(words: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]{3,}", words)]


def paste(desk: Desk, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    desk.front.composer.edit.insertFromMimeData(data)


def test_in_the_window_the_draft_stays_and_the_neighbour_writes_on(
    at_work: Callable[..., None], talker: Path, decode_log: Path
) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        neighbour, page = await open_tabs(desk, 2)
        put(neighbour, "go on")
        await until(lambda: desk.chat.turn(neighbour.id).written > 5, "the neighbour writes")
        paste(desk, HUGE)
        QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
        await until(lambda: desk.chat.turn(page.id).state is TabState.FAILED, "the refusal")
        so_far = desk.chat.turn(neighbour.id).written
        assert so_far, "it was refused while the neighbour wrote"
        needed, available = numbers_in(desk.chat.turn(page.id).error)
        assert needed > available == model.state.context_tokens
        assert str(f"{needed:,}") in page.transcript.plain_text()
        await until(lambda: page.composer.text() == HUGE, "the draft is back")
        await until(lambda: desk.chat.turn(neighbour.id).written > so_far + 50, "more of it")
        neighbour.stop()
        await over(desk, neighbour)
        (answer,) = await answers(desk, neighbour)
        assert answer.status is Status.STOPPED
        # Refused before any of it was read: the engine has heard of the neighbour's request only.
        assert len(model.prompts.asked) == 1
        assert max(len(submit.tokens) for submit in model.prompts.submits) < 100
        # The chat goes on as if nothing had been sent.
        desk.preferences.update(max_answer_tokens=8)
        page.composer.clear()
        desk.seen.clear()
        put(page, "short")
        await over(desk, page)
        assert (await answers(desk, page))[-1].status is Status.DONE

    at_work(scenario, RealModel(talker), current=settings(max_answer_tokens=0))
    calls = [record["decode"] for record in read_log(decode_log) if "decode" in record]
    assert max(len(call["tokens"]) for call in calls) < 100


def test_as_a_system_prompt(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        page, other = await open_tabs(desk, 2)
        await desk.chat.set_settings(page.id, ConversationSettings(system_prompt=HUGE))
        put(page, "hello")
        await until(lambda: desk.chat.turn(page.id).state is TabState.FAILED, "the refusal")
        needed, available = numbers_in(desk.chat.turn(page.id).error)
        assert needed > available
        await until(lambda: page.composer.text() == "hello", "the draft is back")
        put(other, "hello")
        await over(desk, other)
        assert (await answers(desk, other))[0].status is Status.DONE
        # With other instructions the same draft goes out.
        await desk.chat.set_settings(page.id, ConversationSettings(system_prompt="Be short."))
        desk.seen.clear()
        QTest.keyClick(page.composer.edit, Qt.Key.Key_Return)
        await over(desk, page)
        assert (await answers(desk, page))[-1].status is Status.DONE

    at_work(scenario, RealModel(talker), current=settings())


def test_by_the_api(at_work: Callable[..., None], talker: Path) -> None:
    async def scenario(desk: Desk, model: RealModel) -> None:
        async with served(model) as api:
            for stream in (False, True):
                for role in ("user", "system"):
                    messages = [{"role": role, "content": HUGE}, {"role": "user", "content": "x"}]
                    reply = await api.post({"messages": messages, "stream": stream})
                    assert (reply.status, reply.error["code"]) == (400, "context_length_exceeded")
                    needed, available = numbers_in(reply.error["message"])
                    assert needed > available == model.state.context_tokens
            fine = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 3}
            assert (await api.post(fine)).status == 200
        assert len(model.prompts.submits) == 1

    at_work(scenario, RealModel(talker), current=settings())
