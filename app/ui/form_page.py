"""What dialogs with forms are made of: pages that scroll, and Save and Cancel below them."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.ui import theme


def form_page(dialog: QDialog, name: str, spacing: int) -> QVBoxLayout:
    """Lay out a dialog that is one page; gives its column, for the parts to be added to.  `name` is the scroll area's."""
    area, column = scrolling_page(dialog, name, spacing)
    stand_above_buttons(dialog, area)
    return column


def scrolling_page(parent: QWidget, name: str, spacing: int) -> tuple[QScrollArea, QVBoxLayout]:
    """A page that scrolls, of this name, and its column."""
    area = QScrollArea(parent)
    page = QWidget(area)
    column = QVBoxLayout(page)
    column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
    column.setSpacing(spacing)
    area.setObjectName(name)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(page)
    return area, column


def stand_above_buttons(dialog: QDialog, body: QWidget) -> None:
    """Lay the dialog out: its body, and Save and Cancel at the foot."""
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(body, 1)
    layout.addWidget(buttons(dialog))


def buttons(dialog: QDialog) -> QWidget:
    """Save and Cancel at the foot of a dialog."""
    box = QDialogButtonBox(dialog)
    save = box.addButton("Save", QDialogButtonBox.ButtonRole.AcceptRole)
    cancel = box.addButton("Cancel", QDialogButtonBox.ButtonRole.RejectRole)
    save.setObjectName("saveButton")
    save.setAccessibleName("Save")
    save.setProperty("role", "primary")
    save.setDefault(True)
    cancel.setObjectName("cancelButton")
    cancel.setAccessibleName("Cancel")
    box.accepted.connect(dialog.accept)
    box.rejected.connect(dialog.reject)
    foot = QFrame(dialog)
    foot.setObjectName("dialogFoot")
    row = QVBoxLayout(foot)
    row.setContentsMargins(theme.GAP_5, theme.GAP_3, theme.GAP_5, theme.GAP_3)
    row.addWidget(box)
    return foot
