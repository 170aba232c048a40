"""Driver: a model is searched, chosen, downloaded with a pause, loaded and talked to; prints what was seen, as JSON.

With TUTTI_SCREENSHOTS set, each stage is drawn into that folder, light and dark.
"""

import json
import os
import sys
from pathlib import Path

from PySide6.QtWidgets import QLineEdit, QListWidget, QPlainTextEdit, QPushButton, QWidget

from app import paths
from app.chat.model_state import ModelPhase
from app.ui.transcript import Transcript
from app.ui.window import Window
from tests.e2e.app_driver import child, run, until
from tests.e2e.hand import choose, click, press, write
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


def shoot(window: Window, name: str) -> None:
    """What is seen now: the window, or the dialog before it."""
    if not SHOTS:
        return
    seen = window.findChild(QWidget, "modelDialog") or window
    preferences, usual = window._preferences, window._preferences.current.theme
    for theme in ("light", "dark"):
        preferences.update(theme=theme)
        (seen if seen.isVisible() else window).grab().save(f"{SHOTS}/{name}-{theme}.png")
    preferences.update(theme=usual)


async def scenario(window: Window) -> None:
    hub = HUB
    await until(lambda: window._finder is not None, "the hub's client is there")
    first = await child(window, QPushButton, "findModelButton")
    shoot(window, "1-empty")
    await click(first)
    dialog = await child(window, QWidget, "modelDialog")
    field = await child(dialog, QLineEdit, "hubSearchField")
    await until(field.hasFocus, "the keyboard in the field")
    shoot(window, "2-recommended")
    asked_before = len(hub.log)
    await write("tiny")
    results = await child(dialog, QListWidget, "hubResults")
    await until(lambda: results.count() == 13, "what was found")
    shoot(window, "3-found")
    await choose(results, "tutti/tiny-135M-GGUF")
    offers = await child(dialog, QListWidget, "hubOffers")
    await until(lambda: "machine:" in " ".join(w.text() for w in dialog.page.findChildren(QWidget) if hasattr(w, "text")), "the fit")  # fmt: skip
    await until(lambda: "English" in dialog.page.card.toPlainText(), "the card")
    shoot(window, "4-repository")
    await choose(offers, "Q4_1")
    hub.script = [Does(stall_after=40 * MIB)]
    await click(await child(dialog, QPushButton, "downloadButton"))
    row = await child(dialog, QPushButton, "downloadMainButton")
    await until(lambda: "41.9 MB of" in row.parentWidget().accessibleName(), "so much of the file")
    shoot(window, "5-downloading")
    await click(row)
    await until(lambda: row.text() == "Resume", "the pause")
    shoot(window, "6-paused")
    await click(row)
    await until(lambda: row.text() == "Chat with it", "the end of the download")
    shoot(window, "7-downloaded")
    await click(row)
    composer = await child(window, QPlainTextEdit, "composer")
    await until(lambda: window.model.state.phase is ModelPhase.READY, "the model is loaded")
    shoot(window, "8-loaded")
    await click(composer)
    await write("Say hello.")
    await press("Return")
    page = window.workspace.front
    view = page.findChild(Transcript)
    await until(lambda: len(view.plain_text()) > len("YouSay hello.Tutti") + 3, "an answer")
    await until(lambda: not window.workspace.busy(), "the end of the answer")
    shoot(window, "9-chat")
    bodies = [asked for asked in hub.bodies() if asked.path.endswith("Q4_1.gguf") and asked.sent > 8 * MIB]  # fmt: skip
    told = {
        "asked_before": asked_before,
        "model": window.model.state.path,
        "name": window.model.state.name,
        "firsts": [asked.first for asked in bodies],
        "chat": view.plain_text(),
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
