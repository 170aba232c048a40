"""Driver: a large model is searched, opened, downloaded and checked in the real window, while a timer looks whether its
loop turns; prints the gaps of that timer, as JSON.

python -m tests.e2e.download_stall MEGABYTES
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QListWidget, QPushButton, QWidget

from app.hub.standing import State
from app.ui.window import Window
from tests.e2e.app_driver import child, click, run, type_text, until

TICK_MS = 10


class Meter(QObject):
    """How long the loop of this thread took from one turn to the next, in seconds, by what was done as it began."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.gaps: dict[str, list[float]] = {}
        self.doing = self._did = ""
        self._last = time.perf_counter()
        timer = QTimer(self)
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.timeout.connect(self._turned)
        timer.start(TICK_MS)

    def _turned(self) -> None:
        now = time.perf_counter()
        self.gaps.setdefault(self._did, []).append(now - self._last)
        self._last, self._did = now, self.doing


def choose(rows: QListWidget, text: str) -> None:
    item = next(rows.item(n) for n in range(rows.count()) if text in rows.item(n).text())
    rows.scrollToItem(item)
    QTest.mouseClick(
        rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualItemRect(item).center()
    )


async def scenario(window: Window) -> None:
    await until(lambda: window._finder is not None, "the hub's client is there")
    meter = Meter(window)
    await until(lambda: len(meter.gaps.get("", [])) > 50, "a loop that is at rest")
    meter.doing = "open"
    await until(lambda: meter._did == "open", "its begin")
    click(await child(window, QPushButton, "findModelButton"))
    dialog = await child(window, QWidget, "modelDialog")
    meter.doing = "search"
    type_text(await child(dialog, QLineEdit, "hubSearchField"), "big")
    results = await child(dialog, QListWidget, "hubResults")
    await until(lambda: results.count() >= 20, "what was found")
    meter.doing = "page"
    choose(results, "a/big-GGUF")
    await until(lambda: "words" in dialog.page.card.toPlainText(), "the card")
    meter.doing = "download"
    began = time.perf_counter()
    click(await child(dialog, QPushButton, "downloadButton"))
    downloads = window._finder._sources.hub.downloads
    await until(lambda: any(row.state is State.DONE for row in downloads.rows()), "the download")
    seconds = time.perf_counter() - began
    meter.doing = "check"
    await until(lambda: Path(os.environ["TUTTI_DATA_DIR"], "checked.json").exists(), "the check")
    meter.doing = "load"
    click(await child(dialog, QPushButton, "downloadMainButton"))
    await until(lambda: window.model.state.context_tokens > 0, "the model")
    told = {"gaps": meter.gaps, "seconds": seconds}
    sys.stdout.write(json.dumps(told) + "\n")


def main(megabytes: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUTTI_DATA_DIR"] = folder
        os.environ["TUTTI_MODELS_DIR"] = f"{folder}/models"
        command = [sys.executable, "-m", "tests.e2e.big_hub", megabytes]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as hub:
            assert hub.stdin is not None
            assert hub.stdout is not None
            os.environ["HF_ENDPOINT"] = hub.stdout.readline().strip()
            try:
                return run(scenario)
            finally:
                hub.stdin.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
