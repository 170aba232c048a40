"""Colours, sizes and type in one place; nothing else in the window names a colour or a size.

`apply` sets Fusion with our own palette: `styleHints().setColorScheme` does nothing on plain X11 and offscreen,
so the palette is what decides.  Widgets that paint ask `tokens()` when they paint, and drop what they cached on
`QEvent.PaletteChange`.
"""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import QApplication

Scheme = Literal["light", "dark"]

GAP_1, GAP_2, GAP_3, GAP_4, GAP_5, GAP_6 = 4, 8, 12, 16, 24, 32
COLUMN = 760
"""Widest text column, px."""
SIDEBAR = 248
CONTROL = 32
RADIUS = 8
HAIRLINE = 1

SMALL_PX, BODY_PX, HEADING_PX, TITLE_PX, MONO_PX = 13.0, 14.5, 16.0, 20.0, 13.0
LINE_HEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one scheme, by what they are for."""

    scheme: Scheme
    ground: str
    raised: str
    line: str
    text: str
    quiet: str
    accent: str
    on_accent: str
    good: str
    busy: str
    bad: str
    selection: str


LIGHT = Tokens(
    scheme="light",
    ground="#FFFFFF",
    raised="#F5F5F6",
    line="#E3E3E6",
    text="#1B1C1F",
    quiet="#5C5F66",
    accent="#2F5BD7",
    on_accent="#FFFFFF",
    good="#1B7F4B",
    busy="#A66300",
    bad="#B3261E",
    selection="#CBD8FA",
)
DARK = Tokens(
    scheme="dark",
    ground="#1B1C1F",
    raised="#232428",
    line="#34353A",
    text="#ECECEE",
    quiet="#A3A6AD",
    accent="#7EA2FF",
    on_accent="#14151A",
    good="#5BC88F",
    busy="#E7B35A",
    bad="#FF8A80",
    selection="#33467F",
)


def tokens() -> Tokens:
    """The colours in force, read off the application's palette."""
    ground = QApplication.palette().color(QPalette.ColorRole.Base)
    return DARK if ground.lightness() < 128 else LIGHT


def body_font(px: float = BODY_PX, *, bold: bool = False) -> QFont:
    """The system's font at `px` pixels."""
    font = QFont(QApplication.font())
    font.setPixelSize(round(px))
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


def mono_font(px: float = MONO_PX) -> QFont:
    """The system's fixed-width font."""
    font = QFont("monospace")
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPixelSize(round(px))
    return font


def apply(application: QApplication, theme: Literal["system", "light", "dark"]) -> None:
    """Use this theme from now on, in every open window."""
    scheme = theme if theme != "system" else _system_scheme(application)
    application.setStyle("Fusion")
    application.setPalette(_palette(DARK if scheme == "dark" else LIGHT))


def _system_scheme(application: QApplication) -> Scheme:
    dark = application.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return "dark" if dark else "light"


def _palette(t: Tokens) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for colour_role, colour in {
        role.Window: t.raised,
        role.WindowText: t.text,
        role.Base: t.ground,
        role.AlternateBase: t.raised,
        role.Text: t.text,
        role.PlaceholderText: t.quiet,
        role.Button: t.raised,
        role.ButtonText: t.text,
        role.BrightText: t.bad,
        role.ToolTipBase: t.raised,
        role.ToolTipText: t.text,
        role.Link: t.accent,
        role.LinkVisited: t.accent,
        role.Highlight: t.selection,
        role.HighlightedText: t.text,
        role.Accent: t.accent,
        role.Mid: t.line,
        role.Dark: t.line,
        role.Light: t.ground,
        role.Midlight: t.line,
        role.Shadow: t.line,
    }.items():
        palette.setColor(colour_role, QColor(colour))
    for colour_role in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, colour_role, QColor(t.quiet))
    return palette
