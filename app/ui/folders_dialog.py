"""The folders of the user's in which models are looked for."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.ui import aio, geometry, theme
from app.ui.form_page import buttons
from app.ui.plain import Label, tooltip

_WORDS = (
    "Models are used where they lie; nothing is copied or moved. A folder of Ollama or of the hub's cache is seen for "
    "what it is. Tutti's own folder, and those of Ollama, LM Studio, Jan, llama.cpp and the hub where they usually "
    "are, are looked into by themselves."
)


class FoldersDialog(QDialog):
    """Shows the folders; once accepted, `value` is which they shall be."""

    def __init__(self, folders: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("foldersDialog")
        self.setWindowTitle("Folders with models")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._list = QListWidget(self)
        self._list.setObjectName("folderList")
        self._list.setAccessibleName("Folders with models")
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._none = Label("No folder was added yet.", "quiet", self)
        self._add = QPushButton("Add a folder…", self)
        self._add.setObjectName("addFolderButton")
        self._add.setAccessibleName("Add a folder")
        self._remove = QPushButton("Take from the list", self)
        self._remove.setObjectName("removeFolderButton")
        self._remove.setAccessibleName("Take the folder from the list; its files stay")
        for button in (self._add, self._remove):
            button.setAutoDefault(False)
        self._add.clicked.connect(self._choose)
        self._remove.clicked.connect(self._take)
        self._list.currentRowChanged.connect(self._show)
        self._lay_out()
        for folder in folders:
            self.add(folder)
        self._list.setCurrentRow(0)  # focus alone would make it current without showing so
        self._show()
        geometry.fit_dialog(self, 520, 400)

    def value(self) -> tuple[str, ...]:
        """The folders in the list."""
        return tuple(self._list.item(row).text() for row in range(self._list.count()))

    def add(self, folder: str) -> None:
        """Put this one into the list, once."""
        if folder not in self.value():
            item = QListWidgetItem(folder)
            item.setToolTip(tooltip(folder))
            self._list.addItem(item)
            self._list.setCurrentItem(item)
        self._show()

    def _lay_out(self) -> None:
        column = QVBoxLayout()
        column.setContentsMargins(theme.GAP_5, theme.GAP_4, theme.GAP_5, theme.GAP_4)
        column.setSpacing(theme.GAP_3)
        words = Label(_WORDS, "quiet", self)
        words.setWordWrap(True)
        row = QHBoxLayout()
        row.setSpacing(theme.GAP_2)
        row.addWidget(self._add)
        row.addWidget(self._remove)
        row.addStretch(1)
        column.addWidget(words)
        column.addWidget(self._none)
        column.addWidget(self._list, 1)
        column.addStretch(0)
        column.addLayout(row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(column, 1)
        layout.addWidget(buttons(self))

    def _show(self) -> None:
        some = self._list.count() > 0
        self._list.setVisible(some)
        self._none.setVisible(not some)
        self._remove.setEnabled(self._list.currentRow() >= 0)

    @aio.async_slot
    async def _choose(self) -> None:
        dialog = QFileDialog(self, "Add a folder with models")
        dialog.setObjectName("folderFileDialog")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        if await aio.finished(dialog):
            for folder in dialog.selectedFiles()[:1]:
                self.add(folder)

    def _take(self) -> None:
        self._list.takeItem(self._list.currentRow())
        self._show()
