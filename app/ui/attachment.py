"""What goes out with a message beside what was typed: a pasted text, a file."""

from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui import icons, theme
from app.ui.plain import ElidedLabel, one_line, tooltip

FILE_LIMIT: Final = 4_000_000


class Attachment(QFrame):
    """Text that goes out with the message, shown by its name and size.

    `revision` is that of the text when it was added, so that one can tell what came last; None: not to be undone.
    """

    removed = Signal()

    def __init__(self, name: str, text: str, revision: int | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text
        self.revision = revision
        self.setObjectName("attachment")
        lines = text.count("\n") + 1
        label = f"{one_line(name, 40)}, {len(text):,} characters"
        if lines > 1:
            label += f", {lines:,} lines"
        title = ElidedLabel(label, "small", self)
        title.setMinimumWidth(min(title.fontMetrics().horizontalAdvance(label) + 2, theme.px(420)))
        self.setToolTip(tooltip(text[:400]))
        self.setAccessibleName(label)
        self.remove = icons.IconButton("close", f"Remove {label}", "removeAttachmentButton", self)
        self.remove.clicked.connect(self.removed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(theme.GAP_2, 0, 0, 0)
        layout.setSpacing(theme.GAP_1)
        layout.addWidget(title)
        layout.addWidget(self.remove)


def read_text_file(path: Path) -> str:
    """The text of a file that somebody dropped or pasted; raises ValueError with a reason for the user.

    Blocking: to be run on a thread.
    """
    if not path.is_file():
        raise ValueError(f"{path.name} is not a file.")
    if path.stat().st_size > FILE_LIMIT:
        raise ValueError(f"{path.name} is larger than {FILE_LIMIT // 1_000_000} MB.")
    data = path.read_bytes()
    if b"\0" in data[:8192]:
        raise ValueError(f"{path.name} is not a text file.")
    return data.decode("utf-8-sig", errors="replace")
