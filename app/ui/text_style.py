"""Fonts, colours and character formats of the transcript, made once for each palette.

A block remembers the `Style` it was laid out with; a new palette or font makes a new one, and so drops whatever
was laid out before.
"""

from enum import Enum

from PySide6.QtGui import QColor, QFont, QFontMetricsF, QTextCharFormat

from app.ui import theme
from app.ui.inline import Look

CODE_PITCH, CODE_HEADER = 20, 36
"""Heights of a line of code, and of what stands above the first, px at the usual scale."""

_PILL_PAD, _PILL_ROOM = 3, 4
"""How far the ground of inline code reaches beyond its letters, and how far its neighbours stand off, px."""


class CodeKind(Enum):
    """What a piece of code is, as far as it has a colour of its own."""

    KEYWORD = "keyword"
    STRING = "string"
    NUMBER = "number"
    COMMENT = "comment"
    NAME = "name"
    DELETED = "deleted"


def _between(one: QColor, other: QColor) -> QColor:
    return QColor(
        (one.red() + other.red()) // 2,
        (one.green() + other.green()) // 2,
        (one.blue() + other.blue()) // 2,
    )


class Style:
    """One palette's drawing material.  Colours are opaque, so that a blit equals a repaint."""

    def __init__(self) -> None:
        self.tokens = theme.tokens()
        self.body = theme.body_font()
        self.small = theme.body_font(theme.SMALL_PX)
        self.label = theme.body_font(theme.SMALL_PX, bold=True)
        self.mono = theme.mono_font()
        self.inline_mono = theme.mono_font()
        self.pitch = theme.px(theme.BODY_PX * theme.LINE_HEIGHT)
        self.small_pitch = theme.px(theme.SMALL_PX * theme.LINE_HEIGHT)
        self.code_pitch = theme.px(CODE_PITCH)
        self.code_header = theme.px(CODE_HEADER)
        self.character = QFontMetricsF(self.body).averageCharWidth()
        self.mono_character = QFontMetricsF(self.mono).horizontalAdvance("0")
        self.ground = QColor(self.tokens.ground)
        self.raised = QColor(self.tokens.raised)
        self.line = QColor(self.tokens.line)
        self.pill = _between(self.raised, self.line)
        self.text = QColor(self.tokens.text)
        self.quiet = QColor(self.tokens.quiet)
        self.accent = QColor(self.tokens.accent)
        self.bad = QColor(self.tokens.bad)
        self.selection = QColor(self.tokens.selection)
        self.pill_pad, self.pill_room = theme.px(_PILL_PAD), theme.px(_PILL_ROOM)
        self.apart = QTextCharFormat()
        self.apart.setFontLetterSpacingType(QFont.SpacingType.AbsoluteSpacing)
        self.apart.setFontLetterSpacing(self.pill_room)
        self._formats: dict[Look, QTextCharFormat] = {}
        t = self.tokens
        colours = {
            CodeKind.KEYWORD: t.accent,
            CodeKind.STRING: t.good,
            CodeKind.NUMBER: t.busy,
            CodeKind.COMMENT: t.quiet,
            CodeKind.NAME: t.text,
            CodeKind.DELETED: t.bad,
        }
        self._code = {kind: self._code_format(kind, colour) for kind, colour in colours.items()}

    def heading(self, level: int) -> tuple[QFont, int]:
        """Font and line height of a heading."""
        size = {1: theme.TITLE_PX, 2: theme.HEADING_PX + 1}.get(level, theme.BODY_PX)
        return theme.body_font(size, bold=True), theme.px(size * 1.4)

    def format(self, look: Look) -> QTextCharFormat:
        """How a run of this look is drawn, apart from what the font of its block says."""
        if look not in self._formats:
            self._formats[look] = self._make(look)
        return self._formats[look]

    def _make(self, look: Look) -> QTextCharFormat:
        made = QTextCharFormat()
        if Look.BOLD in look:
            made.setFontWeight(QFont.Weight.DemiBold)
        if Look.ITALIC in look:
            made.setFontItalic(True)
        if Look.STRIKE in look:
            made.setFontStrikeOut(True)
        if Look.CODE in look:
            made.setFontFamilies(self.inline_mono.families())
            made.setFontFixedPitch(True)
            made.setProperty(QTextCharFormat.Property.FontPixelSize, self.inline_mono.pixelSize())
        if Look.LINK in look:
            made.setForeground(self.accent)
            made.setFontUnderline(True)
        if Look.QUIET in look:
            made.setForeground(self.quiet)
        return made

    def code(self, kind: CodeKind) -> QTextCharFormat:
        """How code of this kind is drawn."""
        return self._code[kind]

    def _code_format(self, kind: CodeKind, colour: str) -> QTextCharFormat:
        made = QTextCharFormat()
        made.setForeground(QColor(colour))
        if kind is CodeKind.NAME:
            made.setFontWeight(QFont.Weight.DemiBold)
        return made
