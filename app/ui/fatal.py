"""The one message that needs a window of its own: the chats cannot be opened, so there is no other."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

from app.ui import aio


async def say(words: str) -> None:
    """Show `words` until they are dismissed."""
    box = QMessageBox()
    box.setObjectName("fatalMessage")
    box.setWindowTitle("Tutti")
    box.setIcon(QMessageBox.Icon.Critical)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(words)
    box.setStandardButtons(QMessageBox.StandardButton.Close)
    await aio.finished(box)
