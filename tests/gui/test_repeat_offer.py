"""An answer that goes round in circles: said calmly where its state is said, stopped by nobody but the user."""

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from app.chat.events import TurnState
from app.chat.models import Status, TabState
from app.chat.ports import Text, Thought
from app.ui.state_line import StateLine
from tests.fakes import FakeGenerator
from tests.gui.desk import until

OFFER = "This answer repeats itself."
LOOP = "I am sorry, I cannot say that. " * 20
OTHER = "".join(f"Now to the point number {number}. " for number in range(20))


def gated(*events):
    return FakeGenerator([events], gate=asyncio.Semaphore(0))


def offer(desk):
    return desk.front.state_line.offer


def go(desk, count=1):
    for _ in range(count):
        desk.generator.gate.release()


async def looping(desk):
    await desk.say("hello")
    go(desk)
    await until(lambda: offer(desk).isVisible())


def test_it_is_offered_to_stop_and_stopping_is_the_usual_stop(with_desk):
    async def scenario(desk):
        await desk.say("hello")
        await until(lambda: desk.chat.turn(desk.front.id).busy)
        before = desk.front.transcript.geometry()
        go(desk)
        await until(lambda: offer(desk).isVisible())
        assert desk.front.state_line.text() == OFFER
        assert desk.front.transcript.geometry() == before
        assert desk.front.composer.edit.hasFocus()
        desk.click(desk.find(QPushButton, "repeatStopButton"))
        assert not offer(desk).isVisible(), "at once"
        await until(lambda: desk.chat.turn(desk.front.id).state is TabState.STOPPED)
        last = (await desk.chat.messages(desk.front.id))[-1]
        assert (last.status, last.text) == (Status.STOPPED, LOOP)
        assert desk.front.state_line.text() == "Stopped"

    with_desk(scenario, generator=gated(Text(LOOP), Text(LOOP)))


def test_who_lets_it_go_on_is_not_asked_again_by_this_answer(with_desk):
    async def scenario(desk):
        await looping(desk)
        desk.click(desk.find(QPushButton, "repeatGoOnButton"))
        assert not offer(desk).isVisible()
        assert desk.front.composer.edit.hasFocus()
        go(desk, 2)
        await until(lambda: desk.front.transcript.plain_text().count("sorry") == 60)
        assert desk.chat.turn(desk.front.id).busy
        assert not offer(desk).isVisible()
        go(desk)
        await desk.answered()
        await looping(desk)

    with_desk(scenario, generator=gated(*[Text(LOOP)] * 3))


def test_it_goes_when_the_text_goes_on_to_something_else_and_with_the_end(with_desk):
    async def scenario(desk):
        await looping(desk)
        go(desk)
        await until(lambda: not offer(desk).isVisible())
        assert desk.front.state_line.text().startswith("Writing")
        go(desk)
        await until(lambda: offer(desk).isVisible())
        desk.find(QPushButton, "repeatStopButton").setFocus()
        go(desk)
        await desk.answered()
        assert not offer(desk).isVisible()
        assert desk.front.composer.edit.hasFocus(), "the keyboard is not lost with the button"

    with_desk(scenario, generator=gated(Text(LOOP), Text(OTHER), Text(LOOP)))


@pytest.mark.parametrize("key", ["repeatStopButton", "repeatGoOnButton"])
def test_it_is_reached_and_answered_by_keyboard(with_desk, key):
    async def scenario(desk):
        await looping(desk)
        wanted = desk.find(QPushButton, key)
        for _ in range(4):
            if not wanted.hasFocus():
                QTest.keyClick(desk.focus(), Qt.Key.Key_Backtab)
        assert wanted.hasFocus()
        assert wanted.accessibleName()
        QTest.keyClick(wanted, Qt.Key.Key_Space)
        await until(lambda: not offer(desk).isVisible())
        assert desk.front.composer.edit.hasFocus()

    with_desk(scenario, generator=gated(Text(LOOP), Text(LOOP)))


def test_thoughts_that_repeat_are_told_as_thoughts(with_desk):
    async def scenario(desk):
        await looping(desk)
        assert desk.front.state_line.text() == "The model repeats its thoughts."
        go(desk)
        await until(lambda: not offer(desk).isVisible())

    with_desk(scenario, generator=gated(Thought(LOOP), Text("Well.")))


def test_a_hint_comes_before_the_offer_for_a_while(with_desk):
    async def scenario(desk):
        await looping(desk)
        line = desk.front.state_line
        line.hint("Something else.")
        assert line.text() == "Something else."
        line._hint.timeout.emit()
        assert line.text() == OFFER

    with_desk(scenario, generator=gated(Text(LOOP), Text(LOOP)))


@pytest.mark.parametrize("width", [340, 700])
def test_its_words_are_whole_also_in_a_narrow_line(qtbot, width):
    line = StateLine(None)
    qtbot.addWidget(line)
    line.show_context(1_164, 8_192)
    line.show_turn(TurnState(TabState.WRITING, repeating=True))
    line.resize(width, line.height())
    line.show()
    words = line.findChild(QLabel, "repeatText")
    assert words.width() >= words.fontMetrics().horizontalAdvance(OFFER)
    assert all(button.geometry().bottom() < line.height() for button in line.offer.in_order())
    line.show_turn(TurnState(TabState.WRITING))
    assert line.findChild(QLabel, "contextText").isVisible()
