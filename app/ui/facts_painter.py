"""How a row of a list of models is drawn: its name, and below it what is known of it, quietly."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QSize
from PySide6.QtGui import QColor, QFont, QPainter, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from app.ui import theme

_BESIDE, _ABOVE = 11, 6
"""What the style leaves around the text of a row, px."""

_MOST_AT_ONCE, _BATCH = 200, 50
_MOST_HEIGHTS = 20_000


def expect(view: QListView, rows: int) -> None:
    """So many rows come now: where they are many they are laid out bit by bit, and seen when that is done, so that the
    window does not stand still."""
    bit_by_bit = rows > _MOST_AT_ONCE
    view.setBatchSize(_BATCH)
    view.setLayoutMode(
        QListView.LayoutMode.Batched if bit_by_bit else QListView.LayoutMode.SinglePass
    )


class FactsPainter(QStyledItemDelegate):
    """Of the list that is its parent; the first line of a row's text is its name."""

    def __init__(self, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._view = view
        self._heights: dict[tuple[str, int, str], float] = {}
        """Of the text of rows, by text, width and font: a list asks for all of them again whenever a row is added."""

    @classmethod
    def paint_rows_of(cls, view: QListView) -> None:
        """From now on."""
        view.setWordWrap(True)
        view.setItemDelegate(cls(view))

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        text = str(index.data() or "")
        key = text, self._view.viewport().width(), option.font.key()
        height = self._heights.get(key)
        if height is None:
            if len(self._heights) >= _MOST_HEIGHTS:
                self._heights.clear()
            full = self._full(option, index)
            height = self._laid_out(full, full.text, key[1]).boundingRect().height()
            self._heights[key] = height
        return QSize(0, round(height) + 2 * theme.px(_ABOVE))

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        full = self._full(option, index)
        text, full.text = full.text, ""
        control = QStyle.ControlElement.CE_ItemViewItem
        self._view.style().drawControl(control, full, painter, self._view)
        painter.save()
        painter.setPen(QColor(theme.tokens().text))
        where = QPointF(full.rect.topLeft()) + QPointF(theme.px(_BESIDE), theme.px(_ABOVE))
        self._laid_out(full, text, full.rect.width()).draw(painter, where)
        painter.restore()

    def _full(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QStyleOptionViewItem:
        full = QStyleOptionViewItem(option)
        self.initStyleOption(full, index)
        return full

    def _laid_out(self, option: QStyleOptionViewItem, text: str, width: int) -> QTextLayout:
        """The text in lines that fit between the edges of a row so wide."""
        text = text.replace("\n", "\u2028")
        layout = QTextLayout(text, option.font)
        way = QTextOption()
        way.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        way.setTextDirection(option.direction)
        layout.setTextOption(way)
        layout.setFormats(
            _formats(text, usable=bool(option.state & QStyle.StateFlag.State_Enabled))
        )
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(1, width - 2 * theme.px(_BESIDE)))
            line.setPosition(QPointF(0, top))
            top += line.height()
        layout.endLayout()
        return layout


def _formats(text: str, *, usable: bool) -> list[QTextLayout.FormatRange]:
    name, rest = QTextCharFormat(), QTextCharFormat()
    name.setFontWeight(QFont.Weight.DemiBold)
    rest.setForeground(QColor(theme.tokens().quiet))
    if not usable:
        name.setForeground(QColor(theme.tokens().quiet))
    cut = text.find("\u2028")
    ends = (0, len(text) if cut < 0 else cut, len(text))
    found = []
    for start, end, form in ((ends[0], ends[1], name), (ends[1], ends[2], rest)):
        one = QTextLayout.FormatRange()
        one.start, one.length, one.format = start, end - start, form
        found.append(one)
    return found
