"""Driver: a model is searched, chosen, downloaded with a pause, loaded and talked to; prints what was seen, as JSON."""

import json
import os
import sys
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit, QPushButton, QWidget

from app import paths
from app.chat.model_state import ModelPhase
from app.ui.transcript import Transcript
from app.ui.window import Window
from tests.e2e.app_driver import child, click, press, run, type_text, until
from tests.fake_hub import MIB, Content, Does, FakeHub

CARD = b"""---
license: apache-2.0
---
# Tiny 135M

A small model that answers in **English**. It is quick on any machine, and small enough to be wrong about most things.

- trained on open data
- context of 8,192 tokens
"""
SHOTS = os.environ.get("TUTTI_SCREENSHOTS")
BOTH = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def fill(hub: FakeHub, starter: Path) -> None:
    model = Content(data=starter.read_bytes())
    tiny = hub.add("tutti/tiny-135M-GGUF", README__md=Content(data=CARD))
    tiny.small = frozenset({"README.md"})
    tiny.files["tiny-135M-Q4_1.gguf"] = model
    tiny.files["tiny-135M-Q2_K.gguf"] = Content(60 * MIB)
    tiny.files["tiny-135M-Q8_0.gguf"] = Content(138 * MIB, 1)
    for part in (1, 2):
        tiny.files[f"tiny-135M-F16-{part:05d}-of-00002.gguf"] = Content(130 * MIB, part)
    for number in range(12):
        hub.add(f"somebody/tiny-{number + 1}B-chat-GGUF").facts = {"total": (number + 1) * 10**9}
    tiny.facts = {"total": 134_515_008, "architecture": "llama", "context_length": 8192}


def shoot(widget: QWidget, name: str) -> None:
    if SHOTS:
        widget.grab().save(f"{SHOTS}/{name}.png")


def choose(widget: QListWidget, text: str) -> None:
    item = next(widget.item(n) for n in range(widget.count()) if text in widget.item(n).text())
    widget.scrollToItem(item)
    where = widget.visualItemRect(item).center()
    QTest.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=where)


async def scenario(window: Window) -> None:
    hub = HUB
    await until(lambda: window._finder is not None, "the hub's client is there")
    press(window, Qt.Key.Key_M, BOTH)
    dialog = await child(window, QWidget, "modelDialog")
    shoot(dialog, "recommended")
    asked_before = len(hub.log)
    type_text(await child(dialog, QLineEdit, "hubSearchField"), "tiny")
    results = await child(dialog, QListWidget, "hubResults")
    await until(lambda: results.count() == 13, "what was found")
    choose(results, "tutti/tiny-135M-GGUF")
    offers = await child(dialog, QListWidget, "hubOffers")
    await until(lambda: "machine:" in " ".join(w.text() for w in dialog.page.findChildren(QWidget) if hasattr(w, "text")), "the fit")  # fmt: skip
    await until(lambda: "English" in dialog.page.card.toPlainText(), "the card")
    shoot(dialog, "repository")
    choose(offers, "Q4_1")
    hub.script = [Does(stall_after=40 * MIB)]
    click(await child(dialog, QPushButton, "downloadButton"))
    row = await child(dialog, QPushButton, "downloadMainButton")
    await until(lambda: "41.9 MB of" in row.parentWidget().accessibleName(), "so much of the file")
    shoot(dialog, "downloading")
    click(row)
    await until(lambda: row.text() == "Resume", "the pause")
    click(row)
    await until(lambda: row.text() == "Chat with it", "the end of the download")
    shoot(dialog, "downloaded")
    click(row)
    await until(lambda: window.model.state.phase is ModelPhase.READY, "the model is loaded")
    composer = await child(window, QPlainTextEdit, "composer")
    type_text(composer, "Say hello.")
    press(composer, Qt.Key.Key_Return)
    page = window.workspace.front
    view = page.findChild(Transcript)
    await until(lambda: len(view.plain_text()) > len("YouSay hello.Tutti") + 3, "an answer")
    shoot(window, "chat")
    bodies = [asked for asked in hub.bodies() if asked.path.endswith("Q4_1.gguf") and asked.sent > 8 * MIB]  # fmt: skip
    told = {
        "asked_before": asked_before,
        "model": window.model.state.path,
        "firsts": [asked.first for asked in bodies],
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    found = paths.starter_model()
    assert found is not None
    with FakeHub() as HUB:
        fill(HUB, found)
        os.environ["HF_ENDPOINT"] = HUB.endpoint
        code = run(scenario)
    sys.exit(code)
