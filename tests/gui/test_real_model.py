"""The window over the real engine: four chats that answer together."""

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from app.chat.model_state import ModelPhase
from app.chat.models import Sampling
from app.client.local import LocalModel
from app.main import load_params
from app.settings import Settings
from app.sizing.planner import NO_OUTLOOK
from app.sizing.profiles import own_numbers
from tests.gui.desk import close_desk, open_desk, until

SETTINGS = Settings(
    pool_tokens=2048, sequences=4, max_answer_tokens=48, sampling=Sampling(temperature=0.0)
)

PLAN = NO_OUTLOOK.plan("auto", own_numbers(SETTINGS))


@pytest.mark.model
@pytest.mark.slow
def test_four_chats_stream_at_the_same_time(drive, starter):
    async def scenario():
        host = LocalModel(lambda path: load_params(path, SETTINGS, PLAN))
        desk = await open_desk(generator=host, host=host, current=SETTINGS, starter=starter)
        button = desk.find(QPushButton, "starterButton")
        await until(button.isVisible)
        desk.click(button)
        await until(lambda: host.state.phase is ModelPhase.LOADING)
        most, grew = 0, set()
        for number in range(4):
            if number:
                desk.control(Qt.Key.Key_T)
                await until(lambda number=number: len(desk.tabs) == number + 1)
            # Typed while the model loads; the messages go out when it is ready.
            await desk.say(f"Tell me a long story about the number {number}.")

        def watch():
            nonlocal most
            most = max(most, host.counters.rows)
            for tab in desk.tabs:
                if desk.chat.turn(tab.id).written > 0:
                    grew.add(tab.id)
            return not desk.window.workspace.busy()

        await until(watch, "all four answers")
        assert host.state.phase is ModelPhase.READY
        assert most == 4
        assert len(grew) == 4
        for tab in desk.tabs:
            desk.window.tabs.setCurrentWidget(tab)
            await until(lambda tab=tab: len(tab.transcript.plain_text()) > 120)
        await close_desk(desk)
        assert [
            child for child in psutil.Process().children() if "spawn_main" in _line(child)
        ] == []

    drive(scenario())


def _line(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
