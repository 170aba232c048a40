"""Fields for people's values: one line of text, and a form generated from a dataclass.

A form knows the ranges and choices that the settings themselves check, so that what it lets through is right.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

from PySide6.QtCore import (
    QEvent,
    QObject,
    QPoint,
    QRect,
    QRectF,
    QRegularExpression,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QRegularExpressionValidator,
)
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app import settings
from app.ui import icons, theme
from app.ui.listed import NOTATIONS, Listed
from app.ui.plain import Label

_T = TypeVar("_T")
LABELS = 170
"""Width of a form's first column, px at the usual scale."""
_TEXT_LEFT = theme.GAP_2 + 3
"""Where a line edit of the style sheet begins its text: border, padding, and Qt's own margin, px."""


class TextField(QLineEdit):
    """A line of text in which Enter waits for an input method that composes, and never repeats."""

    def __init__(self, object_name: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._preedit = ""
        self.setObjectName(object_name)
        self.setAccessibleName(name)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._preedit = event.preeditString()
        super().inputMethodEvent(event)

    def holds_back(self, event: QKeyEvent) -> bool:
        """Whether this key belongs to the input method or is the repetition of a held Enter."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return False
        return bool(self._preedit) or event.isAutoRepeat()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.holds_back(event):
            super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # A line edit lets Enter through to whatever it lies in, and a list would open its row.
            event.accept()


@dataclass(frozen=True, slots=True)
class Item:
    """One row of a form.  `special` is what the lowest value is called, `choices` what choices are called; `tip` is a
    sentence that a pointer over the row brings up."""

    name: str
    label: str
    hint: str = ""
    special: str = ""
    choices: tuple[str, ...] = ()
    tip: str = ""


class Choice(QComboBox):
    """One of a few values, drawn like the other fields."""

    def sizeHint(self) -> QSize:
        """Room for the widest of them, as it is drawn here."""
        texts = (self.itemText(row) for row in range(self.count()))
        widest = max(map(self.fontMetrics().horizontalAdvance, texts), default=0)
        return QSize(widest + _TEXT_LEFT + icons.small() + 3 * theme.GAP_2, super().sizeHint().height())  # fmt: skip

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._draw(painter)

    def _draw(self, painter: QPainter) -> None:
        t, size = theme.tokens(), icons.small()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(t.accent if self.hasFocus() else t.line))
        painter.setBrush(QColor(t.ground if self.isEnabled() else t.raised))
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(box, theme.RADIUS, theme.RADIUS)
        painter.setPen(QColor(t.text if self.isEnabled() else t.quiet))
        inner = box.adjusted(_TEXT_LEFT - 0.5, 0, -size - theme.GAP_2, 0)
        words = painter.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideRight, int(inner.width())
        )
        painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter), words)
        place = QPoint(self.width() - size - theme.GAP_2, (self.height() - size) // 2)
        icons.icon("chevron", t.quiet).paint(painter, QRect(place, QSize(size, size)))


class Tick(QCheckBox):
    """A box that can be ticked, drawn so that it can be seen on both grounds."""

    def paintEvent(self, _: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._draw(painter)

    def _draw(self, painter: QPainter) -> None:
        t, size = theme.tokens(), icons.small()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(0.5, (self.height() - size) // 2 + 0.5, size - 1, size - 1)
        painter.setPen(QColor(t.accent if self.isChecked() or self.hasFocus() else t.quiet))
        painter.setBrush(QColor(t.accent if self.isChecked() else t.ground))
        painter.drawRoundedRect(box, 4, 4)
        if self.isChecked():
            icons.icon("check", t.on_accent).paint(painter, box.toAlignedRect())
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(-0.5, -0.5, 0.5, 0.5), 4.5, 4.5)
        painter.setPen(QColor(t.text if self.isEnabled() else t.quiet))
        words = QRectF(self.rect()).adjusted(size + theme.GAP_2, 0, 0, 0)
        painter.drawText(words, int(Qt.AlignmentFlag.AlignVCenter), self.text())


class Form(QWidget, Generic[_T]):
    """Rows for some fields of one frozen dataclass; `value()` is the object with what is in them.

    `edited` names the row that a person changed.  `asides` are small widgets to stand behind the field of a row.
    """

    edited = Signal(str)

    def __init__(
        self,
        value: _T,
        items: Sequence[Item],
        prefix: str,
        parent: QWidget | None = None,
        *,
        asides: Mapping[str, QWidget] = MappingProxyType({}),
    ) -> None:
        super().__init__(parent)
        self._asides = asides
        self._words: dict[str, Label] = {}
        self._silent = False
        self._base = value
        self._hints = get_type_hints(type(value))
        self._editors: dict[str, QWidget] = {}
        self._shown: dict[str, object] = {}
        layout = QFormLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(theme.GAP_4)
        layout.setVerticalSpacing(theme.GAP_2)
        layout.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        layout.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        for item in items:
            self._add(layout, item, prefix)

    def value(self) -> _T:
        """The object with what was changed; what was not touched stays exact, however it is rounded here."""
        found = {name: self._read(name, editor) for name, editor in self._editors.items()}
        changed = {name: value for name, value in found.items() if value != self._shown[name]}
        return dataclasses.replace(self._base, **changed)  # type: ignore[type-var]

    def show_value(self, value: _T) -> None:
        """Put what `value` has into the rows, without a word to `edited`.  A field that has it already is left alone,
        for somebody may be typing in it."""
        self._silent = True
        for name, editor in self._editors.items():
            wanted = getattr(value, name)
            if self._read(name, editor) != wanted:
                self._write(editor, wanted)
            self._shown[name] = self._read(name, editor)
        self._base = value
        self._silent = False

    def focus(self, name: str) -> None:
        """Give this row the keyboard."""
        self._editors[name].setFocus()

    def problem(self, name: str) -> str:
        """What is wrong with what was typed into this row, or ""."""
        editor = self._editors[name]
        return editor.problem if isinstance(editor, Listed) else ""

    def explain(self, name: str, words: str) -> None:
        """Say this under the row, which needs a hint to begin with."""
        if self._words[name].text() != words:
            self._words[name].setText(words)
            self._editors[name].setAccessibleDescription(words)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The wheel scrolls the form; it changes a value only where that has the focus."""
        wheel = event.type() == QEvent.Type.Wheel
        if wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _add(self, layout: QFormLayout, item: Item, prefix: str) -> None:
        editor = self._editor(item, getattr(self._base, item.name))
        editor.setObjectName(f"{prefix}_{item.name}")
        editor.setAccessibleName(item.label)
        editor.setAccessibleDescription(item.hint or item.tip)
        editor.setToolTip(item.tip)
        editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        editor.installEventFilter(self)
        if not isinstance(editor, QPlainTextEdit):
            editor.setFixedHeight(theme.px(theme.CONTROL) + 2)
        self._editors[item.name] = editor
        self._shown[item.name] = self._read(item.name, editor)
        self._listen(item.name, editor)
        label = Label(item.label, "body", self)
        label.setBuddy(editor)
        label.setToolTip(item.tip)
        label.setMinimumWidth(theme.px(LABELS))
        label.setFixedHeight(theme.px(theme.CONTROL) + 2)
        layout.addRow(label, self._cell(item, editor))

    def _cell(self, item: Item, editor: QWidget) -> QWidget | QVBoxLayout:
        aside = self._asides.get(item.name)
        if not item.hint and aside is None:
            return editor
        cell, row = QVBoxLayout(), QHBoxLayout()
        cell.setSpacing(2)
        row.setSpacing(theme.GAP_2)
        row.addWidget(editor, 1)
        if aside is not None:
            row.addWidget(aside, 0)
        cell.addLayout(row)
        if item.hint:
            hint = self._words[item.name] = Label(item.hint, "quiet", self)
            hint.setWordWrap(True)
            cell.addWidget(hint)
        return cell

    def _listen(self, name: str, editor: QWidget) -> None:
        """Hear of what a person changes."""
        editor.setProperty("row", name)
        match editor:
            case QComboBox():
                editor.currentIndexChanged.connect(self._tell)
            case QCheckBox():
                editor.toggled.connect(self._tell)
            case QSpinBox() | QDoubleSpinBox():
                editor.valueChanged.connect(self._tell)
            case QLineEdit():
                editor.textEdited.connect(self._tell)

    def _tell(self, *_: object) -> None:
        if not self._silent:
            self.edited.emit(self.sender().property("row"))

    def _write(self, editor: QWidget, value: object) -> None:
        match editor:
            case QComboBox():
                editor.setCurrentIndex(editor.findData(value))
            case QCheckBox():
                editor.setChecked(bool(value))
            case QSpinBox() if isinstance(value, int):
                editor.setValue(value)
            case QDoubleSpinBox() if isinstance(value, float):
                editor.setValue(value)
            case _:
                raise TypeError(f"no way to write {value!r} into {type(editor).__name__}")

    def _editor(self, item: Item, value: object) -> QWidget:
        kind = self._hints[item.name]
        if get_origin(kind) is Literal:
            return self._choice(item, get_args(kind), value)
        if isinstance(value, bool):
            box = Tick(self)
            box.setChecked(value)
            return box
        if item.name == "seed":
            return self._seed(value)
        if item.name in NOTATIONS:
            return Listed(item.name, value, self)
        if isinstance(value, float):
            return self._fraction(item, value)
        if isinstance(value, int):
            return self._whole(item, value)
        area = QPlainTextEdit(str(value), self)
        area.setTabChangesFocus(True)
        area.setFixedHeight(theme.px(96))
        return area

    def _choice(self, item: Item, values: Sequence[str], chosen: object) -> QComboBox:
        box = Choice(self)
        for value, words in zip(values, item.choices or tuple(values), strict=True):
            box.addItem(words, value)
        box.setCurrentIndex(box.findData(chosen))
        return box

    def _whole(self, item: Item, value: int) -> QSpinBox:
        low, high = settings.RANGES[item.name]
        box = QSpinBox(self)
        box.setGroupSeparatorShown(True)
        box.setRange(int(low), int(high))
        _indent(box)
        box.setSpecialValueText(item.special)
        box.setValue(value)
        return box

    def _fraction(self, item: Item, value: float) -> QDoubleSpinBox:
        low, high = settings.RANGES[item.name]
        box = QDoubleSpinBox(self)
        box.setRange(low, high)
        _indent(box)
        box.setDecimals(2)
        box.setSingleStep(0.05)
        box.setSpecialValueText(item.special)
        box.setValue(value)
        return box

    def _seed(self, value: object) -> QLineEdit:
        field = QLineEdit("" if value is None else str(value), self)
        field.setPlaceholderText("Another one for each answer")
        field.setValidator(QRegularExpressionValidator(QRegularExpression("[0-9]{0,10}"), field))
        return field

    def _read(self, name: str, editor: QWidget) -> object:
        match editor:
            case QComboBox():
                return editor.currentData()
            case QCheckBox():
                return editor.isChecked()
            case QSpinBox() | QDoubleSpinBox():
                return editor.value()
            case QPlainTextEdit():
                return editor.toPlainText()
            case Listed():
                return editor.value()
            case QLineEdit():
                highest = int(settings.RANGES[name][1])
                return min(int(editor.text()), highest) if editor.text() else None
        raise TypeError(f"no way to read {type(editor).__name__}")


def _indent(box: QAbstractSpinBox) -> None:
    # Padding in a style sheet moves the frame of a spin box and not its text.
    box.lineEdit().setTextMargins(_TEXT_LEFT - 2, 0, _TEXT_LEFT - 2, 0)
