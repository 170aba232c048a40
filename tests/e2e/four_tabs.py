"""Driver: four tabs are opened and sent by mouse and keyboard; prints how their texts grew, as JSON."""

import gc
import json
import os
import sys
import threading

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit

from app.ui.transcript import Transcript
from app.ui.window import Window
from tests.e2e.app_driver import child, click, press, run, type_text, until

QUESTIONS = (
    "Write a long story about a river.",
    "Write a long story about a lamp.",
    "Write a long story about a bridge.",
    "Write a long story about a garden.",
)
ENOUGH = 60
"""Growths of each text after which the scenario ends."""


def transcripts(window: Window) -> list[Transcript]:
    return [page.findChild(Transcript) for page in window.workspace.pages]


async def scenario(window: Window) -> None:
    searched_on: set[str] = set()
    gc.callbacks.append(lambda *_: searched_on.add(threading.current_thread().name))
    click(await child(window, QAbstractButton, "starterButton"))
    await until(lambda: "loading" in window.status.text(), "the load")
    for number, question in enumerate(QUESTIONS):
        if number:
            click(await child(window, QAbstractButton, "newChatButton"))
            await until(lambda count=number + 1: len(window.workspace.pages) == count, "a new tab")
        composer = await child(window, QPlainTextEdit, "composer")
        type_text(composer, question)
        press(composer, Qt.Key.Key_Return)
    grew: list[int] = []
    lengths = [0] * len(QUESTIONS)

    def look() -> bool:
        for index, view in enumerate(transcripts(window)):
            length = len(view.plain_text())
            if length > lengths[index]:
                lengths[index] = length
                grew.append(index)
        return all(grew.count(index) >= ENOUGH for index in range(len(QUESTIONS)))

    await until(look, grew)
    screenshot = os.environ.get("TUTTI_SCREENSHOT")
    if screenshot:
        window.grab().save(screenshot)
    told = {"grew": grew, "status": window.status.text(), "searched on": sorted(searched_on)}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    sys.exit(run(scenario))
