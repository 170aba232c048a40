"""A dialog that is one form: a page that scrolls, and Save and Cancel below it."""

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
    """Lay the dialog out; gives the column of the page, for its parts to be added to.  `name` is the scroll area's."""
    page = QWidget(dialog)
    column = QVBoxLayout(page)
    column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
    column.setSpacing(spacing)
    area = QScrollArea(dialog)
    area.setObjectName(name)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(page)
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(area, 1)
    layout.addWidget(buttons(dialog))
    return column


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
