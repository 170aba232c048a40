"""On a screen whose pixels are not ours: run in a process of its own, for the scale is set before Qt starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from app.chat.models import Message, Role, Status
from app.ui import theme
from app.ui.transcript import Transcript

application = QApplication([])
theme.apply(application, "light")
view = Transcript()
view.set_messages([Message(1, 1, Role.ASSISTANT, "text " * 900, Status.DONE, 0.0)])
dark = 0
for height in range(301, 309):
    view.resize(411, height)
    view.show()
    image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert image.devicePixelRatio() == application.devicePixelRatio()
    edge = [image.pixelColor(x, image.height() - 1) for x in range(6, 30)]
    dark += sum(colour.lightness() < 200 for colour in edge)
print("dark", dark)
view.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("factor", ["1.25", "1.5", "2"])
def test_no_line_is_left_at_the_edge_of_the_transcript(factor: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "QT_SCALE_FACTOR": factor},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "dark 0"
