"""The door to the loop."""

import asyncio
import gc
import os
import signal

import pytest
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog

from app.ui import aio
from tests.gui.desk import turns_of_the_loop, until


class Bell(QObject):
    rang = Signal(int, str)


class Listener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard = []

    @aio.async_slot
    async def both(self, number, word):
        await asyncio.sleep(0)
        self.heard.append((number, word))

    @aio.async_slot
    async def one(self, number):
        self.heard.append(number)

    @aio.async_slot
    async def none(self):
        self.heard.append("none")


def test_a_slot_gets_as_many_arguments_as_it_takes(drive):
    async def scenario():
        bell, listener = Bell(), Listener()
        for slot in (listener.both, listener.one, listener.none):
            bell.rang.connect(slot)
        bell.rang.emit(3, "x")
        await until(lambda: len(listener.heard) == 3)
        assert set(listener.heard) == {(3, "x"), 3, "none"}

    drive(scenario())


def test_a_slot_without_a_loop_says_so(qapp):
    with pytest.raises(RuntimeError, match="no running event loop"):
        aio.spawn(asyncio.sleep(0))


def test_spawned_work_is_kept_alive_and_its_failure_is_reported(drive):
    async def scenario():
        failures = []
        aio.report_to(failures.append)
        done = []

        async def work():
            await asyncio.sleep(0.01)
            done.append(True)

        async def fail():
            raise ValueError("broken")

        aio.spawn(work())
        aio.spawn(fail())
        gc.collect()
        await until(lambda: done and failures)
        assert str(failures[0]) == "broken"

    drive(scenario())


def test_a_cancelled_task_is_no_failure(drive):
    async def scenario():
        task = aio.spawn(asyncio.sleep(60))
        task.cancel()
        await turns_of_the_loop()
        assert task.cancelled()

    drive(scenario())


def test_signals_reach_the_loop_each_time(drive):
    async def scenario():
        heard = []
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        ignore = aio.on_signals(lambda: heard.append(1))
        for count, number in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGTERM), 1):
            os.kill(os.getpid(), number)
            await until(lambda count=count: len(heard) == count)
        ignore()
        os.kill(os.getpid(), signal.SIGTERM)
        for number, handler in before.items():
            signal.signal(number, handler)
        assert len(heard) == 3

    drive(scenario())


def test_a_dialog_is_awaited_without_a_loop_of_its_own(drive):
    async def scenario():
        for ending, accepted in ((QDialog.accept, True), (QDialog.reject, False)):
            dialog = QDialog()
            answer = asyncio.get_running_loop().create_task(aio.finished(dialog))  # awaited below
            await until(dialog.isVisible)
            ending(dialog)
            assert await answer is accepted

    drive(scenario())
