"""Colours, sizes and type in one place; nothing else in the window names a colour or a size.

`apply` sets Fusion with our own palette: `styleHints().setColorScheme` does nothing on plain X11 and offscreen,
so the palette is what decides.  Widgets that paint ask `tokens()` when they paint, and drop what they cached on
`QEvent.PaletteChange`.  Sizes of type, and of what has to hold a line of it, are for the system's usual font of 9 to
10 points; `px` and the fonts made here grow and shrink with the system's own.
"""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QPalette
from PySide6.QtWidgets import QApplication, QWidget

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
_USUAL_POINTS = (9.0, 10.0)
"""What systems have where nobody asked for larger or smaller type: the sizes above are right there."""
_SCALES = (0.75, 3.0)
LOWEST = 432
"""Height of the smallest window, px at the usual scale: type grows no larger than leaves room for it on the screen."""


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


def hover_colour() -> str:
    """The ground under the mouse, and of the chosen row of a list."""
    return _hover(tokens())


def soft_bad() -> str:
    """The ground of what is wrong."""
    return _soft_bad(tokens())


def restyle(widget: QWidget, role: str) -> None:
    """Give it another look of the style sheet."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def scale() -> float:
    """How much larger than usual the type is, read off the application's font; 1 for what `apply` did not see."""
    pixels = QApplication.font().pixelSize()
    return pixels / SMALL_PX if pixels > 0 else 1.0


def px(size: float) -> int:
    """A size that has to hold text, or stands beside it, in whole pixels."""
    return round(size * scale())


def body_font(size: float = BODY_PX, *, bold: bool = False) -> QFont:
    """The system's font; `size` in px at the usual scale."""
    font = QFont(QApplication.font())
    font.setPixelSize(px(size))
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return font


def mono_font(size: float = MONO_PX) -> QFont:
    """The system's fixed-width font; `size` in px at the usual scale."""
    font = QFont("monospace")
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPixelSize(px(size))
    return font


def apply(
    application: QApplication,
    theme: Literal["system", "light", "dark"],
    system_font: QFont | None = None,
) -> None:
    """Use this theme from now on, in every open window.

    The first time, sizes are taken from the system's font; later only where a `system_font` is given.
    """
    scheme = theme if theme != "system" else _system_scheme(application)
    chosen = DARK if scheme == "dark" else LIGHT
    if (
        not application.styleSheet()
    ):  # the first time: whenever a style is set, every widget is polished
        application.setStyle("Fusion")
    application.setPalette(_palette(chosen))
    if system_font is not None or application.font().pixelSize() <= 0:
        system = system_font or QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        application.setFont(_interface_font(system))
    sheet = _style_sheet(chosen)
    if application.styleSheet() != sheet:  # the same one again would polish every widget anew
        application.setStyleSheet(sheet)


def _interface_font(system: QFont) -> QFont:
    font = QFont(system)
    font.setPixelSize(round(SMALL_PX * _scale_of(system)))
    return font


def _scale_of(system: QFont) -> float:
    """The scale that goes with this font, counted at 96 dots per inch."""
    screen = QApplication.primaryScreen()
    points = system.pointSizeF() * screen.logicalDotsPerInchY() / 96
    if points <= 0:
        points = system.pixelSize() * 72 / 96
    least, most = _USUAL_POINTS
    wanted = points / least if points < least else max(1.0, points / most)
    largest = max(1.0, screen.availableGeometry().height() / LOWEST)
    return min(max(wanted, _SCALES[0]), _SCALES[1], largest)


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


def _style_sheet(t: Tokens) -> str:
    """The few rules that the palette cannot say; widgets pick them by `objectName` or the property `role`."""
    return _RULES.format(
        **{name: getattr(t, name) for name in Tokens.__slots__},
        hover=_hover(t),
        pressed=_mix(t.raised, t.text, 0.13),
        accent_hover=_mix(t.accent, t.text, 0.12),
        soft_bad=_soft_bad(t),
        soft_accent=_mix(t.ground, t.accent, 0.09),
        control=px(CONTROL),
        link=px(CONTROL - 8),
        inline=px(GAP_5 - 2),
        title=px(TITLE_PX),
        heading=px(HEADING_PX),
        radius=RADIUS,
    )


def _hover(t: Tokens) -> str:
    return _mix(t.raised, t.text, 0.07)


def _soft_bad(t: Tokens) -> str:
    return _mix(t.ground, t.bad, 0.09)


def _mix(first: str, second: str, share: float) -> str:
    """`first` with `share` of `second` in it: opaque, for translucent fills are slow to paint."""
    a, b = QColor(first), QColor(second)
    parts = zip(a.getRgb()[:3], b.getRgb()[:3], strict=True)  # type: ignore[index]
    return QColor(*(round(x + (y - x) * share) for x, y in parts)).name()


_RULES = """
#mainWindow, #sidebar, #statusLine {{ background: {raised}; }}
#page, #emptyState, #noticeRow {{ background: {ground}; }}
#sidebar {{ border-right: 1px solid {line}; }}
#statusLine {{ border-top: 1px solid {line}; }}
QLabel[role="quiet"] {{ color: {quiet}; }}
QLabel[role="strong"] {{ font-weight: 600; }}
QLabel[role="title"] {{ font-size: {title}px; font-weight: 600; }}
QLabel[role="heading"] {{ font-size: {heading}px; font-weight: 600; }}
QLabel[role="bad"] {{ color: {bad}; }}
QLabel[role="good"] {{ color: {good}; }}
QToolTip {{ background: {raised}; color: {text}; border: 1px solid {line}; padding: 4px 8px; }}

QTabWidget::pane {{ border: 0; }}
QTabWidget::tab-bar {{ left: 0; }}
QTabBar {{ background: {raised}; }}
QTabBar::scroller {{ width: 44px; }}
QTabBar QToolButton {{ background: {raised}; border: 0; padding: 0; }}
QTabBar::tab {{
    background: {raised}; color: transparent; border: 1px solid {raised};
    border-top-left-radius: {radius}px; border-top-right-radius: {radius}px;
    margin: 0 2px 0 0; padding: 0 4px 0 0;
}}
QTabBar::tab:hover:!selected {{ background: {hover}; border-color: {hover}; }}
QTabBar::tab:selected {{ background: {ground}; border-color: {line}; border-bottom-color: {ground}; }}
QTabBar::tab:selected:focus {{ border-color: {accent}; }}

QPushButton {{
    background: {raised}; color: {text}; border: 1px solid {line}; border-radius: {radius}px;
    min-height: {control}px; padding: 0 14px;
}}
QPushButton:hover {{ background: {hover}; }}
QPushButton:pressed {{ background: {pressed}; }}
QPushButton:disabled {{ color: {quiet}; }}
QPushButton:focus {{ border-color: {accent}; }}
QPushButton[role="primary"] {{ background: {accent}; color: {on_accent}; border-color: {accent}; font-weight: 600; }}
QPushButton[role="primary"]:hover {{ background: {accent_hover}; border-color: {accent_hover}; }}
QPushButton[role="primary"]:focus {{ border: 2px solid {text}; }}
QPushButton[role="primary"]:disabled {{ background: {raised}; color: {quiet}; border-color: {line}; }}
QPushButton[role="list"] {{ background: transparent; border-color: transparent; text-align: left; padding: 0 8px; }}
QPushButton[role="list"]:hover {{ background: {hover}; }}
QPushButton[role="list"]:focus {{ border-color: {accent}; }}
QPushButton[role="link"] {{
    background: transparent; border: 1px solid transparent; color: {accent}; font-weight: 600;
    min-height: {link}px; padding: 0 8px;
}}
QPushButton[role="inline"] {{
    background: transparent; border: 1px solid transparent; border-radius: 6px; color: {accent}; font-weight: 600;
    min-height: {inline}px; padding: 0 6px;
}}
QPushButton[role="choice"] {{
    background: transparent; border: 1px solid transparent; border-radius: 6px; color: {accent}; font-weight: 600;
    min-height: {link}px; padding: 0 2px; margin-left: -3px;
}}
QPushButton[role="link"]:hover, QPushButton[role="inline"]:hover, QPushButton[role="choice"]:hover {{
    background: {hover};
}}
QPushButton[role="link"]:focus, QPushButton[role="inline"]:focus, QPushButton[role="choice"]:focus {{
    border-color: {accent};
}}

#segments {{ background: {raised}; border: 1px solid {line}; border-radius: {radius}px; }}
QPushButton[role="segment"] {{
    background: transparent; border: 1px solid transparent; border-radius: 6px; color: {quiet};
    min-height: {link}px; padding: 0 12px;
}}
QPushButton[role="segment"]:hover {{ color: {text}; }}
QPushButton[role="segment"]:checked {{ background: {ground}; border-color: {line}; color: {text}; }}
QPushButton[role="segment"]:focus {{ border-color: {accent}; }}

QToolButton {{ background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 5px; color: {text}; }}
QToolButton:hover {{ background: {hover}; }}
QToolButton:pressed, QToolButton:checked {{ background: {pressed}; }}
QToolButton:focus {{ border-color: {accent}; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton#modelButton {{ padding: 4px 10px; border-color: {line}; background: {ground}; border-radius: {radius}px; }}
QToolButton#modelButton:hover {{ background: {hover}; }}
QToolButton#modelButton:focus {{ border-color: {accent}; }}
QToolButton[role="tabClose"] {{ background: transparent; padding: 1px; border-radius: 4px; }}
QToolButton[role="tabClose"]:hover {{ background: {pressed}; }}
QToolButton[role="send"] {{ background: {accent}; border-color: {accent}; border-radius: {radius}px; padding: 5px; }}
QToolButton[role="send"]:hover {{ background: {accent_hover}; }}
QToolButton[role="send"]:focus {{ border: 2px solid {text}; }}
QToolButton[role="send"]:disabled {{ background: {raised}; border-color: {line}; }}
QToolButton[role="stop"] {{ background: {ground}; border-color: {quiet}; border-radius: {radius}px; padding: 5px; }}
QToolButton[role="stop"]:hover {{ background: {hover}; }}
QToolButton[role="stop"]:focus {{ border: 2px solid {accent}; }}

QLineEdit {{
    background: {ground}; color: {text}; border: 1px solid {line}; border-radius: {radius}px;
    placeholder-text-color: {quiet};
    min-height: {control}px; padding: 0 8px; selection-background-color: {selection}; selection-color: {text};
}}
QLineEdit:focus {{ border-color: {accent}; }}
QLineEdit#renameField {{ min-height: 0; border-radius: 4px; padding: 0 4px; }}
QAbstractSpinBox {{
    background: {ground}; color: {text}; border: 1px solid {line}; border-radius: {radius}px;
    min-height: {control}px; selection-background-color: {selection}; selection-color: {text};
}}
QAbstractSpinBox QLineEdit {{ background: transparent; border: 0; min-height: 0; padding: 0; }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ subcontrol-origin: border; width: 0; height: 0; border: 0; }}
QAbstractSpinBox:focus {{ border-color: {accent}; }}
QAbstractSpinBox:disabled, QLineEdit:disabled, QDialog QPlainTextEdit:disabled {{ background: {raised}; color: {quiet}; }}
#composerFrame {{ background: {ground}; border: 1px solid {line}; border-radius: 12px; }}
#composerFrame[focused="true"] {{ border-color: {accent}; }}
#composer {{ background: transparent; border: 0; color: {text}; placeholder-text-color: {quiet}; }}
#transcript {{ border: 2px solid {ground}; }}
#transcript[ringed="true"] {{ border-color: {accent}; }}
#attachment {{ background: {raised}; border: 1px solid {line}; border-radius: 6px; }}

#notice {{ background: {soft_accent}; border: 1px solid {line}; border-radius: {radius}px; }}
#notice[kind="bad"] {{ background: {soft_bad}; border-color: {bad}; }}

#removal {{ background: {raised}; border: 1px solid {line}; border-radius: {radius}px; }}
#hubResults, #hubOffers, #libraryList, #folderList, #sectionList, #repositoryCard {{ background: {ground}; border: 0; outline: 0; }}
#hubResults::item, #hubOffers::item, #libraryList::item, #folderList::item, #sectionList::item {{ padding: 6px 8px; border-radius: 6px; color: {text}; }}
#hubResults::item:hover, #hubOffers::item:hover, #libraryList::item:hover, #folderList::item:hover, #sectionList::item:hover {{ background: {raised}; }}
#hubResults::item:selected, #hubOffers::item:selected, #libraryList::item:selected, #folderList::item:selected, #sectionList::item:selected {{ background: {soft_accent}; color: {text}; }}
#hubResults::item:disabled, #hubOffers::item:disabled {{ color: {quiet}; }}
#sectionList {{ background: {raised}; border-right: 1px solid {line}; padding: 8px; }}
#sectionList::item:hover, #sectionList::item:selected {{ background: {hover}; }}
#downloadArea {{ border-top: 1px solid {line}; }}
QProgressBar {{ background: {line}; border: 0; border-radius: 2px; }}
QProgressBar::chunk {{ background: {accent}; border-radius: 2px; }}
#conversationList {{ background: transparent; border: 0; outline: 0; }}
#conversationList::item {{ border: 0; }}
QMenu {{ background: {ground}; color: {text}; border: 1px solid {line}; padding: 4px; }}
QMenu::item {{ padding: 6px 24px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {hover}; }}
QMenu::item:disabled {{ color: {quiet}; }}
QMenu::separator {{ height: 1px; background: {line}; margin: 4px 8px; }}

QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar::handle:vertical {{ background: {line}; min-height: 32px; border-radius: 4px; margin: 2px; }}
QScrollBar::handle:vertical:hover {{ background: {quiet}; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
QScrollBar::handle:horizontal {{ background: {line}; min-width: 32px; border-radius: 4px; margin: 2px; }}
QScrollBar::handle:horizontal:hover {{ background: {quiet}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QDialog {{ background: {ground}; }}
QDialog QPlainTextEdit {{ background: {ground}; border: 1px solid {line}; border-radius: {radius}px; padding: 4px 6px; }}
QDialog QPlainTextEdit:focus, #promptTokens:focus {{ border-color: {accent}; }}
#promptTokens {{ background: {ground}; border: 1px solid {line}; border-radius: {radius}px; padding: 4px 6px; outline: 0; }}
#promptTokens::item {{ color: {text}; padding: 1px 0; }}
#promptTokens::item:selected {{ background: {soft_accent}; }}
QDialog QScrollArea, QDialog QScrollArea > QWidget > QWidget {{ background: {ground}; border: 0; }}
"""
