"""What a search is narrowed by: order, size, language, licence and task."""

from typing import get_args

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from app.hub.listing import Query, Sort
from app.ui import theme
from app.ui.fields import Choice

_SORTS = ("Trending", "Most downloaded", "Most liked", "Changed last", "Newest")
_SIZES = (
    ("Any size", ""),
    ("Up to 2B", "min:0,max:2B"),
    ("2B to 6B", "min:2B,max:6B"),
    ("6B to 16B", "min:6B,max:16B"),
    ("Above 16B", "min:16B"),
)
_LANGUAGES = (
    ("Any language", ""), ("Arabic", "ar"), ("Chinese", "zh"), ("Dutch", "nl"), ("English", "en"), ("French", "fr"),
    ("German", "de"), ("Hindi", "hi"), ("Italian", "it"), ("Japanese", "ja"), ("Korean", "ko"), ("Polish", "pl"),
    ("Portuguese", "pt"), ("Russian", "ru"), ("Spanish", "es"), ("Turkish", "tr"), ("Ukrainian", "uk"),
    ("Vietnamese", "vi"),
)  # fmt: skip
_LICENCES = (
    ("Any licence", ""),
    ("Apache 2.0", "apache-2.0"),
    ("MIT", "mit"),
    ("Gemma", "gemma"),
    ("Llama 3.1", "llama3.1"),
    ("CC BY-NC 4.0", "cc-by-nc-4.0"),
)
_TASKS = (
    ("Any task", ""),
    ("Text", "text-generation"),
    ("Text and pictures", "image-text-to-text"),
    ("Translation", "translation"),
)


class HubFilters(QWidget):
    """Boxes in a row; `changed` when one of them is."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(theme.GAP_2)
        sorts = tuple(zip(_SORTS, get_args(Sort), strict=True))
        self._sort = self._box("hubSort", "Order", sorts)
        self._size = self._box("hubSize", "Size", _SIZES)
        self._language = self._box("hubLanguage", "Language", _LANGUAGES)
        self._licence = self._box("hubLicence", "Licence", _LICENCES)
        self._task = self._box("hubTask", "Task", _TASKS)
        self._row.addStretch(1)

    def _box(self, name: str, label: str, choices: tuple[tuple[str, str], ...]) -> QComboBox:
        box = Choice(self)
        box.setFixedHeight(theme.px(theme.CONTROL))
        box.setObjectName(name)
        box.setAccessibleName(label)
        for text, value in choices:
            box.addItem(text, value)
        box.currentIndexChanged.connect(self._emit)
        self._row.addWidget(box)
        return box

    def _emit(self) -> None:
        self.changed.emit()

    def query(self, text: str) -> Query:
        """A search for `text`, narrowed so."""
        return Query(
            text,
            sort=self._sort.currentData(),
            language=self._language.currentData(),
            licence=self._licence.currentData(),
            task=self._task.currentData(),
            size=self._size.currentData(),
        )
